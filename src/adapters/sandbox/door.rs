//! The only way out of a command's network: a listener in it that the server holds.
//!
//! A network of one's own has a loopback interface and nothing else. The helper opens a listener
//! there and hands it to the server over the socket that they share. What connects to it arrives
//! in the server, which is in its own network; there is no route and nothing to bridge.
//!
//! Without namespaces the listener is one of the host's, a password keeps others from it, and
//! Landlock keeps the command from every other port.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener as StdListener},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::{
    io::Interest,
    net::{TcpListener, UnixStream},
};

use crate::{
    adapters::{
        proxy::{Door, LOGIN},
        system,
    },
    domain::secret::Secret,
};

/// Where the door is in a network of a command's own. Above those that the kernel gives out.
const PORT: u16 = 61_080;

/// What is sent along with the listener: an empty line, which means nothing where lines are read.
const ALONG: u8 = b'\n';

/// Opens the door in this network, and hands it to the server.
pub(super) fn hand_over(control: &StdStream) -> io::Result<()> {
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let handles = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&handles));
    sendmsg(control, &[IoSlice::new(&[ALONG])], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Waits for the first byte of the helper, which comes with the door if one was opened. What was
/// read of anything else is returned.
pub(super) async fn receive(control: &UnixStream) -> io::Result<(Option<Door>, Vec<u8>)> {
    loop {
        control.readable().await?;
        let mut byte = [0];
        let read = control.try_io(Interest::READABLE, || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut pieces = [IoSliceMut::new(&mut byte)];
            let read = recvmsg(control, &mut pieces, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
            let handles = ancillary.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(handles) => Some(handles),
                _ => None,
            });
            Ok((read.bytes, handles.flatten().collect::<Vec<OwnedFd>>()))
        });
        match read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            Ok((length, handles)) => {
                let door = handles.into_iter().next().map(in_network_of_its_own).transpose()?;
                return Ok((door, byte.get(..length).unwrap_or_default().to_vec()));
            }
        }
    }
}

fn in_network_of_its_own(handle: OwnedFd) -> io::Result<Door> {
    let listener = StdListener::from(handle);
    listener.set_nonblocking(true)?;
    Ok(Door { listener: TcpListener::from_std(listener)?, password: None })
}

/// A door in the server's own network, which opens to a password alone.
pub(super) async fn on_the_host() -> io::Result<(Door, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let mut bytes = [0; 24];
    system::fill(&mut bytes);
    let password = Some(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(bytes)));
    Ok((Door { listener, password }, port))
}

/// What tells a command of the door, in the words of the programs that use one.
pub(super) fn environment(port: Option<u16>, password: Option<&Secret>) -> Vec<(String, String)> {
    let login = password.map(|it| format!("{LOGIN}:{}@", it.expose())).unwrap_or_default();
    let address = format!("http://{login}127.0.0.1:{}", port.unwrap_or(PORT));
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
    let proxies = proxies.map(|name| (name, address.as_str()));
    let others = [
        ("NO_PROXY", "localhost,127.0.0.1,::1"),
        ("no_proxy", "localhost,127.0.0.1,::1"),
        // Node asks for it.
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    let all = proxies.into_iter().chain(others);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
