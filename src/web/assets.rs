//! Static files, embedded in the binary. Their address has a hash, so a browser may keep them.

use std::{fmt::Write as _, sync::LazyLock};

use actix_web::{HttpRequest, HttpResponse, http::header};
use include_dir::{Dir, include_dir};
use sha2::{Digest as _, Sha256};

use super::error::Error;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/static");

/// A hash of all static files: it changes with every one of them.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut hash = Sha256::new();
        add(&FILES, &mut hash);
        let mut text = String::new();
        for byte in &hash.finalize()[..6] {
            let _ = write!(text, "{byte:02x}");
        }
        text
    });
    &VERSION
}

fn add(dir: &Dir<'_>, hash: &mut Sha256) {
    for file in dir.files() {
        hash.update(file.path().to_string_lossy().as_bytes());
        hash.update(file.contents());
    }
    dir.dirs().for_each(|dir| add(dir, hash));
}

/// Answers `/static/{version}/{path}`. A file of another version is answered too, but not kept.
pub async fn file(request: HttpRequest) -> Result<HttpResponse, Error> {
    let path = request.match_info().query("path");
    let file = FILES.get_file(path).ok_or(Error::NotFound)?;
    let kept = if request.match_info().query("version") == version() {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    Ok(HttpResponse::Ok()
        .content_type(content_type(path))
        .insert_header((header::CACHE_CONTROL, kept))
        .body(file.contents()))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("webmanifest") => "application/manifest+json",
        _ => "text/plain; charset=utf-8",
    }
}
