//! The way that a clone takes, so that nobody gets at the server's own network by one.
//!
//! Git resolves a name by itself, and a server may send it on to elsewhere. So what is cloned over
//! HTTP goes through a proxy that looks at each address. There is none for ssh and git's own
//! protocol: their host is looked up here, once, and git is led to the address that was found.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::time::timeout;
use url::{Host, Url};

use super::{GitError, address::Address};
use crate::adapters::{
    proxy::{Proxy, Refusal, Target},
    reach::{Hosts, NotFound},
    sandbox::Network,
};

/// How long the address of a name may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How ssh is started. Nothing is asked, and no key of a host is known beforehand.
const SSH: &str = "ssh -oBatchMode=yes -oStrictHostKeyChecking=accept-new \
                   -oUserKnownHostsFile=/dev/null";

/// How git gets to a repository. Without anything: nowhere but on this server.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// Options before git's command.
    pub options: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// What all that git asks for goes through.
    pub proxy: Option<Proxy>,
    /// Whether git connects by itself, to an address that was looked at.
    direct: bool,
}

impl Route {
    /// Looks at where a repository is. What is refused at once is said here.
    pub async fn to(address: &Address, hosts: &Hosts) -> Result<Self, GitError> {
        let Address::Remote(text) = address else { return Ok(Self::default()) };
        match Remote::parse(text)? {
            Remote::Web => Ok(Self::through_a_proxy(hosts)),
            Remote::Ssh(host) => Ok(Self::by_ssh(find(&host, hosts).await?)),
            Remote::Git { host, port, authority } => {
                Ok(Self::by_git(find(&host, hosts).await?, &host, port, &authority))
            }
        }
    }

    pub fn network(&self) -> Network {
        match (&self.proxy, self.direct) {
            (Some(_), _) => Network::Door,
            (None, true) => Network::On,
            (None, false) => Network::Off,
        }
    }

    /// Says in plain words what git could not know.
    pub fn explain(&self, error: GitError) -> GitError {
        let (GitError::Failed(_), Some(proxy)) = (&error, &self.proxy) else { return error };
        let visits = proxy.traffic().visits();
        let mut refused = visits.iter().filter_map(|it| Some((&it.target, it.refused.as_ref()?)));
        match refused.next() {
            Some((target, Refusal::OwnNetwork)) => own_network(&target.host),
            Some((target, Refusal::Unknown)) => unknown(&target.host),
            Some((target, Refusal::Unreachable)) => {
                GitError::Failed(format!("nobody answers at {}:{}.", target.host, target.port))
            }
            _ => error,
        }
    }

    fn through_a_proxy(hosts: &Hosts) -> Self {
        let everything = |_: &Target| Ok(());
        let proxy = Proxy::new(hosts.clone(), Arc::new(everything));
        let environment = variables(&[
            ("GIT_ALLOW_PROTOCOL", "https:http"),
            // Not even this machine is reached past it.
            ("NO_PROXY", ""),
            ("no_proxy", ""),
            ("GIT_HTTP_PROXY_AUTHMETHOD", "basic"),
        ]);
        Self { environment, proxy: Some(proxy), ..Self::default() }
    }

    fn by_ssh(address: IpAddr) -> Self {
        let ssh = format!("{SSH} -oHostName={address}");
        let environment = [("GIT_ALLOW_PROTOCOL", "ssh"), ("GIT_SSH_COMMAND", &ssh)];
        Self { environment: variables(&environment), direct: true, ..Self::default() }
    }

    fn by_git(address: IpAddr, host: &Host<String>, port: Option<u16>, authority: &str) -> Self {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let address = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        // The repository keeps the address as it was written.
        let instead = format!("url.git://{address}{port}/.insteadOf=git://{authority}/");
        let named = format!("{host}{port}");
        let environment = [("GIT_ALLOW_PROTOCOL", "git"), ("GIT_OVERRIDE_VIRTUAL_HOST", &named)];
        Self {
            options: vec!["-c".into(), instead],
            environment: variables(&environment),
            direct: true,
            ..Self::default()
        }
    }
}

/// Somewhere on a network.
#[derive(Debug, PartialEq, Eq)]
enum Remote {
    /// http and https, of which the proxy sees the host.
    Web,
    Ssh(Host<String>),
    Git {
        host: Host<String>,
        port: Option<u16>,
        /// As it is written.
        authority: String,
    },
}

impl Remote {
    fn parse(text: &str) -> Result<Self, GitError> {
        let wrong = || GitError::Refused("The address names no host.".into());
        let Some((scheme, rest)) = text.split_once("://") else {
            let (host, _) = text.split_once(':').ok_or_else(wrong)?;
            let host = host.rsplit('@').next().unwrap_or_default();
            return Ok(Self::Ssh(Host::Domain(host.to_owned())));
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let host = url.host().ok_or_else(wrong)?.to_owned();
        match scheme {
            "https" | "http" => Ok(Self::Web),
            "ssh" => Ok(Self::Ssh(host)),
            "git" => {
                // Git has no folder to serve where there is no path.
                let (authority, _) = rest.split_once('/').ok_or_else(wrong)?;
                Ok(Self::Git { host, port: url.port(), authority: authority.to_owned() })
            }
            _ => Err(wrong()),
        }
    }
}

/// The address that a host has, if it may be connected to.
async fn find(host: &Host<String>, hosts: &Hosts) -> Result<IpAddr, GitError> {
    match timeout(PATIENCE, hosts.find(host)).await {
        Ok(Ok(found)) => found.first().copied().ok_or_else(|| unknown(host)),
        Ok(Err(NotFound::Own(_))) => Err(own_network(host)),
        Ok(Err(NotFound::Unknown(_))) | Err(_) => Err(unknown(host)),
    }
}

fn own_network(host: &Host<String>) -> GitError {
    GitError::Refused(format!(
        "{host} lies in the server's own network, from which nothing is cloned. The operator can \
         allow that host with sandbox.private_hosts."
    ))
}

fn unknown(host: &Host<String>) -> GitError {
    GitError::Refused(format!(
        "The server finds no address for {host}. See whether its name is written correctly."
    ))
}

fn variables(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host<String> {
        match text.parse() {
            Ok(IpAddr::V4(address)) => Host::Ipv4(address),
            Ok(IpAddr::V6(address)) => Host::Ipv6(address),
            Err(_) => Host::Domain(text.to_owned()),
        }
    }

    #[test]
    fn the_host_is_the_one_that_git_would_go_to() {
        for (text, expected) in [
            ("ssh://git@a.example:22/x", "a.example"),
            ("ssh://[::1]/x", "::1"),
            ("ssh://127.1/x", "127.1"),
            ("git@a.example:x/y", "a.example"),
            ("a@b@c.example:x", "c.example"),
        ] {
            assert_eq!(Remote::parse(text).unwrap(), Remote::Ssh(host(expected)), "{text}");
        }
        let git = Remote::parse("git://a.example:77/x/y").unwrap();
        let authority = "a.example:77".to_owned();
        assert_eq!(git, Remote::Git { host: host("a.example"), port: Some(77), authority });
        assert_eq!(Remote::parse("https://a.example/x").unwrap(), Remote::Web);
        assert!(Remote::parse("git://a.example").is_err());
        assert!(Remote::parse("ssh:///x").is_err());
    }

    #[test]
    fn git_is_led_to_the_address_that_was_looked_at() {
        let found = "1.2.3.4".parse().unwrap();
        let ssh = Route::by_ssh(found);
        assert!(ssh.environment.iter().any(|(_, value)| value.ends_with(" -oHostName=1.2.3.4")));
        let git = Route::by_git(found, &host("a.example"), Some(77), "a.example:77");
        let instead = "url.git://1.2.3.4:77/.insteadOf=git://a.example:77/";
        assert_eq!(git.options, ["-c", instead]);
        assert_eq!((ssh.network(), git.network()), (Network::On, Network::On));
        assert_eq!(Route::default().network(), Network::Off);
    }
}
