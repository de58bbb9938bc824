//! The head of a request to the proxy: where it wants to go, and what of it goes on.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use httparse::{EMPTY_HEADER, Header, Request, Status};
use subtle::ConstantTimeEq as _;
use url::{Host, Position, Url};

use crate::domain::secret::Secret;

/// The name that goes with the password, where one is asked for.
pub(in crate::adapters) const LOGIN: &str = "forge";
const MOST_HEADERS: usize = 100;

/// What a command wants to reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub host: Host<String>,
    pub port: u16,
}

impl fmt::Display for Target {
    /// As a rule names it: the host alone for the ports of the web, else with the port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = match &self.host {
            Host::Domain(name) => name.trim_end_matches('.').to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) if matches!(self.port, 80 | 443) => address.to_string(),
            Host::Ipv6(address) => format!("[{address}]"),
        };
        match self.port {
            80 | 443 => f.write_str(&host),
            port => write!(f, "{host}:{port}"),
        }
    }
}

/// Why a request cannot be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("there was no request")]
    Gone,
    #[error("The request cannot be read.")]
    Unreadable,
    #[error("Ask this proxy for http:// addresses, or to CONNECT to a host and a port.")]
    NoProxyRequest,
}

/// A request as far as the proxy reads it.
#[derive(Debug)]
pub(super) struct Head {
    pub target: Target,
    /// Whether it is a tunnel that is asked for.
    pub tunnels: bool,
    /// What the server gets first.
    pub onward: Vec<u8>,
    credentials: Option<Vec<u8>>,
}

impl Head {
    /// Nothing as long as its end has not come.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, Wrong> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut request = Request::new(&mut headers);
        let length = match request.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(_) => return Err(Wrong::Unreadable),
        };
        let rest = bytes.get(length..).unwrap_or_default();
        let (method, address) = request.method.zip(request.path).ok_or(Wrong::Unreadable)?;
        let credentials = request.headers.iter().find(|it| is(it, "proxy-authorization"));
        let credentials = credentials.map(|it| it.value.to_vec());
        if method == "CONNECT" {
            let target = authority(address).ok_or(Wrong::NoProxyRequest)?;
            let onward = rest.to_vec();
            return Ok(Some(Self { target, tunnels: true, onward, credentials }));
        }
        let url = Url::parse(address).ok().filter(|url| url.scheme() == "http");
        let url = url.ok_or(Wrong::NoProxyRequest)?;
        let host = url.host().ok_or(Wrong::NoProxyRequest)?.to_owned();
        let target = Target { host, port: url.port_or_known_default().unwrap_or(80) };
        let mut onward = rewritten(method, &url, request.headers);
        onward.extend(rest);
        Ok(Some(Self { target, tunnels: false, onward, credentials }))
    }

    /// Whether it shows a password.
    pub fn shows(&self, password: &Secret) -> bool {
        let expected = BASE64_STANDARD.encode(format!("{LOGIN}:{}", password.expose()));
        let shown = self.credentials.as_deref().unwrap_or_default();
        let shown = shown.strip_prefix(b"Basic ").or(shown.strip_prefix(b"basic "));
        shown.is_some_and(|shown| shown.trim_ascii().ct_eq(expected.as_bytes()).into())
    }
}

/// `host:port`, where the port must be there.
fn authority(text: &str) -> Option<Target> {
    let (host, port) = text.rsplit_once(':')?;
    let (host, port) = (Host::parse(host).ok()?, port.parse().ok().filter(|port| *port != 0)?);
    Some(Target { host, port })
}

/// The request as its server expects it. One connection carries one request, so that no second
/// one, which may be for another host, follows on it unseen.
fn rewritten(method: &str, url: &Url, headers: &[Header<'_>]) -> Vec<u8> {
    const NOT_ONWARD: [&str; 8] = [
        "connection",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "host",
    ];
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::BeforePath];
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
    for header in headers.iter().filter(|it| !NOT_ONWARD.iter().any(|name| is(it, name))) {
        head.extend(header.name.as_bytes());
        head.extend(b": ");
        head.extend(header.value);
        head.extend(b"\r\n");
    }
    head.extend(b"Connection: close\r\n\r\n");
    head
}

fn is(header: &Header<'_>, name: &str) -> bool {
    header.name.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<String, Wrong> {
        Ok(Head::parse(text.as_bytes())?.ok_or(Wrong::Gone)?.target.to_string())
    }

    #[test]
    fn a_tunnel_and_an_address_name_their_host() {
        for (request, host) in [
            ("CONNECT Index.Crates.io:443 HTTP/1.1\r\n\r\n", "index.crates.io"),
            ("CONNECT github.com:22 HTTP/1.1\r\n\r\n", "github.com:22"),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "::1"),
            ("CONNECT [::1]:8080 HTTP/1.1\r\n\r\n", "[::1]:8080"),
            // Every way to write an address is that address.
            ("CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n", "127.0.0.1"),
            ("GET http://2130706433/ HTTP/1.1\r\n\r\n", "127.0.0.1"),
            ("GET http://deb.debian.org./x HTTP/1.1\r\n\r\n", "deb.debian.org"),
            ("GET http://user@a.org:81/x HTTP/1.1\r\n\r\n", "a.org:81"),
        ] {
            assert_eq!(target(request).as_deref(), Ok(host), "{request}");
        }
    }

    #[test]
    fn what_is_no_request_to_a_proxy_is_refused() {
        for request in [
            "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.org/ HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "CONNECT a.org:0 HTTP/1.1\r\n\r\n",
            "CONNECT a.org:70000 HTTP/1.1\r\n\r\n",
            "CONNECT a/b:443 HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(target(request), Err(Wrong::NoProxyRequest), "{request}");
        }
        assert_eq!(target("\0\0\r\n\r\n"), Err(Wrong::Unreadable));
        assert_eq!(target("CONNECT a.org:443 HTTP/1.1\r\nA: b"), Err(Wrong::Gone), "not all of it");
    }

    #[test]
    fn a_request_goes_on_as_its_server_expects_it_and_alone() {
        let request = "POST http://a.org:8080/x?y#z HTTP/1.1\r\nHost: other.org\r\nA: b\r\n\
            Proxy-Authorization: Basic eA==\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
        let head = Head::parse(request.as_bytes()).unwrap().unwrap();
        let onward = String::from_utf8(head.onward).unwrap();
        assert_eq!(
            onward,
            "POST /x?y HTTP/1.1\r\nHost: a.org:8080\r\nA: b\r\nContent-Length: 2\r\n\
             Connection: close\r\n\r\nhi"
        );
        assert!(!head.tunnels);
    }

    #[test]
    fn only_the_right_password_opens() {
        let head = |value: &str| {
            let text =
                format!("CONNECT a.org:443 HTTP/1.1\r\nProxy-Authorization: {value}\r\n\r\n");
            Head::parse(text.as_bytes()).unwrap().unwrap()
        };
        let password = Secret::new("open sesame".to_owned());
        let right = BASE64_STANDARD.encode("forge:open sesame");
        assert!(head(&format!("Basic {right}")).shows(&password));
        for wrong in ["", "Basic ", "Basic eA==", &right, &format!("Bearer {right}")] {
            assert!(!head(wrong).shows(&password), "{wrong}");
        }
    }
}
