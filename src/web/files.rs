//! The files of a project: the tree beside, a folder or a file with colours, and the bytes.

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
    web::{Bytes, Data},
};
use askama::Template;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;

use super::{
    error::Error,
    extract::{CurrentUser, Owned, Query, Wants},
    highlight::{self, Language},
    page::{Frame, html},
    words,
};
use crate::{
    app::App,
    engine::tree::{self, Body, Entry, Kind, Listing, TreeError},
    store::{asks, entity::project::Model as Project},
};

/// Lines of a file that are drawn; a table of more than that is a burden for a browser.
const LINES_MAX: usize = 20_000;
/// Folders that are open in the tree, one in the other.
const DEPTH_MAX: usize = 32;
/// Asks that are counted for the frame.
const ASKS: u64 = 100;
/// Bytes of a download that are read at once.
const CHUNK: usize = 64 << 10;

#[derive(Debug, Deserialize)]
pub struct At {
    /// Relative to the project; empty for its own folder.
    #[serde(default)]
    pub path: String,
}

/// Which file is asked for.
#[derive(Debug, Deserialize)]
pub struct AtFile {
    path: String,
}

#[derive(Template)]
#[template(path = "files/show.html")]
struct Show {
    frame: Frame,
    project: Project,
    tab: &'static str,
    path: String,
    /// The address of the project's own folder.
    files: String,
    tree: Level,
    shown: Shown,
}

enum Shown {
    Folder(Vec<Row>),
    File(Box<FileView>),
}

struct FileView {
    folder: String,
    name: String,
    size: String,
    lines: Option<String>,
    raw: String,
    /// What is to be said instead of, or before, the lines.
    note: Option<String>,
    rows: Vec<String>,
}

/// The entries of one folder in the tree, as list items.
#[derive(Template)]
#[template(path = "files/level.html")]
struct Level {
    frame: Frame,
    rows: Vec<Row>,
    left_out: usize,
}

/// An entry of a folder.
struct Row {
    name: String,
    folder: bool,
    /// Nothing where it cannot be shown.
    href: Option<String>,
    ignored: bool,
    link: bool,
    current: bool,
    inner: Option<Level>,
}

impl Row {
    fn of(entry: &Entry, prefix: &str) -> Self {
        let folder = entry.kind == Kind::Folder;
        let page = if folder { "files" } else { "file" };
        let path = entry.path.as_deref().filter(|_| entry.kind != Kind::Other);
        Self {
            name: entry.name.clone(),
            folder,
            href: path.map(|path| address(prefix, page, path)),
            ignored: entry.ignored,
            link: entry.link,
            current: false,
            inner: None,
        }
    }
}

impl Level {
    fn of(frame: &Frame, prefix: &str, listing: &Listing) -> Self {
        let rows = listing.entries.iter().map(|entry| Row::of(entry, prefix)).collect();
        Self { frame: frame.clone(), rows, left_out: listing.left_out }
    }
}

/// `GET /projects/{id}/files`: a folder. htmx gets its entries for the tree.
pub async fn folder(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    Query(At { path }): Query<At>,
) -> Result<HttpResponse, Error> {
    let prefix = prefix(&frame, &project);
    let path = path.trim_end_matches('/').to_owned();
    let listing = tree::list(&project.path, &path).await.map_err(not_shown)?;
    if wants == Wants::Fragment {
        return html(Level::of(&frame, &prefix, &listing));
    }
    let rows = listing.entries.iter().map(|entry| Row::of(entry, &prefix)).collect();
    let frame = frame.waiting(asks::open(&app.db, user.id, ASKS).await?.len());
    show(frame, project, path, Shown::Folder(rows)).await
}

/// `GET /projects/{id}/file`: a file with line numbers and colours.
pub async fn file(
    Owned(project): Owned<Project>,
    CurrentUser(user): CurrentUser,
    app: Data<App>,
    frame: Frame,
    Query(AtFile { path }): Query<AtFile>,
) -> Result<HttpResponse, Error> {
    let viewed = tree::read(&project.path, &path).await.map_err(not_shown)?;
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name.to_owned()),
        None => (String::new(), path.clone()),
    };
    let mut file = FileView {
        folder,
        name,
        size: words::size(viewed.size),
        lines: None,
        raw: address(&prefix(&frame, &project), "raw", &path),
        note: None,
        rows: Vec::new(),
    };
    let text = match &viewed.body {
        Body::Text(text) => Some(text),
        Body::Lossy(text) => {
            file.note =
                Some("Some of its bytes are not UTF-8. They are shown as � here.".to_owned());
            Some(text)
        }
        Body::Binary => {
            file.note = Some("This is a binary file, so it is not shown.".to_owned());
            None
        }
        Body::TooLarge => {
            let most = words::size(tree::FILE_MAX);
            file.note = Some(format!("Files over {most} are not shown. Download it to read it."));
            None
        }
    };
    if let Some(text) = text {
        let lines = highlight::lines(text, Language::Of(&path)).await;
        file.lines = Some(words::count(lines.len() as u64, "line"));
        file.rows = lines.iter().take(LINES_MAX).cloned().collect();
        if lines.len() > LINES_MAX {
            let note = format!("Only the first {LINES_MAX} lines are shown.");
            file.note = Some(note);
        } else if lines.is_empty() {
            file.note = Some("This file is empty.".to_owned());
        }
    }
    let frame = frame.waiting(asks::open(&app.db, user.id, ASKS).await?.len());
    show(frame, project, path, Shown::File(Box::new(file))).await
}

/// `GET /projects/{id}/raw`: the bytes of a file, to keep. No browser takes them for a page.
pub async fn raw(
    Owned(project): Owned<Project>,
    Query(AtFile { path }): Query<AtFile>,
) -> Result<HttpResponse, Error> {
    let file = tree::open(&project.path, &path).await.map_err(not_shown)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let disposition = format!("attachment; filename=\"file\"; filename*=UTF-8''{}", encoded(name));
    let disposition = HeaderValue::from_str(&disposition)
        .map_err(|err| anyhow::anyhow!("naming a download: {err}"))?;
    let mut file = tokio::fs::File::from_std(file);
    let bytes = async_stream::try_stream! {
        let mut buffer = vec![0; CHUNK];
        loop {
            let length = file.read(&mut buffer).await?;
            if length == 0 {
                break;
            }
            yield Bytes::copy_from_slice(&buffer[..length]);
        }
    };
    let bytes = Box::pin(bytes) as std::pin::Pin<Box<dyn futures_util::Stream<Item = _>>>;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming::<_, std::io::Error>(bytes))
}

/// Draws a page with the tree opened down to what is shown.
async fn show(
    frame: Frame,
    project: Project,
    path: String,
    shown: Shown,
) -> Result<HttpResponse, Error> {
    let prefix = prefix(&frame, &project);
    let tree = opened(&frame, &project, &prefix, &path).await?;
    let files = format!("{prefix}/files");
    html(Show { frame, project, tab: "files", path, files, tree, shown })
}

/// The tree, opened on the way to a path: the innermost folder first, then those around it.
async fn opened(
    frame: &Frame,
    project: &Project,
    prefix: &str,
    path: &str,
) -> Result<Level, Error> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut inner: Option<Level> = None;
    for depth in (0..=parts.len().min(DEPTH_MAX)).rev() {
        let here = parts[..depth].join("/");
        let Ok(listing) = tree::list(&project.path, &here).await else { continue };
        let mut level = Level::of(frame, prefix, &listing);
        let on_the_way = parts.get(depth).copied();
        let entries = listing.entries.iter().zip(&mut level.rows);
        let next = entries.filter(|(entry, _)| {
            let name = entry.path.as_deref().and_then(|path| path.rsplit('/').next());
            name.is_some() && name == on_the_way
        });
        for (entry, row) in next {
            row.current = entry.kind == Kind::File && depth + 1 == parts.len();
            row.inner = inner.take();
        }
        inner = Some(level);
    }
    inner.ok_or_else(|| not_shown(TreeError::ProjectGone))
}

/// Where the pages of a project lie.
fn prefix(frame: &Frame, project: &Project) -> String {
    format!("{}/projects/{}", frame.base, project.id)
}

fn address(prefix: &str, page: &str, path: &str) -> String {
    format!("{prefix}/{page}?path={}", encoded(path))
}

/// A path as a part of an address. Every byte that means anything anywhere is written as `%XX`.
pub fn encoded(path: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// What a visitor hears when there is nothing to show.
pub fn not_shown(err: TreeError) -> Error {
    match err {
        TreeError::NotFound => Error::NotFound,
        TreeError::ProjectGone => {
            Error::Conflict("The folder of this project is not there any more.".into())
        }
        TreeError::Denied => {
            Error::Conflict("The server is not allowed to read this. Change its mode.".into())
        }
        TreeError::Io(err) => Error::Internal(err.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_carries_any_name() {
        assert_eq!(encoded("src/a b\"<&>\n公.rs"), "src/a%20b%22%3C%26%3E%0A%E5%85%AC.rs");
    }
}
