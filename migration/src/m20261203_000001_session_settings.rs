//! What a session asks of its model, and the models that people like best.

use sea_orm_migration::{prelude::*, schema::*};

use crate::cascade;

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        // One column a statement: SQLite takes no more.
        for column in [string_null("effort"), double_null("temperature")] {
            let table = Table::alter().table("sessions").add_column(column).to_owned();
            manager.alter_table(table).await?;
        }
        manager
            .create_table(
                Table::create()
                    .table("model_favourites")
                    .col(string_len("user_id", 26))
                    .col(string_len("provider_id", 26))
                    .col(string("model"))
                    .col(timestamp_with_time_zone("created_at"))
                    .primary_key(Index::create().col("user_id").col("provider_id").col("model"))
                    .foreign_key(&mut cascade(("model_favourites", "user_id"), "users"))
                    .foreign_key(&mut cascade(("model_favourites", "provider_id"), "providers"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("model_favourites").to_owned()).await?;
        for column in ["effort", "temperature"] {
            let table = Table::alter().table("sessions").drop_column(column).to_owned();
            manager.alter_table(table).await?;
        }
        Ok(())
    }
}
