//! The one way out of the sandbox: a proxy for HTTP and HTTPS that lets through to hosts which a
//! rule allows, and to no address of the server's own network.
//!
//! One is made for each command. It resolves a name once, looks at every address that comes of it,
//! and connects to those; the command itself never resolves anything. What was reached and what
//! was refused is kept, so that whoever reads the command's output learns why a download failed.

mod head;
mod traffic;

use std::{
    convert::Infallible,
    future::ready,
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};

use self::head::{Head, Wrong};
use super::reach::{Hosts, NotFound};
use crate::domain::secret::Secret;

pub(super) use self::head::LOGIN;
pub use self::{
    head::Target,
    traffic::{Refusal, Traffic, Visit},
};

/// Connections of one command at the same time.
const AT_ONCE: usize = 64;
/// How long the head of a request, a name and a connection may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// A connection on which nothing moves for so long is ended.
const IDLE: Duration = Duration::from_secs(180);
/// How much one command may send and receive in all.
const MOST_BYTES: u64 = 8 << 30;
/// The largest head of a request.
const MOST_HEAD: usize = 16 << 10;

/// How often it is looked whether a connection that is open may still be so.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Says whether a command may reach a host; if not, why.
///
/// It is asked for each connection, and again while that is open: the answer may change.
pub trait Judge: Send + Sync {
    fn judge<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<(), Refusal>>;
}

impl<F: Fn(&Target) -> Result<(), Refusal> + Send + Sync> Judge for F {
    fn judge<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(ready(self(target)))
    }
}

/// Where a command's connections arrive.
#[derive(Debug)]
pub struct Door {
    pub listener: TcpListener,
    /// What has to be shown, where others could knock too.
    pub password: Option<Secret>,
}

/// Lets a command out, as far as it may go.
#[derive(Clone)]
pub struct Proxy {
    hosts: Hosts,
    judge: Arc<dyn Judge>,
    traffic: Traffic,
}

impl Proxy {
    pub fn new(hosts: Hosts, judge: Arc<dyn Judge>) -> Self {
        Self { hosts, judge, traffic: Traffic::default() }
    }

    /// What went through, and what did not.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Lets through what may pass while something else is done; then everything is cut.
    pub async fn serve_while<T>(&self, door: Option<&Door>, work: impl Future<Output = T>) -> T {
        let Some(door) = door else { return work.await };
        tokio::select! {
            done = work => done,
            never = self.serve(door) => match never {},
        }
    }

    async fn serve(&self, door: &Door) -> Infallible {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut under_way = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = door.listener.accept() => accepted,
                Some(_) = under_way.join_next() => continue,
            };
            let Ok((client, _)) = accepted else {
                // Too many open files, most likely: some of them will be closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(place) = places.clone().acquire_owned().await else { continue };
            let (proxy, password) = (self.clone(), door.password.clone());
            under_way.spawn(async move {
                let _place = place;
                // What goes wrong with a connection is the command's to notice.
                let _ = proxy.pass(client, password.as_ref()).await;
            });
        }
    }

    async fn pass(&self, mut client: TcpStream, password: Option<&Secret>) -> io::Result<()> {
        let read = timeout(PATIENCE, read_head(&mut client)).await;
        let head = match read.unwrap_or(Err(Wrong::Unreadable)) {
            Ok(head) => head,
            Err(Wrong::Gone) => return Ok(()),
            Err(wrong) => return answer(&mut client, "400 Bad Request", &wrong.to_string()).await,
        };
        if !password.is_none_or(|password| head.shows(password)) {
            let status = "407 Proxy Authentication Required\r\n\
                          Proxy-Authenticate: Basic realm=\"forge\"";
            return answer(&mut client, status, "This proxy is for one command alone.").await;
        }
        let server = match self.connect(&head.target).await {
            Ok(server) => server,
            Err(refusal) => {
                let text = refusal.about(&head.target);
                let status = match refusal {
                    Refusal::Unknown | Refusal::Unreachable => "502 Bad Gateway",
                    _ => "403 Forbidden",
                };
                self.traffic.refused(&head.target, refusal);
                return answer(&mut client, status, &text).await;
            }
        };
        self.traffic.reached(&head.target);
        self.relay(client, server, head).await
    }

    async fn connect(&self, target: &Target) -> Result<TcpStream, Refusal> {
        self.judge.judge(target).await?;
        if self.traffic.bytes().load(Ordering::Relaxed) >= MOST_BYTES {
            return Err(Refusal::TooMuch);
        }
        let found = timeout(PATIENCE, self.hosts.find(&target.host)).await;
        let addresses = match found {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(NotFound::Own(_))) => return Err(Refusal::OwnNetwork),
            Ok(Err(NotFound::Unknown(_))) | Err(_) => return Err(Refusal::Unknown),
        };
        let connecting = async {
            for address in addresses {
                if let Ok(server) = TcpStream::connect(SocketAddr::new(address, target.port)).await
                {
                    return Some(server);
                }
            }
            None
        };
        timeout(PATIENCE, connecting).await.ok().flatten().ok_or(Refusal::Unreachable)
    }

    async fn relay(&self, client: TcpStream, server: TcpStream, head: Head) -> io::Result<()> {
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        if head.tunnels {
            to_client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        }
        to_server.write_all(&head.onward).await?;
        let up = self.pump(&mut from_client, &mut to_server, &head.target);
        let down = self.pump(&mut from_server, &mut to_client, &head.target);
        tokio::select! {
            // When the server has said all there is nothing left to wait for.
            done = down => done,
            failed = async { up.await?; std::future::pending().await } => failed,
            refusal = self.until_refused(&head.target) => {
                self.traffic.refused(&head.target, refusal);
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
    }

    /// Waits until a host that may be reached may not be any more.
    async fn until_refused(&self, target: &Target) -> Refusal {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            if let Err(refusal) = self.judge.judge(target).await {
                return refusal;
            }
        }
    }

    async fn pump(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        target: &Target,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 32 << 10];
        let all = self.traffic.bytes();
        loop {
            let before = all.load(Ordering::Relaxed);
            let length = match timeout(IDLE, from.read(&mut buffer)).await {
                Ok(length) => length?,
                // The other direction may be busy.
                Err(_) if all.load(Ordering::Relaxed) > before => continue,
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            };
            let Some(piece) = buffer.get(..length).filter(|piece| !piece.is_empty()) else {
                return to.shutdown().await;
            };
            if !self.traffic.moved(target, length as u64, MOST_BYTES) {
                self.traffic.refused(target, Refusal::TooMuch);
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            to.write_all(piece).await?;
        }
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("traffic", &self.traffic).finish_non_exhaustive()
    }
}

async fn read_head(client: &mut TcpStream) -> Result<Head, Wrong> {
    let mut bytes = Vec::with_capacity(1024);
    let mut buffer = [0; 2048];
    loop {
        let length = client.read(&mut buffer).await.map_err(|_| Wrong::Gone)?;
        bytes.extend(buffer.get(..length).unwrap_or_default());
        if let Some(head) = Head::parse(&bytes)? {
            return Ok(head);
        }
        match (length, bytes.len()) {
            (0, 0) => return Err(Wrong::Gone),
            (0, _) | (_, MOST_HEAD..) => return Err(Wrong::Unreadable),
            _ => {}
        }
    }
}

/// Answers and closes. `status` may have more header lines behind it.
async fn answer(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}
