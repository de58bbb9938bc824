//! Projects and permission rules.

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
                    .table("projects")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len("owner_id", 26))
                    .col(string("name"))
                    .col(text("path").unique_key())
                    .col(string_null("default_branch"))
                    .col(json("instructions"))
                    .col(string("trust_status"))
                    .col(timestamp_with_time_zone("created_at"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .col(timestamp_with_time_zone_null("opened_at"))
                    .foreign_key(&mut cascade(("projects", "owner_id"), "users"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("projects", &["owner_id", "name"])).await?;
        manager
            .create_table(
                Table::create()
                    .table("permission_rules")
                    .col(string_len("id", 26).primary_key())
                    .col(string_len_null("project_id", 26))
                    .col(string("tool"))
                    .col(text("pattern"))
                    .col(string("action"))
                    .col(integer("position"))
                    .col(string_len_null("created_by", 26))
                    .col(timestamp_with_time_zone("created_at"))
                    .foreign_key(&mut cascade(("permission_rules", "project_id"), "projects"))
                    .to_owned(),
            )
            .await?;
        manager.create_index(index("permission_rules", &["project_id", "position"])).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        for table in ["permission_rules", "projects"] {
            manager.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
