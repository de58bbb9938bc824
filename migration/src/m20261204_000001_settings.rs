//! Settings that are changed while Forge runs, over the configuration.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager
            .create_table(
                Table::create()
                    .table("settings")
                    // Whose they are: `global`, `project:<id>`, `session:<id>`.
                    .col(string_len("id", 40).primary_key())
                    // Only what was changed.
                    .col(json("values"))
                    .col(timestamp_with_time_zone("updated_at"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("settings").to_owned()).await
    }
}
