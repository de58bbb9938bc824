//! The connections: many that read, one that writes.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use migration::{Migrator, MigratorTrait as _};
use sea_orm::{
    ConnectOptions, Database, DatabaseConnection, DatabaseTransaction, DbErr,
    SqliteTransactionMode, TransactionOptions, TransactionTrait as _,
    sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous},
};

use super::journal::Group;

/// Connections to the database.
#[derive(Clone)]
pub struct Db {
    read: DatabaseConnection,
    write: DatabaseConnection,
    /// Where there is one writer.
    group: Option<Arc<Group>>,
    gates: Arc<AtomicU64>,
    budgets: Arc<Budgets>,
    /// Since when it has been open, where other servers may write too.
    shared: Option<Instant>,
}

/// Whether there are budgets at all: each call of a model asks.
#[derive(Default)]
struct Budgets {
    /// How often one was added since the start, from 1.
    added: AtomicU64,
    /// How often that was when none was there; 0 where that is not known.
    none_at: AtomicU64,
}

/// For so long it is believed that no other server has changed what is kept in memory.
const BELIEVED: Duration = Duration::from_secs(3);

/// Connections that read at the same time.
const READERS: u32 = 4;
/// Connections to a PostgreSQL server.
const POSTGRES: u32 = 16;

impl Db {
    /// Connects, and brings the schema up to date.
    ///
    /// A SQLite file is created where it does not exist, together with its folder.
    pub async fn open(url: &str) -> Result<Self, DbErr> {
        let db = if url.starts_with("sqlite:") {
            if let Some(folder) = sqlite_path(url).and_then(Path::parent) {
                std::fs::create_dir_all(folder).map_err(|err| DbErr::Custom(err.to_string()))?;
            }
            let write = Database::connect(sqlite(url, 1)).await?;
            let read = Database::connect(sqlite(url, READERS)).await?;
            Self {
                read,
                write,
                group: Some(Arc::default()),
                gates: Arc::default(),
                budgets: Arc::default(),
                shared: None,
            }
        } else {
            let mut options = ConnectOptions::new(url);
            options.max_connections(POSTGRES).sqlx_logging(false);
            let pool = Database::connect(options).await?;
            Self {
                read: pool.clone(),
                write: pool,
                group: None,
                gates: Arc::default(),
                budgets: Arc::default(),
                shared: Some(Instant::now()),
            }
        };
        Migrator::up(&db.write, None).await?;
        Ok(db)
    }

    /// A connection to read from.
    pub fn read(&self) -> &DatabaseConnection {
        &self.read
    }

    /// A connection for a single statement that writes.
    pub fn write(&self) -> &DatabaseConnection {
        &self.write
    }

    /// Starts a transaction that writes. Keep it short: every other writer waits for its end.
    pub async fn begin(&self) -> Result<DatabaseTransaction, DbErr> {
        self.write
            .begin_with_options(TransactionOptions {
                sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
                ..TransactionOptions::default()
            })
            .await
    }

    /// What gathers changes for the one writer; absent where there are many.
    pub(super) fn group(&self) -> Option<&Group> {
        self.group.as_deref()
    }

    /// Whether other servers may use the same database, so that what it says is the only truth. A
    /// file of SQLite belongs to one server.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Grows every few seconds where other servers write too: what was counted with it is believed
    /// for so long.
    fn beat(&self) -> u64 {
        self.shared.map_or(0, |since| since.elapsed().as_secs() / BELIEVED.as_secs())
    }

    /// Counts how often the rules or the trust of any project have changed since the start, so that
    /// whoever holds rules knows whether they still hold without a query. Changes by another server
    /// are noticed within seconds.
    pub fn gates(&self) -> u64 {
        self.gates.load(Ordering::Acquire) + self.beat()
    }

    /// To be called once such a change is stored.
    pub(super) fn gates_changed(&self) {
        self.gates.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts how often a budget was added, from 1. One that another server adds is noticed within
    /// seconds.
    pub(super) fn budgets_added(&self) -> u64 {
        self.budgets.added.load(Ordering::Acquire) + 1 + self.beat()
    }

    /// Whether it is known that there is no budget.
    pub(super) fn has_no_budgets(&self) -> bool {
        self.budgets.none_at.load(Ordering::Acquire) == self.budgets_added()
    }

    /// Notes that there was none when [`Db::budgets_added`] said this.
    pub(super) fn no_budgets_at(&self, added: u64) {
        self.budgets.none_at.store(added, Ordering::Release);
    }

    /// To be called once a budget is stored.
    pub(super) fn budget_added(&self) {
        self.budgets.added.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), DbErr> {
        self.read.ping().await
    }

    /// Closes all connections, so that SQLite can tidy up after itself.
    pub async fn close(self) -> Result<(), DbErr> {
        self.read.close().await?;
        self.write.close().await
    }
}

fn sqlite_path(url: &str) -> Option<&Path> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    Some(Path::new(path.split('?').next().unwrap_or(path)))
}

fn sqlite(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .min_connections(1)
        .sqlx_logging(false)
        .test_before_acquire(false)
        .idle_timeout(None::<Duration>)
        .max_lifetime(None::<Duration>)
        .map_sqlx_sqlite_opts(|options| {
            options
                .create_if_missing(true)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Normal)
                .foreign_keys(true)
                .busy_timeout(Duration::from_secs(5))
                .pragma("temp_store", "memory")
                .pragma("cache_size", "-4000")
                .statement_cache_capacity(128)
        });
    options
}

/// How SQLite goes about a query, as it tells.
#[cfg(test)]
pub(super) async fn plan(query: impl sea_orm::QueryTrait) -> String {
    use sea_orm::{ConnectionTrait as _, DbBackend, Statement};

    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("forge.db").display());
    let db = Db::open(&url).await.unwrap();
    let sql = format!("EXPLAIN QUERY PLAN {}", query.build(DbBackend::Sqlite));
    let told = db.read().query_all_raw(Statement::from_string(DbBackend::Sqlite, sql)).await;
    let told = told.unwrap().into_iter().map(|row| row.try_get::<String>("", "detail").unwrap());
    told.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_another_server_may_have_changed_is_not_believed_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("forge.db").display());
        let mut db = Db::open(&url).await.unwrap();
        db.no_budgets_at(db.budgets_added());
        let gates = db.gates();
        assert!(db.has_no_budgets() && !db.is_shared());

        let ago = |time| Instant::now().checked_sub(time);
        db.shared = ago(Duration::ZERO);
        assert!(db.has_no_budgets() && db.gates() == gates);
        db.shared = ago(BELIEVED);
        assert!(!db.has_no_budgets() && db.gates() != gates);
        db.no_budgets_at(db.budgets_added());
        assert!(db.has_no_budgets());
        db.budget_added();
        assert!(!db.has_no_budgets());
    }
}
