//! The command line: serving, and what an operator does beside a running server.
//!
//! Success is 0, wrong usage 2, failure 1; reasons go to standard error, results to standard
//! output.

mod data;
mod logs;
mod people;
mod secret;
mod serve;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{
    adapters::system::SystemEntropy,
    app::App,
    config::{Config, Required},
    domain::{clock::SystemClock, token::Scope},
    store::Db,
};

/// A self-hosted web application in which a team runs AI coding agents on its own repositories.
#[derive(Parser)]
#[command(name = "forge", version, arg_required_else_help = true)]
struct Cli {
    /// The configuration file; config/forge.toml where it exists. FORGE_* variables go over it.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the site until SIGTERM or SIGINT.
    Serve,
    /// Manage administrators.
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// Manage access tokens.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Manage the application secret.
    Secret {
        #[command(subcommand)]
        command: SecretCommand,
    },
    /// Bring the schema of the database up to date.
    Migrate,
}

#[derive(Subcommand)]
enum SecretCommand {
    /// Re-encrypt all stored keys under a new secret, while no server runs. Prints counts alone.
    Rotate,
}

#[derive(Subcommand)]
enum AdminCommand {
    /// Add an administrator, whose password is read from standard input.
    Create(NewAdmin),
}

#[derive(Args)]
struct NewAdmin {
    /// What they sign in with.
    #[arg(long)]
    login: String,
    /// What they are called; the login where it is left out.
    #[arg(long)]
    name: Option<String>,
    /// Their e-mail address.
    #[arg(long)]
    email: Option<String>,
    /// Read the password from the first line of standard input.
    #[arg(long, required = true)]
    password_stdin: bool,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make an access token and print it alone on standard output.
    Create(NewToken),
}

#[derive(Args)]
struct NewToken {
    /// Whose token it is.
    #[arg(long)]
    login: String,
    /// What it is called in the list of tokens.
    #[arg(long)]
    name: String,
    /// What it may do.
    #[arg(long, value_enum, default_value_t = ScopeArg::Read)]
    scope: ScopeArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScopeArg {
    Read,
    Write,
    Admin,
}

impl From<ScopeArg> for Scope {
    fn from(arg: ScopeArg) -> Self {
        match arg {
            ScopeArg::Read => Self::Read,
            ScopeArg::Write => Self::Write,
            ScopeArg::Admin => Self::Admin,
        }
    }
}

/// Does what the arguments say.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            let _ = err.print();
            return ExitCode::from(u8::try_from(err.exit_code()).unwrap_or(2));
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            let _ = writeln!(std::io::stderr(), "{err:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    // The one TLS provider; an error says that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = match &cli.config {
        Some(file) => Config::load(file, Required::Yes)?,
        None => Config::load(Path::new("config/forge.toml"), Required::No)?,
    };
    logs::start(&config.log)?;
    // Several threads: what runs is shared between them, whoever started it.
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    actix_web::rt::System::with_tokio_rt(|| threads).block_on(async {
        match cli.command {
            Command::Serve => serve::serve(config).await,
            Command::Admin { command: AdminCommand::Create(new) } => {
                with_app(config, async |app| people::create_admin(app, new).await).await
            }
            Command::Token { command: TokenCommand::Create(new) } => {
                with_app(config, async |app| people::create_token(app, new).await).await
            }
            Command::Secret { command: SecretCommand::Rotate } => secret::rotate(config).await,
            Command::Migrate => with_app(config, async |_| say("The schema is up to date.")).await,
        }
    })
}

/// Opens the data, does something with it and closes it.
async fn with_app(
    config: Config,
    work: impl AsyncFnOnce(&App) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let app = open(config).await?;
    let done = work(&app).await;
    let closed = app.db.close().await;
    done?;
    Ok(closed?)
}

/// Opens the data folder, the secret and the database, whose schema is brought up to date.
async fn open(config: Config) -> anyhow::Result<App> {
    data::prepare(&config.data.dir)?;
    let url = config.database.url.clone();
    let file = config.data.dir.join("forge.db");
    let url = url.unwrap_or_else(|| format!("sqlite:{}", file.display()));
    let db = Db::open(&url).await.map_err(|err| anyhow::anyhow!("database: {err}"))?;
    let helper = std::env::current_exe()?;
    App::new(config, db, Arc::new(SystemClock), Arc::new(SystemEntropy), helper).await
}

/// Prints a result.
fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
