//! What a running Forge does by itself from time to time.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::App;

/// How long from one time to the next.
pub const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// Tidies up now, and again and again until the server stops.
pub fn start(app: &App, every: Duration) -> JoinHandle<()> {
    let (engine, stopping) = (app.engine.clone(), app.stopping.clone());
    tokio::spawn(async move {
        let work = async {
            loop {
                engine.sweep().await;
                tokio::time::sleep(every).await;
            }
        };
        let _: Option<()> = stopping.run_until_cancelled(work).await;
    })
}
