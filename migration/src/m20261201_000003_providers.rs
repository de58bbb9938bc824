//! Where models are asked.

use sea_orm_migration::{prelude::*, schema::*};

use crate::{cascade, index};

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .create_table(
                Table::create()
                    .table("providers")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len_null("owner_id", 26))
                    .col(string("name"))
                    .col(text("url"))
                    .col(string("kind"))
                    // Sealed, with the row's id as associated data.
                    .col(text_null("key"))
                    .col(string_null("key_hint"))
                    .col(json("models"))
                    .col(json("meta"))
                    .col(timestamp_with_time_zone_null("disabled_at"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .foreign_key(&mut cascade(("providers", "owner_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("providers", &["owner_id"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("providers").to_owned()).await
    }
}
