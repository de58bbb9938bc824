//! The ledger: what each call of a model used. It outlives what it tells of, so nothing in it is a
//! reference, and the names stand beside the ids.

use sea_orm_migration::{prelude::*, schema::*};

use crate::index;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .alter_table(
                Table::alter()
                    .table("users")
                    .add_column(string_len_null("time_zone", 64))
                    .to_owned(),
            )
            .await?;
        manager
            .create_table(
                Table::create()
                    .table("usage")
                    .col(string_len("id", 26).primary_key())
                    .col(timestamp_with_time_zone("at"))
                    // Quarters of an hour since 1970: days of every time zone begin with one.
                    .col(big_integer("bucket"))
                    .col(string_len("user_id", 26))
                    .col(text("user_login"))
                    .col(string_len("project_id", 26))
                    .col(text("project_name"))
                    .col(string_len("session_id", 26))
                    .col(string_len("message_id", 26))
                    .col(string_len("provider_id", 26))
                    .col(text("provider_name"))
                    .col(text("model"))
                    // How the call ended: done, failed or aborted.
                    .col(string("outcome"))
                    .col(big_integer("input"))
                    .col(big_integer("cache_read"))
                    .col(big_integer("cache_write"))
                    .col(big_integer("output"))
                    .col(big_integer("reasoning"))
                    // Null where the price is not known.
                    .col(big_integer_null("cost_micros"))
                    .col(boolean("estimated"))
                    // The provider's own account, word for word, and the prices that were counted with.
                    .col(json_null("raw"))
                    .col(json("prices"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("usage", &["bucket"])).await?;
        manager.create_index(index("usage", &["user_id", "bucket"])).await?;
        manager.create_index(index("usage", &["project_id", "bucket"])).await?;
        manager.create_index(index("usage", &["session_id", "bucket"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("usage").to_owned()).await?;
        let users = Table::alter().table("users").drop_column("time_zone").to_owned();
        manager.alter_table(users).await
    }
}
