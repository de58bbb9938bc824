//! Answers that are given again to a request that is sent again.

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
                    .table("idempotency_keys")
                    .col(string_len("user_id", 26))
                    .col(string_len("key_hash", 64))
                    .col(string_len("request_hash", 64))
                    // Null while the first request is still being carried out.
                    .col(integer_null("status"))
                    .col(text_null("body"))
                    .col(timestamp_with_time_zone("created_at"))
                    .primary_key(Index::create().col("user_id").col("key_hash"))
                    .foreign_key(&mut cascade(("idempotency_keys", "user_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("idempotency_keys", &["created_at"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("idempotency_keys").to_owned()).await
    }
}
