//! How far a request may go: whose provider it is for decides.
//!
//! A member may enter any address, and the server stands where the member does not: beside its own
//! database, behind its firewall, next to the metadata service of its cloud. So a member's provider
//! is asked on the public Internet only, but for the hosts that administrators
//! allow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// How far requests for a provider may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// To every address: an administrator has entered it.
    Anywhere,
    /// To the public Internet, and to hosts that administrators allow.
    #[default]
    Public,
}

/// Whether an address is one of the public Internet, as far as the address itself tells.
///
/// What is not known to be public is not: of IPv6 only the block that is given out at all. Blocks
/// that carry an IPv4 address within are as public as that address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        // This network, private ones, and loopback.
        (0 | 10 | 127, _, _) | (172, 16..=31, _) | (192, 168, _)
        // Of carriers, link-local with the metadata services of clouds, and benchmarks.
        | (100, 64..=127, _) | (169, 254, _) | (198, 18..=19, _)
        // Protocol assignments, examples, and the old relays of 6to4.
        | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99)
        // Multicast, reserved, and broadcast.
        | (224..=255, _, _)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let pieces = address.segments();
    let v4_in = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match pieces {
        // IPv4 in IPv6, and by way of NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4_in(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4_in(high, low),
        // 6to4.
        [0x2002, high, low, ..] => v4_in(high, low),
        // Teredo, benchmarks and other protocols; examples.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// A host as it is compared: lower case, without the brackets of IPv6 and the dot at the end.
pub fn host_name(host: &str) -> String {
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// No host, or more than a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no host. Give names or addresses of hosts, without http:// and without a port, such as \
     llm.internal or 10.0.0.7."
)]
pub struct WrongHost(pub String);

/// Reads the name or the address of a host as somebody enters it, into how it is compared.
pub fn parse_host(entered: &str) -> Result<String, WrongHost> {
    let host = host_name(entered);
    let wrong = || WrongHost(entered.trim().chars().take(100).collect());
    // A star would be a name like any other, and allow nothing.
    if host.len() > 253 || host.contains('*') {
        return Err(wrong());
    }
    // An address of IPv6 is a host with brackets around it.
    let parsed = Host::parse(&host).or_else(|_| Host::parse(&format!("[{host}]")));
    parsed.map(|host| host_name(&host.to_string())).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_own_network_is_not_public_however_it_is_written() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "198.18.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_internet_is_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450:4001::1",
            "2002:101:101::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_host_is_the_same_with_its_brackets_and_dots() {
        assert_eq!(host_name("[::1]"), "::1");
        assert_eq!(host_name("LLM.Internal."), "llm.internal");
    }

    #[test]
    fn a_host_is_read_as_it_is_compared() {
        for (entered, host) in [
            (" LLM.Internal. ", "llm.internal"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("0x7f.1", "127.0.0.1"),
            ("[FD00:0::7]", "fd00::7"),
            ("fd00::7", "fd00::7"),
        ] {
            assert_eq!(parse_host(entered).as_deref(), Ok(host));
        }
        let long = format!("{}.example", "x".repeat(260));
        for wrong in ["", " ", "http://a", "a:80", "10.0.0.0/8", "a b", "*.internal", &long] {
            let err = parse_host(wrong).unwrap_err();
            assert!(err.0.chars().count() <= 100, "{err}");
        }
    }
}
