//! As much of HTTP as it takes to drive the API, without a library whose cost would be measured.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::model;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a request and answers with the JSON that comes back; null where nothing does.
pub fn send(
    address: SocketAddr,
    token: &str,
    (method, path): (&str, &str),
    body: Option<&Value>,
) -> anyhow::Result<Value> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut connection = connect(address)?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(format!("{head}{body}").as_bytes())?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    if !head.starts_with("HTTP/1.1 2") {
        bail!("{method} {path}: {head}\n{body}");
    }
    Ok(serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Whether the server answers that it is ready.
pub fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<Vec<u8>> {
        let mut connection = connect(address)?;
        let request =
            format!("GET /health/ready HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        connection.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"))
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// The events of a session, as they come.
pub struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Opens a stream. It is returned once the server has begun to answer.
    pub fn open(address: SocketAddr, token: &str, session: &str) -> anyhow::Result<Self> {
        let mut connection = connect(address)?;
        let request = format!(
            "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nhost: {address}\r\n\
             authorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
        );
        connection.write_all(request.as_bytes())?;
        let mut reader = BufReader::with_capacity(64 * 1_024, connection);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 200") {
            bail!("the stream: {line}");
        }
        while line.trim_end() != ": connected" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        Ok(Self(reader))
    }

    /// How long each of so many deltas has travelled since the model sent it.
    pub fn lateness(mut self, count: usize) -> anyhow::Result<Vec<Duration>> {
        let mut late = Vec::with_capacity(count);
        let mut line = String::new();
        while late.len() < count {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                bail!("it ended after {} of {count} deltas", late.len());
            }
            let now = Instant::now();
            let Some(data) = line.strip_prefix("data: {\"part_id\"") else { continue };
            // Pieces that came together are one event.
            late.extend(model::sent_at(data).map(|sent| now.duration_since(sent)));
        }
        Ok(late)
    }
}
