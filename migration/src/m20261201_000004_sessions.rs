//! Sessions, and all that belongs to one.

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
                    .table("sessions")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("project_id", 26))
                    .col(string_len("user_id", 26))
                    .col(string("name"))
                    .col(string("agent"))
                    .col(string_len_null("provider_id", 26))
                    .col(string("model"))
                    .col(string("status"))
                    .col(integer("max_steps"))
                    .col(string_len_null("parent_id", 26))
                    .col(big_integer("seq"))
                    .col(json("summary"))
                    .col(timestamp_with_time_zone_null("archived_at"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .foreign_key(&mut cascade(("sessions", "project_id"), "projects"))
                    .foreign_key(&mut cascade(("sessions", "user_id"), "users"))
                    .foreign_key(&mut cascade(("sessions", "parent_id"), "sessions"))
                    .foreign_key(&mut set_null(("sessions", "provider_id"), "providers"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("sessions", &["project_id", "updated_at"])).await?;
        manager.create_index(index("sessions", &["user_id", "updated_at"])).await?;
        manager.create_index(index("sessions", &["status"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("messages")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("session_id", 26))
                    // The order of the conversation; a queued prompt gets its place when it is sent.
                    .col(big_integer("position"))
                    .col(string("role"))
                    // Null once it is sent; `queue` or `steer` while it waits.
                    .col(string_null("queued"))
                    .col(string_len_null("user_id", 26))
                    .col(string("agent"))
                    .col(string("model"))
                    .col(big_integer_null("cost_micros"))
                    .col(json("tokens"))
                    .col(json_null("error"))
                    .col(big_integer("seq"))
                    .col(timestamp_with_time_zone_null("reverted_at"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone_null("completed_at"))
                    .foreign_key(&mut cascade(("messages", "session_id"), "sessions"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("messages", &["session_id", "position"])).await?;
        manager.create_index(index("messages", &["session_id", "seq"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("parts")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("message_id", 26))
                    .col(string_len("session_id", 26))
                    .col(integer("position"))
                    .col(string("type"))
                    .col(json("data"))
                    .col(big_integer("seq"))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("parts", "message_id"), "messages"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("parts", &["message_id", "position"])).await?;
        manager.create_index(index("parts", &["session_id", "seq"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("todos")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("session_id", 26))
                    .col(text("text"))
                    .col(string("status"))
                    .col(integer("position"))
                    .col(big_integer("seq"))
                    .foreign_key(&mut cascade(("todos", "session_id"), "sessions"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("todos", &["session_id", "position"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("asks")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("session_id", 26))
                    .col(string_len("part_id", 26))
                    .col(string("kind"))
                    .col(json("data"))
                    .col(string("status"))
                    .col(json_null("reply"))
                    .col(string_len_null("decided_by", 26))
                    .col(timestamp_with_time_zone_null("decided_at"))
                    .col(big_integer("seq"))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("asks", "session_id"), "sessions"))
                    .foreign_key(&mut cascade(("asks", "part_id"), "parts"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("asks", &["session_id", "status"])).await?;
        manager.create_index(index("asks", &["session_id", "seq"])).await?;
        manager.create_index(index("asks", &["part_id"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("snapshots")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("session_id", 26))
                    .col(string_len("message_id", 26))
                    .col(text("path"))
                    // How the file was before the message: absent, file, symlink, or folder.
                    .col(string("before_kind"))
                    .col(integer_null("before_mode"))
                    .col(big_integer_null("before_size"))
                    .col(string_len_null("before_blob", 64))
                    // How the message left it, filled in when the message ends.
                    .col(string_null("after_kind"))
                    .col(integer_null("after_mode"))
                    .col(big_integer_null("after_size"))
                    .col(string_len_null("after_blob", 64))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("snapshots", "session_id"), "sessions"))
                    .foreign_key(&mut cascade(("snapshots", "message_id"), "messages"))
                    .to_owned(),
            )
            .await?;
        manager
            .create_index(
                Index::create()
                    .name("snapshots_by_message_path")
                    .table("snapshots")
                    .col("message_id")
                    .col("path")
                    .unique()
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("snapshots", &["session_id"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["snapshots", "asks", "todos", "parts", "messages", "sessions"] {
            manager.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
