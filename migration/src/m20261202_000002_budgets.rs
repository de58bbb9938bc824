//! How much may be spent by whom, in which time.

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
                    .table("budgets")
                    .col(string_len("id", 26).primary_key())
                    .col(string("scope"))
                    // The one of the three that the scope names; all null: everyone, each by themselves.
                    .col(string_len_null("user_id", 26))
                    .col(string_len_null("project_id", 26))
                    .col(string_len_null("session_id", 26))
                    .col(string("period"))
                    .col(big_integer("limit_micros"))
                    .col(boolean("allow_unknown"))
                    // Null: set by an administrator, and theirs to change.
                    .col(string_len_null("owner_id", 26))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .foreign_key(&mut cascade(("budgets", "user_id"), "users"))
                    .foreign_key(&mut cascade(("budgets", "project_id"), "projects"))
                    .foreign_key(&mut cascade(("budgets", "session_id"), "sessions"))
                    .foreign_key(&mut cascade(("budgets", "owner_id"), "users"))
                    .to_owned(),
            )
            .await?;
        for column in ["scope", "user_id", "project_id", "session_id", "owner_id"] {
            manager.create_index(index("budgets", &[column])).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("budgets").to_owned()).await
    }
}
