//! Who asks and under which name, where a proxy may stand between.
//!
//! Anybody can send `X-Forwarded-*` headers, so they count only from configured proxies.

use std::net::{IpAddr, Ipv6Addr};

use actix_web::{HttpRequest, http::header, web::Data};

use crate::app::App;

/// The visitor's address: the nearest one that is not a trusted proxy's.
pub fn address(request: &HttpRequest) -> Option<IpAddr> {
    let peer = peer(request)?;
    if !is_trusted(request, peer) {
        return Some(peer);
    }
    let headers = request.headers().get_all("x-forwarded-for");
    let listed: Vec<_> = headers.filter_map(|value| value.to_str().ok()).collect();
    // Each proxy adds whom it saw at the end, so only the end can be believed.
    for address in listed.join(",").rsplit(',') {
        match address.trim().parse::<IpAddr>() {
            Ok(address) if is_trusted(request, address) => {}
            Ok(address) => return Some(address.to_canonical()),
            Err(_) => break,
        }
    }
    Some(peer)
}

/// What of an address counts as one visitor: networks hand out IPv6 by the 2^64.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

/// The name, with its port if any, under which the site was asked for.
pub fn host(request: &HttpRequest) -> &str {
    let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let forwarded = match peer(request) {
        Some(peer) if is_trusted(request, peer) => text("x-forwarded-host"),
        _ => None,
    };
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let host = forwarded.or(authority).or_else(|| text(header::HOST.as_str()));
    host.unwrap_or_default().split(',').next().unwrap_or_default().trim()
}

fn peer(request: &HttpRequest) -> Option<IpAddr> {
    Some(request.peer_addr()?.ip().to_canonical())
}

fn is_trusted(request: &HttpRequest, address: IpAddr) -> bool {
    let app = request.app_data::<Data<App>>();
    app.is_some_and(|app| app.config.server.trusted_proxies.contains(&address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_visitor() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
    }
}
