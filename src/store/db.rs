//! The connections: many that read, one that writes.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
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
}

/// Whether there are budgets at all: each call of a model asks.
#[derive(Default)]
struct Budgets {
    /// How often one was added since the start, from 1.
    added: AtomicU64,
    /// How often that was when none was there; 0 where that is not known.
    none_at: AtomicU64,
}

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

    /// Counts how often the rules or the trust of any project have changed since the start, so that
    /// whoever holds rules knows whether they still hold without a query.
    pub fn gates(&self) -> u64 {
        self.gates.load(Ordering::Acquire)
    }

    /// To be called once such a change is stored.
    pub(super) fn gates_changed(&self) {
        self.gates.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts how often a budget was added, from 1.
    pub(super) fn budgets_added(&self) -> u64 {
        self.budgets.added.load(Ordering::Acquire) + 1
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
