//! People, where they are signed in, their tokens, and what was done by whom.

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
                    .table("users")
                    .col(string_len("id", 26).primary_key())
                    .col(string("name"))
                    .col(string("login"))
                    // The login and the address folded to lower case: what must be unique.
                    .col(string_uniq("login_key"))
                    .col(string_null("email"))
                    .col(string_null("email_key").unique_key())
                    .col(string("password_hash"))
                    .col(boolean("admin"))
                    .col(timestamp_with_time_zone_null("disabled_at"))
                    .col(timestamp_with_time_zone_null("last_login_at"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .to_owned(),
            )
            .await?;
        manager
            .create_table(
                Table::create()
                    .table("sign_ins")
                    .col(string_len("id", 64).primary_key())
                    .col(string_len_null("user_id", 26))
                    .col(json("state"))
                    .col(string_null("ip"))
                    .col(string_null("user_agent"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("seen_at"))
                    .col(timestamp_with_time_zone("expires_at"))
                    .foreign_key(&mut cascade(("sign_ins", "user_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("sign_ins", &["user_id"])).await?;
        manager.create_index(index("sign_ins", &["expires_at"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("api_tokens")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("user_id", 26))
                    .col(string("name"))
                    .col(string_len_uniq("token_hash", 64))
                    .col(string("scope"))
                    .col(timestamp_with_time_zone_null("last_used_at"))
                    .col(timestamp_with_time_zone_null("expires_at"))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("api_tokens", "user_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("api_tokens", &["user_id"])).await?;
        // Append-only, and it outlives the people in it: no reference to users.
        manager
            .create_table(
                Table::create()
                    .table("audit_log")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len_null("actor_id", 26))
                    .col(string("action"))
                    .col(string("subject_type"))
                    .col(string_null("subject_id"))
                    .col(json("detail"))
                    .col(string_null("ip"))
                    .col(timestamp_with_time_zone("created_at"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["audit_log", "api_tokens", "sign_ins", "users"] {
            manager.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
