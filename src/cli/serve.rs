//! Serving: start, the line that says so, and an orderly end.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use actix_web::cookie::Key;
use anyhow::Context as _;
use sha2::{Digest as _, Sha512};
use tokio::signal::unix::{SignalKind, signal};

use super::{data, open, say};
use crate::{
    adapters::vault::Vault,
    app::{App, upkeep},
    config::Config,
    engine::runner,
    web,
};

/// Serves until a signal says to stop.
pub async fn serve(config: Config) -> anyhow::Result<()> {
    let bind = config.server.bind;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    data::prepare(&config.data.dir)?;
    let _used = data::hold(&config.data.dir, data::Use::Shared)?;
    let app = open(config).await?;
    let repaired = runner::repair(&app.engine).await?;
    if repaired > 0 {
        tracing::info!(sessions = repaired, "repaired what the last run left in the middle");
    }
    let listener = TcpListener::bind(bind).with_context(|| format!("server.bind {bind}"))?;
    let address = listener.local_addr()?;
    let server = web::serve(listener, app.clone(), cookie_key(&app.vault))?;
    let handle = server.handle();
    let mut server = tokio::spawn(server);
    if !app.is_set_up().await? {
        invite(&app, address)?;
    }
    say(&format!("listening on http://{address}"))?;
    let upkeep = upkeep::start(&app, upkeep::EVERY);
    tokio::select! {
        ended = &mut server => return Ok(ended??),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    app.stopping.cancel();
    let runs_end = async {
        let patience = Duration::from_secs(app.config.server.shutdown_seconds);
        let engine = &app.engine;
        let ending = async {
            engine.runs.stop_all().await;
            engine.jobs.end_all().await;
        };
        let ended = tokio::time::timeout(patience, ending).await;
        if ended.is_err() {
            tracing::warn!("not all runs ended in time; the next start repairs their sessions");
        }
    };
    tokio::select! {
        ((), ()) = async { tokio::join!(handle.stop(true), runs_end) } => {}
        // Who asks twice does not want to wait.
        _ = terminate.recv() => handle.stop(false).await,
        _ = interrupt.recv() => handle.stop(false).await,
    }
    server.await??;
    upkeep.await?;
    app.db.close().await?;
    tracing::info!("stopped");
    Ok(())
}

/// Says where the first person goes. The token is on the terminal and nowhere else.
fn invite(app: &App, address: SocketAddr) -> anyhow::Result<()> {
    let token = app.new_setup_token();
    let site = match &app.config.server.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        None => format!("http://{address}"),
    };
    let mut err = std::io::stderr().lock();
    writeln!(err, "Nobody has an account yet. To become the first administrator, open")?;
    writeln!(err, "  {site}/setup?token={token}")?;
    Ok(())
}

/// What sign-in cookies are encrypted with.
fn cookie_key(vault: &Vault) -> Key {
    let mut hash = Sha512::new();
    hash.update(b"forge sign-in cookies\0");
    hash.update(vault.derive("cookies"));
    Key::from(&hash.finalize())
}
