//! The windows of budgets that go on over a change of a person's time zone.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let column = json_null("kept_windows");
        manager.alter_table(Table::alter().table("users").add_column(column).to_owned()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let users = Table::alter().table("users").drop_column("kept_windows").to_owned();
        manager.alter_table(users).await
    }
}
