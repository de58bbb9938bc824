//! Where a repository is cloned from, and which of such addresses are accepted.

use std::path::{Path, PathBuf};

use super::GitError;

/// An address that git may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// Reached over the network.
    Remote(String),
    /// A repository on this server, below one of the folders that were allowed.
    Local(PathBuf),
}

impl Address {
    /// Accepts https, http, ssh and git addresses, `user@host:path`, and paths and `file://` below
    /// one of `roots`. Everything else is refused: git knows addresses that run programs, and
    /// options that look like addresses.
    pub(super) fn parse(text: &str, roots: &[PathBuf]) -> Result<Self, GitError> {
        let text = text.trim();
        if text.is_empty() {
            return refuse("Give the address of a repository.");
        }
        if text.starts_with('-') || text.chars().any(|it| it.is_control() || it.is_whitespace()) {
            return refuse("This is not the address of a repository.");
        }
        if text.starts_with('/') {
            return local(Path::new(text), roots);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme {
                "file" => local(Path::new(rest), roots),
                "https" | "http" | "ssh" | "git" if has_host(rest) => {
                    Ok(Self::Remote(text.to_owned()))
                }
                "https" | "http" | "ssh" | "git" => refuse("The address names no host."),
                _ => refuse("Use an address that starts with https://, http://, ssh:// or git://."),
            };
        }
        // The short form of ssh: a host, a colon and a path, with no slash before the colon.
        match text.split_once(':') {
            Some((host, path))
                if has_host(host)
                    && !host.contains('/')
                    && !path.is_empty()
                    && !path.starts_with([':', '-']) =>
            {
                Ok(Self::Remote(text.to_owned()))
            }
            _ => refuse("This is not the address of a repository."),
        }
    }
}

fn refuse<T>(why: &str) -> Result<T, GitError> {
    Err(GitError::Refused(why.to_owned()))
}

/// Whether what follows the scheme starts with a host that no program could take for an option.
fn has_host(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    !authority.starts_with('-') && !host.is_empty() && !host.starts_with(['-', ':'])
}

fn local(path: &Path, roots: &[PathBuf]) -> Result<Address, GitError> {
    const OUTSIDE: &str = "Only repositories below the server's project folders can be cloned.";
    let Ok(real) = path.canonicalize() else { return refuse(OUTSIDE) };
    let allowed = roots.iter().filter_map(|root| root.canonicalize().ok());
    if allowed.into_iter().any(|root| real.starts_with(&root)) {
        Ok(Address::Local(real))
    } else {
        refuse(OUTSIDE)
    }
}

/// Hides the password of addresses in a text that people and models see.
pub(super) fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown += before;
        shown += "://";
        let end = after.find(['/', ' ', '\'', '"', '\n']).unwrap_or(after.len());
        let (authority, following) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown += "…@";
                shown += host;
            }
            None => shown += authority,
        }
        rest = following;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(text: &str) -> bool {
        Address::parse(text, &[]).is_err()
    }

    #[test]
    fn ordinary_addresses_are_accepted() {
        for text in [
            "https://git.example.org/team/atlas.git",
            "http://10.0.0.1:3000/a",
            "ssh://git@git.example.org:22/a.git",
            "git://git.example.org/a",
            "git@git.example.org:team/atlas.git",
            "https://name:word@git.example.org/a",
        ] {
            assert_eq!(Address::parse(text, &[]).unwrap(), Address::Remote(text.into()), "{text}");
        }
    }

    #[test]
    fn addresses_that_run_programs_are_refused() {
        for text in [
            "ext::sh -c touch% /tmp/x",
            "ext::sh",
            "fd::17",
            "transport::https://a/b",
            "ssh://-oProxyCommand=x/a",
            "ssh://user@-oProxyCommand=x/a",
            "-oProxyCommand=x:a",
            "host:-oProxyCommand=x",
        ] {
            assert!(is_refused(text), "{text}");
        }
    }

    #[test]
    fn options_and_odd_texts_are_refused() {
        for text in [
            "",
            "  ",
            "--upload-pack=touch /tmp/x",
            "-u",
            "https://",
            "https:///path",
            "ftp://host/a",
            "a\nb:c",
            "relative/path",
            "../up",
            "word",
            "https://host/a b",
        ] {
            assert!(is_refused(text), "{text}");
        }
    }

    #[test]
    fn a_path_is_accepted_only_below_an_allowed_folder() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        std::fs::create_dir_all(root.join("inside")).unwrap();
        std::fs::create_dir_all(home.path().join("outside")).unwrap();
        std::os::unix::fs::symlink(home.path().join("outside"), root.join("link")).unwrap();
        let roots = [root.clone()];
        let parse = |path: PathBuf| Address::parse(path.to_str().unwrap(), &roots);

        let real = root.join("inside").canonicalize().unwrap();
        assert_eq!(parse(root.join("inside")).unwrap(), Address::Local(real.clone()));
        let url = format!("file://{}", root.join("inside").display());
        assert_eq!(Address::parse(&url, &roots).unwrap(), Address::Local(real));
        assert!(parse(home.path().join("outside")).is_err());
        assert!(parse(root.join("../outside")).is_err());
        assert!(parse(root.join("link")).is_err());
        assert!(parse(root.join("missing")).is_err());
    }

    #[test]
    fn passwords_in_messages_are_hidden() {
        assert_eq!(
            without_passwords("unable to access 'https://me:word@host/a': and http://b/c"),
            "unable to access 'https://…@host/a': and http://b/c"
        );
        assert_eq!(without_passwords("nothing here"), "nothing here");
    }
}
