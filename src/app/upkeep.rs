//! What a running Forge does by itself from time to time.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::App;
use crate::engine::settings;

/// How long from one time to the next.
pub const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long until settings hold that another server on the same database has changed.
const FOLLOW_EVERY: Duration = Duration::from_secs(3);

/// Tidies up now, and again and again until the server stops.
pub fn start(app: &App, every: Duration) -> JoinHandle<()> {
    let (engine, stopping) = (app.engine.clone(), app.stopping.clone());
    tokio::spawn(async move {
        let sweep = async {
            loop {
                engine.sweep().await;
                tokio::time::sleep(every).await;
            }
        };
        let follow = async {
            loop {
                tokio::time::sleep(FOLLOW_EVERY).await;
                if engine.db.is_shared()
                    && let Err(err) = settings::load(&engine).await
                {
                    tracing::warn!("looking for settings that another server changed: {err:#}");
                }
            }
        };
        let work = async { tokio::join!(sweep, follow) };
        let _: Option<((), ())> = stopping.run_until_cancelled(work).await;
    })
}
