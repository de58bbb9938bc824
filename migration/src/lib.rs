//! Every change the schema has gone through, oldest first.
//!
//! Migrations name tables and columns as plain strings and never import the application's
//! entities: an old migration must keep meaning what it meant when it was written.

pub use sea_orm_migration::prelude::*;

mod m20261201_000001_accounts;
mod m20261201_000002_projects;
mod m20261201_000003_providers;
mod m20261201_000004_sessions;
mod m20261201_000005_idempotency;
mod m20261202_000001_usage;
mod m20261202_000002_budgets;
mod m20261203_000001_session_settings;
mod m20261203_000002_attachments;
mod m20261204_000001_settings;
mod m20261204_000002_kept_windows;

pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![
            Box::new(m20261201_000001_accounts::Migration),
            Box::new(m20261201_000002_projects::Migration),
            Box::new(m20261201_000003_providers::Migration),
            Box::new(m20261201_000004_sessions::Migration),
            Box::new(m20261201_000005_idempotency::Migration),
            Box::new(m20261202_000001_usage::Migration),
            Box::new(m20261202_000002_budgets::Migration),
            Box::new(m20261203_000001_session_settings::Migration),
            Box::new(m20261203_000002_attachments::Migration),
            Box::new(m20261204_000001_settings::Migration),
            Box::new(m20261204_000002_kept_windows::Migration),
        ]
    }
}

/// A reference that goes when the row it points to goes.
fn cascade(from: (&'static str, &'static str), to: &'static str) -> ForeignKeyCreateStatement {
    ForeignKey::create()
        .from(from.0, from.1)
        .to(to, "id")
        .on_delete(ForeignKeyAction::Cascade)
        .to_owned()
}

/// A reference that is emptied when the row it points to goes.
fn set_null(from: (&'static str, &'static str), to: &'static str) -> ForeignKeyCreateStatement {
    ForeignKey::create()
        .from(from.0, from.1)
        .to(to, "id")
        .on_delete(ForeignKeyAction::SetNull)
        .to_owned()
}

/// An index named after its table and columns.
fn index(table: &'static str, columns: &[&'static str]) -> IndexCreateStatement {
    let mut index = Index::create();
    index.name(format!("{table}_by_{}", columns.join("_"))).table(table);
    for column in columns {
        index.col(*column);
    }
    index
}
