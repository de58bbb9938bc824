//! As much of HTTP/1.1 as a client of a model speaks, close enough to the wire to cut it anywhere.

use std::{io, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

use super::{
    Outcome, Shared,
    dialect::{Dialect, Voice},
    lists,
    script::{Act, Script},
};

pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.state().connections += 1;
        let shared = shared.clone();
        connections.spawn(async move {
            // The other side may hang up whenever it likes.
            let _ = serve(stream, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

struct Head {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    length: usize,
}

async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some(head) = read_head(&mut reader).await? {
        let mut body = vec![0; head.length];
        reader.read_exact(&mut body).await?;
        let chat = Dialect::at(&head.path).filter(|_| head.method == "POST");
        if let Some((dialect, model)) = chat {
            let (number, script) = shared.hear((dialect, model), head.headers, body);
            let voice = Voice::new(dialect, number, shared);
            let answer = Answer { number, script, shared, voice, writer: &mut writer };
            let (goes_on, outcome) = tokio::select! {
                biased;
                sent = answer.send() => match sent {
                    Ok(goes_on) => (goes_on, Outcome::Answered),
                    Err(_) => (false, Outcome::Aborted),
                },
                () = hung_up(reader.get_mut()) => (false, Outcome::Aborted),
            };
            shared.over(number, outcome);
            if !goes_on {
                return Ok(());
            }
            continue;
        }
        let answer = lists::answer(&head.method, &head.path, &head.headers, &body)
            .unwrap_or_else(|| Script::fault(404, json!({"detail": "Not Found"})));
        write_whole(&mut writer, &answer).await?;
    }
    Ok(())
}

async fn read_head(reader: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<Head>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    Ok(Some(Head { method, path, headers, length }))
}

/// Ready when the other side has closed the connection.
async fn hung_up(reader: &mut OwnedReadHalf) {
    let mut byte = [0];
    if let Ok(1..) = reader.peek(&mut byte).await {
        std::future::pending::<()>().await;
    }
}

async fn write_whole(writer: &mut OwnedWriteHalf, script: &Script) -> io::Result<()> {
    let body = script.body.as_deref().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} -\r\ncontent-length: {}\r\n", script.status, body.len());
    if !script.headers.iter().any(|(name, _)| name == "content-type") {
        head.push_str("content-type: application/json\r\n");
    }
    for (name, value) in &script.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    writer.write_all(format!("{head}\r\n{body}").as_bytes()).await
}

struct Answer<'a> {
    number: usize,
    script: Script,
    shared: &'a Shared,
    voice: Voice<'a>,
    writer: &'a mut OwnedWriteHalf,
}

impl Answer<'_> {
    /// Sends the answer, and says whether the connection can carry another.
    async fn send(mut self) -> io::Result<bool> {
        let script = self.script.clone();
        let mut acts = script.acts.iter().peekable();
        while let Some(Act::Hold(gate)) = acts.peek() {
            gate.pass().await;
            acts.next();
        }
        if script.body.is_some() {
            write_whole(self.writer, &script).await?;
            return Ok(true);
        }
        let mut head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n",
            self.voice.dialect.content_type()
        );
        for (name, value) in &script.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.writer.write_all(format!("{head}\r\n").as_bytes()).await?;
        let begin = self.voice.begin(&self.usage());
        self.pieces(begin).await?;
        let mut calls = 0;
        for act in acts {
            match act {
                Act::Delta(delta) => {
                    let pieces = self.voice.delta(delta);
                    self.pieces(pieces).await?;
                }
                Act::Call(tool, arguments) => {
                    let pieces = self.voice.call(calls, tool, arguments);
                    self.pieces(pieces).await?;
                    calls += 1;
                }
                Act::Finish => self.finish().await?,
                Act::Raw(bytes) => self.bytes(bytes).await?,
                Act::Gate(gate) | Act::Hold(gate) => gate.pass().await,
                Act::Cut => return Ok(false),
                Act::Stall => std::future::pending().await,
            }
        }
        if !script.ends_itself() {
            self.finish().await?;
        }
        self.writer.write_all(b"0\r\n\r\n").await?;
        Ok(true)
    }

    async fn finish(&mut self) -> io::Result<()> {
        let reason = self.script.finish_reason().to_owned();
        let pieces = self.voice.end(&reason, &self.usage());
        self.pieces(pieces).await
    }

    fn usage(&self) -> Value {
        self.script.usage.clone().unwrap_or_else(|| {
            let asked = self.shared.state().requests[self.number].raw.len() as u64 / 4;
            let answered = self.script.acts.len() as u64 + 1;
            json!({"prompt_tokens": asked, "completion_tokens": answered,
                "total_tokens": asked + answered})
        })
    }

    async fn pieces(&mut self, pieces: Vec<String>) -> io::Result<()> {
        for piece in pieces {
            self.bytes(piece.as_bytes()).await?;
        }
        Ok(())
    }

    /// Sends bytes, each piece as a chunk of its own.
    async fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.script.pace > Duration::ZERO {
            tokio::time::sleep(self.script.pace).await;
        }
        let size = self.script.piece.min(bytes.len()).max(1);
        for piece in bytes.chunks(size) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            self.writer.write_all(&chunk).await?;
        }
        Ok(())
    }
}
