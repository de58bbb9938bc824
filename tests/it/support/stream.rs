//! The event stream of a session's page, as a browser reads it.

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::Method;

use super::Person;

pub struct PageStream {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
    pub headers: reqwest::header::HeaderMap,
    /// All that came so far.
    pub seen: Vec<Piece>,
}

/// A message of the stream.
#[derive(Clone, Debug)]
pub struct Piece {
    pub id: Option<i64>,
    pub event: Option<String>,
    pub html: String,
}

impl PageStream {
    /// Connects the way a page does, after what it shows, or after an id that came before.
    pub async fn connect(person: &Person, path: &str, last: Option<i64>) -> Self {
        let mut request = person.request(Method::GET, path);
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let headers = response.headers().clone();
        let body = Box::pin(response.bytes_stream());
        Self { body, text: String::new(), headers, seen: Vec::new() }
    }

    /// The address that a page connects to.
    pub fn address(page: &str) -> String {
        let (_, rest) = page.split_once("hx-sse:connect=\"").expect("no stream on the page");
        let address = rest.split_once('"').unwrap().0;
        // Numbers, so that the only thing that is escaped is what stands between them.
        address.replace("&amp;", "&").replace("&#38;", "&")
    }

    /// The next message; `None` where the stream has ended.
    pub async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(piece) = Piece::read(&frame) {
                    self.seen.push(piece.clone());
                    return Some(piece);
                }
                continue;
            }
            let next = tokio::time::timeout(Duration::from_secs(10), self.body.next()).await;
            match next {
                Ok(Some(Ok(bytes))) => self.text.push_str(std::str::from_utf8(&bytes).unwrap()),
                Ok(Some(Err(_)) | None) => return None,
                Err(_) => panic!("nothing came for ten seconds; before that: {:#?}", self.seen),
            }
        }
    }

    /// Waits for a message with all of these in it.
    pub async fn until(&mut self, wanted: &[&str]) -> Piece {
        loop {
            let Some(piece) = self.next().await else {
                panic!("the stream ended before {wanted:?}: {:#?}", self.seen);
            };
            if wanted.iter().all(|text| piece.html.contains(text)) {
                return piece;
            }
        }
    }

    /// The newest id that came.
    pub fn last_id(&self) -> i64 {
        self.seen.iter().rev().find_map(|piece| piece.id).expect("no id yet")
    }
}

impl Piece {
    fn read(frame: &str) -> Option<Self> {
        let mut piece = Self { id: None, event: None, html: String::new() };
        let mut lines = Vec::new();
        for line in frame.lines() {
            match line.split_once(": ").unwrap_or((line.trim_end_matches(':'), "")) {
                ("id", id) => piece.id = Some(id.parse().unwrap()),
                ("event", name) => piece.event = Some(name.to_owned()),
                ("data", text) => lines.push(text),
                ("", _) => {}
                other => panic!("no field of a stream: {other:?}"),
            }
        }
        piece.html = lines.join("\n");
        (!lines.is_empty()).then_some(piece)
    }
}
