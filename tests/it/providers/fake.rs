//! A server that answers every request with the same bytes, however wrong they are.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};

pub struct Fake {
    address: SocketAddr,
    /// The first line of each request.
    asked: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

/// What it does.
#[derive(Clone)]
pub enum Does {
    Answer(String),
    /// Sends a head, then zeros without an end.
    Flood,
    /// Takes the request and says nothing.
    Nothing,
    HangUp,
}

impl Does {
    pub fn answer(status: &str, content_type: &str, body: &str) -> Self {
        let length = body.len();
        Self::Answer(format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        ))
    }
}

impl Fake {
    pub async fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = asked.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (does, heard) = (does.clone(), heard.clone());
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
                        if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    heard.lock().unwrap().push(head.lines().next().unwrap().to_owned());
                    match does {
                        Does::Answer(text) => drop(stream.write_all(text.as_bytes()).await),
                        Does::Flood => {
                            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
                            let mut sent = stream.write_all(head.as_bytes()).await;
                            while sent.is_ok() {
                                sent = stream.write_all(&[b' '; 65_536]).await;
                            }
                        }
                        Does::Nothing => std::future::pending().await,
                        Does::HangUp => {}
                    }
                });
            }
        });
        Self { address, asked, accepting }
    }

    /// The address without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
