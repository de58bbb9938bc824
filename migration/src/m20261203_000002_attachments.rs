//! Files that people give to a session.

use sea_orm_migration::{prelude::*, schema::*};

use crate::{cascade, index, set_null};

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .create_table(
                Table::create()
                    .table("attachments")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("session_id", 26))
                    .col(string_len_null("user_id", 26))
                    // The name of the content in the data folder; several rows may share it.
                    .col(string_len("sha256", 64))
                    .col(text("name"))
                    .col(string("mime"))
                    .col(string("kind"))
                    .col(big_integer("size"))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("attachments", "session_id"), "sessions"))
                    .foreign_key(&mut set_null(("attachments", "user_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("attachments", &["session_id"])).await?;
        manager.create_index(index("attachments", &["sha256"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("attachments").to_owned()).await
    }
}
