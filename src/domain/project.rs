//! Which folders may become projects, and from where repositories may be cloned.

use std::path::{Component, Path, PathBuf};

use url::Url;

use super::name::{Name, NameError};

/// The files in which repositories keep what agents should know, in the order in which they count.
pub const INSTRUCTIONS: [&str; 5] =
    ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md"];

/// Why something does not become a project. Written for the person who asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("Keep the name on one line, without control characters.")]
    NameCharacters,
    #[error("Give the whole path of the folder, from / on.")]
    Relative,
    #[error("There is no folder at this path.")]
    NoFolder,
    #[error("Its path has characters that are not UTF-8. Rename the folder first.")]
    NotUtf8,
    #[error(
        "No folder of the server may become a project, because the operator has named none. \
         Ask the operator to set projects.roots, or clone a repository."
    )]
    NoRoots,
    #[error("This folder is not below {0}. Only folders there may become projects.")]
    Outside(String),
    #[error("A symbolic link in this path leads to a folder that is not below {0}.")]
    LeadsOutside(String),
    #[error("This folder holds projects. Choose one of the folders in it.")]
    Root,
    #[error("Forge keeps its own data in this folder, so it cannot be a project.")]
    Data,
    #[error("This folder is inside the one in which Forge keeps its own data.")]
    InsideData,
    #[error("Forge keeps its own data inside this folder, so it cannot be a project.")]
    AroundData,
    #[error("Cloned projects are kept inside this folder, so it cannot be a project itself.")]
    AroundWorkspaces,
    #[error("This folder is a project already.")]
    Taken,
    #[error("This folder is inside another project. Projects cannot lie in one another.")]
    InsideProject,
    #[error("Another project is inside this folder. Projects cannot lie in one another.")]
    AroundProject,
    #[error(transparent)]
    Url(#[from] UrlError),
}

/// Why a repository cannot be cloned from an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("Give the address of a repository.")]
    Empty,
    #[error("The address of the repository is too long.")]
    TooLong,
    #[error(
        "Give an address that begins with https://, http://, ssh:// or git://, or one like \
         git@example.org:team/repository.git."
    )]
    Kind,
    #[error("The address of the repository has no name of a server, or one that cannot be used.")]
    Host,
    #[error("The address of the repository has no path after the server's name.")]
    Path,
    #[error("The address of the repository has characters that cannot stand in one.")]
    Characters,
    #[error(
        "Leave user name, password and token out of the address. They would be kept in the \
         repository's configuration, where agents can read them."
    )]
    Credentials,
}

/// The folders on the server that matter to a new project. All of them are canonical.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Below which existing folders may become projects.
    pub roots: Vec<PathBuf>,
    pub data: PathBuf,
    pub workspaces: PathBuf,
    /// The folders of everybody's projects.
    pub projects: Vec<PathBuf>,
}

impl Places {
    /// Refuses an existing folder that may not become a project, or be cloned from.
    ///
    /// `asked` is what the person wrote, `real` where that leads once symbolic links are followed.
    pub fn judge(&self, asked: &Path, real: &Path) -> Result<(), Refusal> {
        self.below_a_root(asked, real)?;
        self.judge_own(real)
    }

    /// Refuses a folder that is not below a root; a root itself is not below itself.
    pub fn below_a_root(&self, asked: &Path, real: &Path) -> Result<(), Refusal> {
        if self.roots.is_empty() {
            return Err(Refusal::NoRoots);
        }
        if self.roots.iter().any(|root| root == real) {
            return Err(Refusal::Root);
        }
        if self.roots.iter().any(|root| real.starts_with(root)) {
            return Ok(());
        }
        let plain = !asked.components().any(|part| part == Component::ParentDir);
        if plain && self.roots.iter().any(|root| asked.starts_with(root)) {
            return Err(Refusal::LeadsOutside(self.roots_in_words()));
        }
        Err(Refusal::Outside(self.roots_in_words()))
    }

    /// Refuses a folder that would lie in, on or around what is there already. This holds for
    /// folders that Forge makes, too.
    pub fn judge_own(&self, real: &Path) -> Result<(), Refusal> {
        if real == self.data {
            return Err(Refusal::Data);
        }
        if real.starts_with(&self.data) {
            return Err(Refusal::InsideData);
        }
        if self.data.starts_with(real) {
            return Err(Refusal::AroundData);
        }
        if self.workspaces.starts_with(real) {
            return Err(Refusal::AroundWorkspaces);
        }
        for project in &self.projects {
            if real == project {
                return Err(Refusal::Taken);
            }
            if real.starts_with(project) {
                return Err(Refusal::InsideProject);
            }
            if project.starts_with(real) {
                return Err(Refusal::AroundProject);
            }
        }
        Ok(())
    }

    fn roots_in_words(&self) -> String {
        let roots: Vec<_> = self.roots.iter().map(|root| root.display().to_string()).collect();
        roots.join(" or ")
    }
}

/// What a project may be called: a name on one line.
pub fn name(text: &str) -> Result<Name, Refusal> {
    if text.trim().chars().any(char::is_control) {
        return Err(Refusal::NameCharacters);
    }
    Ok(Name::parse(text)?)
}

/// What a project is called when nobody said: as the last part of its path or address.
pub fn suggested_name(path_or_url: &str) -> String {
    let path = path_or_url.trim_end_matches('/');
    let last = path.rsplit(['/', ':']).next().unwrap_or(path);
    let last = last.strip_suffix(".git").filter(|rest| !rest.is_empty()).unwrap_or(last);
    let clean = last.chars().filter(|c| !c.is_control()).take(Name::MAX).collect::<String>();
    let clean = clean.trim();
    if clean.is_empty() { "project".to_owned() } else { clean.to_owned() }
}

/// From where a repository is cloned: an address that git can be given without danger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloneUrl {
    /// Somewhere on a network.
    Remote(String),
    /// A repository on this server, which must be judged like any other folder.
    Folder(PathBuf),
}

const URL_MAX: usize = 2_000;

impl CloneUrl {
    /// Reads what a person wrote.
    ///
    /// Git runs programs for some addresses (`ext::sh -c …`) and takes others for options
    /// (`--upload-pack=…`), so only kinds that are known to do neither are let through.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(UrlError::Empty);
        }
        if text.len() > URL_MAX {
            return Err(UrlError::TooLong);
        }
        if text.starts_with('-') {
            return Err(UrlError::Kind);
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(UrlError::Characters);
        }
        let Some((scheme, _)) = text.split_once("://") else { return scp_like(text) };
        let url = Url::parse(text).map_err(|_| match scheme {
            "http" | "https" | "ssh" | "git" => UrlError::Host,
            _ => UrlError::Kind,
        })?;
        match url.scheme() {
            "file" => return file(&url),
            "https" | "http" | "git" if !url.username().is_empty() || url.password().is_some() => {
                return Err(UrlError::Credentials);
            }
            "ssh" if url.password().is_some() => return Err(UrlError::Credentials),
            "ssh" if !url.username().is_empty() && !plain_word(url.username()) => {
                return Err(UrlError::Host);
            }
            "https" | "http" | "git" | "ssh" => {}
            _ => return Err(UrlError::Kind),
        }
        let host = url.host_str().unwrap_or_default();
        if !plain_word(host.trim_start_matches('[').trim_end_matches(']')) {
            return Err(UrlError::Host);
        }
        if url.path().trim_matches('/').is_empty() || url.path().starts_with("/-") {
            return Err(UrlError::Path);
        }
        Ok(Self::Remote(text.to_owned()))
    }
}

/// `file:///like/this`, on this server alone.
fn file(url: &Url) -> Result<CloneUrl, UrlError> {
    if url.query().is_some() || url.fragment().is_some() {
        return Err(UrlError::Characters);
    }
    let path = url.to_file_path().map_err(|()| UrlError::Host)?;
    if path.to_str().is_none_or(|path| path.contains('\0')) {
        return Err(UrlError::Characters);
    }
    Ok(CloneUrl::Folder(path))
}

/// `user@host:path`, the short form of ssh.
fn scp_like(text: &str) -> Result<CloneUrl, UrlError> {
    let (user, rest) = text.split_once('@').ok_or(UrlError::Kind)?;
    let (host, path) = rest.split_once(':').ok_or(UrlError::Kind)?;
    if user.contains(':') {
        return Err(if user.contains("::") { UrlError::Kind } else { UrlError::Credentials });
    }
    if !plain_word(user) || !plain_word(host) {
        return Err(UrlError::Host);
    }
    if path.starts_with([':', '-']) {
        return Err(UrlError::Kind);
    }
    if path.trim_matches('/').is_empty() {
        return Err(UrlError::Path);
    }
    Ok(CloneUrl::Remote(text.to_owned()))
}

/// A name of a person or a server that no program takes for an option.
fn plain_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            roots: vec!["/srv/code".into(), "/srv/more".into()],
            data: "/srv/code/forge/data".into(),
            workspaces: "/srv/code/forge/workspaces".into(),
            projects: vec!["/srv/code/atlas".into()],
        }
    }

    fn judge(path: &str) -> Result<(), Refusal> {
        places().judge(Path::new(path), Path::new(path))
    }

    #[test]
    fn a_folder_below_a_root_is_let_through() {
        assert_eq!(judge("/srv/code/birch"), Ok(()));
        assert_eq!(judge("/srv/more/deep/below"), Ok(()));
    }

    #[test]
    fn a_root_is_not_below_itself() {
        assert_eq!(judge("/srv/more"), Err(Refusal::Root));
    }

    #[test]
    fn a_folder_elsewhere_is_refused_even_if_its_name_begins_alike() {
        for path in ["/etc", "/srv", "/srv/code-other/x"] {
            assert!(matches!(judge(path), Err(Refusal::Outside(_))), "{path}");
        }
    }

    #[test]
    fn a_link_that_leaves_is_named_as_one() {
        let judged = places().judge(Path::new("/srv/code/link"), Path::new("/etc"));
        assert!(matches!(judged, Err(Refusal::LeadsOutside(_))));
        let judged = places().judge(Path::new("/srv/code/../../etc"), Path::new("/etc"));
        assert!(matches!(judged, Err(Refusal::Outside(_))));
    }

    #[test]
    fn the_data_folder_is_refused_from_all_sides() {
        assert_eq!(judge("/srv/code/forge/data"), Err(Refusal::Data));
        assert_eq!(judge("/srv/code/forge/data/blobs"), Err(Refusal::InsideData));
        assert_eq!(judge("/srv/code/forge"), Err(Refusal::AroundData));
    }

    #[test]
    fn projects_never_lie_in_one_another() {
        assert_eq!(judge("/srv/code/atlas"), Err(Refusal::Taken));
        assert_eq!(judge("/srv/code/atlas/sub"), Err(Refusal::InsideProject));
        let mut places = places();
        places.projects = vec!["/srv/more/a/b".into()];
        let path = Path::new("/srv/more/a");
        assert_eq!(places.judge(path, path), Err(Refusal::AroundProject));
        let path = Path::new("/srv/more/a/b2");
        assert_eq!(places.judge(path, path), Ok(()));
    }

    #[test]
    fn without_roots_no_folder_is_let_through() {
        let places = Places { data: "/data".into(), ..Places::default() };
        let path = Path::new("/srv/x");
        assert_eq!(places.judge(path, path), Err(Refusal::NoRoots));
    }

    #[test]
    fn addresses_of_known_kinds_are_let_through() {
        for url in [
            "https://git.example.org/team/x.git",
            "http://127.0.0.1:8080/x",
            "ssh://git@example.org:2222/team/x.git",
            "ssh://example.org/~ada/x",
            "git://example.org/x.git",
            "git@example.org:team/x.git",
            "  https://example.org/x  ",
            "https://[::1]/x",
        ] {
            assert_eq!(CloneUrl::parse(url), Ok(CloneUrl::Remote(url.trim().into())), "{url}");
        }
        let folder = CloneUrl::parse("file:///srv/code/a%20b");
        assert_eq!(folder, Ok(CloneUrl::Folder("/srv/code/a b".into())));
    }

    #[test]
    fn addresses_that_make_git_run_something_are_refused() {
        for url in [
            "ext::sh -c touch% /tmp/x",
            "ext::sh",
            "a@ext::sh",
            "ext::a@b:c",
            "--upload-pack=touch",
            "-u",
            "ssh://-oProxyCommand=x/y",
            "ssh://-oProxyCommand=x@host/y",
            "git@-oProxyCommand=x:y",
            "-oProxyCommand@host:y",
            "fd::17/x",
            "javascript://x",
            "/srv/code/x",
            "../x",
            "file://host/x",
            "",
            "https://",
            "https:///",
            "https://example.org",
            "https://example.org/a b",
            "https://example.org/a\nb",
            "git@example.org:",
            "git@example.org:-x",
        ] {
            assert!(CloneUrl::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused() {
        for url in [
            "https://ada:pw@example.org/x",
            "https://token@example.org/x",
            "ssh://a:b@example.org/x",
        ] {
            assert_eq!(CloneUrl::parse(url), Err(UrlError::Credentials), "{url}");
        }
    }

    #[test]
    fn a_project_is_called_as_its_folder_when_nobody_says() {
        assert_eq!(suggested_name("https://example.org/team/billing.git"), "billing");
        assert_eq!(suggested_name("git@example.org:billing.git"), "billing");
        assert_eq!(suggested_name("/srv/code/atlas/"), "atlas");
        assert_eq!(suggested_name("/"), "project");
    }

    #[test]
    fn a_name_stays_on_one_line() {
        assert!(name("  公共 \"x\" ").is_ok());
        assert_eq!(name("a\nb"), Err(Refusal::NameCharacters));
        assert_eq!(name(" "), Err(Refusal::Name(NameError::Empty)));
    }
}
