//! Keeps what others cause to be asked out of the server's own network: requests for members'
//! providers, and what commands of agents reach through their proxy.
//!
//! Looking at the address that somebody entered is not enough: a name may lead anywhere, and
//! elsewhere the next time (DNS rebinding). So names are resolved here, every address that comes of
//! it is looked at, and those very addresses are connected to. The client of members' providers has
//! no proxy, which would resolve names once more, and follows no redirect.

use std::{
    collections::HashSet,
    error::Error,
    fmt, io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::domain::reach::{host_name, is_public, parse_host};

/// Finds the addresses of a name.
pub trait Names: Send + Sync + fmt::Debug {
    /// All of them, as they are at this moment.
    fn find(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemNames;

impl Names for SystemNames {
    fn find(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((name, 0)).await?.map(|it| it.ip()).collect())
        })
    }
}

/// Where requests that are not the operator's own may lead.
#[derive(Clone, Debug)]
pub struct Hosts {
    allowed: Arc<HashSet<String>>,
    names: Arc<dyn Names>,
}

impl Hosts {
    /// The public Internet, and these hosts wherever they are.
    pub fn new<'a>(allowed: impl IntoIterator<Item = &'a str>, names: Arc<dyn Names>) -> Self {
        let read = |host| parse_host(host).unwrap_or_else(|_| host_name(host));
        Self { allowed: Arc::new(allowed.into_iter().map(read).collect()), names }
    }

    /// The same, with other hosts that are allowed.
    #[must_use]
    pub(super) fn allowing<'a>(&self, allowed: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(allowed, self.names.clone())
    }

    /// Looks at an address that names a number, which no name is resolved for.
    pub(super) fn check(&self, url: &Url) -> Result<(), OwnNetwork> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        let host = address.to_string();
        if self.allowed.contains(&host) || may_be_reached(address) {
            return Ok(());
        }
        Err(OwnNetwork { host })
    }
}

impl Hosts {
    /// The addresses of a host, if all of them may be connected to.
    pub(super) async fn find(&self, host: &Host<String>) -> Result<Vec<IpAddr>, NotFound> {
        let (name, found) = match host {
            Host::Ipv4(address) => (address.to_string(), vec![IpAddr::V4(*address)]),
            Host::Ipv6(address) => (address.to_string(), vec![IpAddr::V6(*address)]),
            Host::Domain(name) => (host_name(name), self.names.find(name.clone()).await?),
        };
        if found.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        if !self.allowed.contains(&name) && !found.iter().all(|it| may_be_reached(*it)) {
            return Err(OwnNetwork { host: name }.into());
        }
        Ok(found)
    }
}

/// Why there is no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotFound {
    #[error(transparent)]
    Own(#[from] OwnNetwork),
    #[error(transparent)]
    Unknown(#[from] io::Error),
}

impl Default for Hosts {
    fn default() -> Self {
        Self::new([], Arc::new(SystemNames))
    }
}

impl Resolve for Hosts {
    fn resolve(&self, name: Name) -> Resolving {
        let hosts = self.clone();
        Box::pin(async move {
            let host = host_name(name.as_str());
            let found = hosts.names.find(name.as_str().to_owned()).await?;
            // One address that is not public is one too many: the next try would go there.
            if !hosts.allowed.contains(&host) && !found.iter().all(|it| may_be_reached(*it)) {
                return Err(OwnNetwork { host }.into());
            }
            Ok(Box::new(found.into_iter().map(|it| SocketAddr::new(it, 0))) as Addrs)
        })
    }
}

/// An address is not public, and its host not allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} is in the server's own network")]
pub(super) struct OwnNetwork {
    pub host: String,
}

impl OwnNetwork {
    /// The one that caused an error.
    pub fn behind<'a>(err: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(err);
        while let Some(err) = next {
            if let Some(own) = err.downcast_ref() {
                return Some(own);
            }
            next = err.source();
        }
        None
    }
}

/// Whether an address is public, and not this machine's all the same.
fn may_be_reached(address: IpAddr) -> bool {
    // An address can be bound to where it is one of the machine's own, and nowhere else.
    is_public(address) && UdpSocket::bind((address, 0)).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_looked_at_however_they_are_written() {
        let hosts = Hosts::new(["10.0.0.7", "[fd00::7]"], Arc::new(SystemNames));
        for own in [
            "http://127.0.0.1:11434",
            "http://127.1/v1",
            "http://2130706433",
            "http://0x7f.0.0.1",
            "http://0177.0.0.1",
            "http://[::1]:80",
            "http://[::ffff:10.0.0.7]",
            "http://169.254.169.254/latest",
            "http://10.0.0.8",
            "http://0/",
        ] {
            assert!(hosts.check(&Url::parse(own).unwrap()).is_err(), "{own}");
        }
        for reached in
            ["http://10.0.0.7:8080", "http://[fd00::7]/v1", "https://1.1.1.1", "http://x"]
        {
            assert_eq!(hosts.check(&Url::parse(reached).unwrap()), Ok(()), "{reached}");
        }
    }

    #[test]
    fn nobody_can_bind_to_another_machines_address() {
        assert!(may_be_reached("1.1.1.1".parse().unwrap()));
        assert!(!may_be_reached("127.0.0.1".parse().unwrap()));
    }
}
