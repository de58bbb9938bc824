//! The application secret from the command line.

use super::{data, open, say};
use crate::{app::secrets, config::Config};

/// Puts a new secret in place of the present one. Prints counts alone.
pub async fn rotate(config: Config) -> anyhow::Result<()> {
    data::prepare(&config.data.dir)?;
    // A server that runs would go on to seal under the secret that it has read.
    let _alone = data::hold(&config.data.dir, data::Use::Alone)?;
    secrets::begin(&config)?;
    let app = open(config.clone()).await?;
    let rotated = secrets::reseal(&app).await;
    app.db.close().await?;
    let rotated = rotated?;
    secrets::finish(&config)?;
    say(&format!(
        "{} re-encrypted, {} already under the new secret, {} opened by neither.",
        rotated.resealed, rotated.already, rotated.lost
    ))?;
    if rotated.lost > 0 {
        say("Keys that neither secret opens have to be entered again, on their providers' pages.")?;
    }
    match config.secret.key {
        Some(_) => say("Take secret.previous out of the configuration now."),
        None => say("Keep a copy of the file `secret` in the data folder."),
    }
}
