//! What a running Forge does by itself from time to time.

use std::{path::PathBuf, time::Duration};

use forge::{adapters::blobs::Blobs, app::upkeep};

use crate::support::TestApp;

#[actix_web::test]
async fn what_nothing_refers_to_goes_at_the_start_and_again_until_the_server_stops() {
    let app = TestApp::start().await;
    let first = old_blob(&app, b"first");
    let fresh = Blobs::below(&app.app.config.data.dir).put(b"kept a moment ago").unwrap();
    let work = upkeep::start(&app.app, Duration::from_millis(20));
    gone(&first).await;
    let second = old_blob(&app, b"second");
    gone(&second).await;
    assert!(Blobs::below(&app.app.config.data.dir).size(fresh).is_some());

    app.app.stopping.cancel();
    tokio::time::timeout(Duration::from_secs(5), work).await.unwrap().unwrap();
    let third = old_blob(&app, b"third");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(third.exists());
}

/// Content that was kept long ago.
fn old_blob(app: &TestApp, content: &[u8]) -> PathBuf {
    let data = &app.app.config.data.dir;
    let name = Blobs::below(data).put(content).unwrap().to_string();
    let path = data.join("blobs").join(&name[..2]).join(&name[2..]);
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    path
}

async fn gone(path: &std::path::Path) {
    for _ in 0..500 {
        if !path.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} is still there", path.display());
}
