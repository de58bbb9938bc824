//! What the operator decides: `config/forge.toml`, overridden by `FORGE_*` variables.
//!
//! An unknown key or a bad value stops the start with a sentence that names it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use figment::{
    Figment,
    providers::{Env, Format as _, Toml},
};
use serde::Deserialize;
use url::{Host, Url};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub server: Server,
    pub data: Data,
    pub database: Database,
    pub secret: SecretKey,
    pub accounts: Accounts,
    pub projects: Projects,
    pub sandbox: Sandbox,
    pub agent: Agent,
    pub attachments: Attachments,
    pub providers: Providers,
    pub log: Log,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Where to listen. Port 0 takes any free one.
    pub bind: SocketAddr,
    /// How people reach it, with the path below which it lies, if any. Links are built from it.
    pub public_url: Option<Url>,
    /// Threads that answer requests.
    pub workers: usize,
    /// Addresses of proxies whose `X-Forwarded-*` headers are believed.
    pub trusted_proxies: Vec<std::net::IpAddr>,
    /// Seconds that running steps get to end when the server stops.
    pub shutdown_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Data {
    /// Where Forge keeps its database, blobs and secret.
    pub dir: PathBuf,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite:PATH` or `postgres://…`; unset: `forge.db` in the data folder.
    pub url: Option<String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretKey {
    /// 32 bytes in base64 or hexadecimal; unset: made once, in the data folder.
    pub key: Option<String>,
    /// The one before it, until `forge secret rotate` has finished.
    pub previous: Option<String>,
}

/// Says only whether there is one.
impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is = |it: &Option<String>| if it.is_some() { "set" } else { "unset" };
        write!(f, "SecretKey({}, previous {})", is(&self.key), is(&self.previous))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Accounts {
    /// Memory of argon2id in KiB.
    pub argon2_memory_kib: u32,
    /// Passes of argon2id over that memory.
    pub argon2_passes: u32,
    /// Passwords hashed at the same time.
    pub argon2_at_once: usize,
    /// Days after which a browser that does nothing is signed out.
    pub idle_days: i64,
    /// Days after which every browser is signed out.
    pub absolute_days: i64,
    /// `auto` sends the cookie over HTTPS only, except where the public URL is plain HTTP on loopback.
    pub secure_cookie: SecureCookie,
    /// Where the days of people begin who have chosen no time zone.
    pub time_zone: chrono_tz::Tz,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecureCookie {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Projects {
    /// Where cloned and empty projects go; unset: `workspaces` in the data folder's parent.
    pub workspaces: Option<PathBuf>,
    /// Folders below which existing folders may become projects.
    pub roots: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// Further folders that commands may read, such as toolchains.
    pub readable: Vec<PathBuf>,
    /// Folders that commands may write, such as caches of package managers.
    pub caches: Vec<PathBuf>,
    /// Folders that are searched for programs, before the system's own.
    pub path: Vec<PathBuf>,
    /// Hosts in the server's own network that commands may reach where a rule allows it, and that
    /// projects may be cloned from.
    pub private_hosts: Vec<String>,
    /// Where package managers keep what they have downloaded.
    pub package_caches: PackageCaches,
}

/// Folders that commands of all projects may write. One that is not set does not outlive a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PackageCaches {
    pub cargo: Option<PathBuf>,
    pub npm: Option<PathBuf>,
    pub pip: Option<PathBuf>,
    pub go: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Commands run confined or not at all.
    #[default]
    Required,
    /// Commands run with all the rights of the server.
    Off,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    /// Model calls after which a run ends.
    pub max_steps: u32,
    /// Seconds without a byte after which a provider's answer counts as lost.
    pub idle_seconds: u64,
    /// Commands, searches and other heavy tools that run at the same time.
    pub tools_at_once: usize,
    /// Minutes that an answer may take, without the time for which a person is waited for.
    pub max_minutes: u64,
    /// Dollars that an answer may cost; unset: what the budgets leave.
    pub max_cost: Option<f64>,
    /// Minutes after which a command in the background is ended, where its call names no time.
    pub background_minutes: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attachments {
    /// The largest file that may be attached, in MB.
    pub file_mb: usize,
    /// Files that may be attached to one prompt.
    pub per_prompt: usize,
    /// Files that a session may have in all.
    pub per_session: usize,
}

impl Attachments {
    /// The largest file, in bytes.
    pub fn file_bytes(&self) -> usize {
        self.file_mb.saturating_mul(1_000_000)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Providers {
    /// Whether members may have providers of their own.
    pub personal: bool,
    /// Hosts in the server's own network that these may lie at all the same.
    pub allowed_hosts: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// What to log, as `tracing` filters are written.
    pub filter: String,
    pub format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 7400)),
            public_url: None,
            workers: 2,
            trusted_proxies: Vec::new(),
            shutdown_seconds: 10,
        }
    }
}

impl Default for Data {
    fn default() -> Self {
        Self { dir: "data".into() }
    }
}

impl Default for Accounts {
    fn default() -> Self {
        Self {
            argon2_memory_kib: 19 * 1024,
            argon2_passes: 2,
            argon2_at_once: 2,
            idle_days: 14,
            absolute_days: 90,
            secure_cookie: SecureCookie::Auto,
            time_zone: chrono_tz::Tz::UTC,
        }
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            max_steps: 50,
            max_minutes: 120,
            max_cost: None,
            idle_seconds: 120,
            tools_at_once: 8,
            background_minutes: 240,
        }
    }
}

impl Default for Attachments {
    fn default() -> Self {
        Self { file_mb: 10, per_prompt: 10, per_session: 200 }
    }
}

impl Default for Providers {
    fn default() -> Self {
        Self { personal: true, allowed_hosts: Vec::new() }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: "info,actix_server=warn,sea_orm_migration=warn,sqlx=warn".into(),
            format: LogFormat::Text,
        }
    }
}

/// A setting that cannot be used, by the name of its key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Config {
    /// Reads a file, where it exists, and the environment over it.
    ///
    /// With `required` set the file must exist: somebody named it.
    pub fn load(file: &Path, required: Required) -> Result<Self, ConfigError> {
        if required == Required::Yes && !file.is_file() {
            return Err(ConfigError(format!("There is no configuration file {}.", file.display())));
        }
        let mut figment = Figment::new();
        if file.exists() {
            figment = figment.merge(Toml::file_exact(file));
        }
        Self::read(figment.merge(environment()))
    }

    fn read(figment: Figment) -> Result<Self, ConfigError> {
        let config: Self = figment.extract().map_err(|err| ConfigError(explain(err)))?;
        config.check()?;
        Ok(config)
    }

    /// The path below which the site lies: empty, or `/like/this`.
    pub fn base_path(&self) -> String {
        let path = self.server.public_url.as_ref().map_or("", |url| url.path());
        path.trim_end_matches('/').to_owned()
    }

    /// Where cloned and empty projects go.
    pub fn workspaces(&self) -> PathBuf {
        self.projects
            .workspaces
            .clone()
            .unwrap_or_else(|| self.data.dir.parent().unwrap_or(Path::new("")).join("workspaces"))
    }

    /// Whether the sign-in cookie is for HTTPS alone.
    pub fn cookie_secure(&self) -> bool {
        match (self.accounts.secure_cookie, &self.server.public_url) {
            (SecureCookie::Always, _) => true,
            (SecureCookie::Never, _) => false,
            (SecureCookie::Auto, Some(url)) => url.scheme() == "https",
            (SecureCookie::Auto, None) => !self.server.bind.ip().is_loopback(),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |text: String| Err(ConfigError(text));
        if let Some(url) = &self.server.public_url
            && (!matches!(url.scheme(), "http" | "https")
                || url.query().is_some()
                || url.fragment().is_some())
        {
            return wrong(format!(
                "server.public_url is {url}: give an http or https address without ? and #."
            ));
        }
        if let Some(url) = &self.database.url
            && !["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme))
        {
            return wrong("database.url must begin with sqlite: or postgres:.".into());
        }
        let positive: [(&str, i128); 13] = [
            ("server.workers", self.server.workers as i128),
            ("accounts.argon2_passes", self.accounts.argon2_passes.into()),
            ("accounts.argon2_at_once", self.accounts.argon2_at_once as i128),
            ("accounts.idle_days", self.accounts.idle_days.into()),
            ("accounts.absolute_days", self.accounts.absolute_days.into()),
            ("agent.max_steps", self.agent.max_steps.into()),
            ("agent.idle_seconds", self.agent.idle_seconds.into()),
            ("agent.tools_at_once", self.agent.tools_at_once as i128),
            ("agent.max_minutes", self.agent.max_minutes.into()),
            ("agent.background_minutes", self.agent.background_minutes.into()),
            ("attachments.file_mb", self.attachments.file_mb as i128),
            ("attachments.per_prompt", self.attachments.per_prompt as i128),
            ("attachments.per_session", self.attachments.per_session as i128),
        ];
        for (key, value) in positive {
            if !(1..=100_000).contains(&value) {
                return wrong(format!("{key} is {value}: give a number from 1 to 100000."));
            }
        }
        if self.agent.max_cost.is_some_and(|cost| !(0.0..=100_000.0).contains(&cost)) {
            return wrong("agent.max_cost must be a number of dollars from 0 to 100000.".into());
        }
        if self.accounts.argon2_memory_kib < 8 {
            return wrong("accounts.argon2_memory_kib must be at least 8.".into());
        }
        if self.secret.previous.is_some() && self.secret.key.is_none() {
            return wrong(
                "secret.previous is set and secret.key is not: give the new secret as secret.key."
                    .into(),
            );
        }
        for (key, hosts) in [
            ("providers.allowed_hosts", &self.providers.allowed_hosts),
            ("sandbox.private_hosts", &self.sandbox.private_hosts),
        ] {
            for host in hosts {
                // An address of IPv6 is a host with brackets around it.
                let bracketed = format!("[{host}]");
                let parsed = Host::parse(host).or_else(|_| Host::parse(&bracketed));
                // A star would be a name like any other, and allow nothing.
                if parsed.is_err() || host.contains('*') {
                    return wrong(format!(
                        "{key} has {host}: give names or addresses of hosts, without http:// and \
                         without a port."
                    ));
                }
            }
        }
        let PackageCaches { cargo, npm, pip, go } = &self.sandbox.package_caches;
        let caches = self.sandbox.caches.iter().chain([cargo, npm, pip, go].into_iter().flatten());
        if let Some(path) = caches.into_iter().find(|path| !path.is_absolute()) {
            return wrong(format!(
                "The caches of sandbox have {}: give absolute paths.",
                path.display()
            ));
        }
        for root in &self.projects.roots {
            if !root.is_absolute() {
                return wrong(format!(
                    "projects.roots has {}: give absolute paths.",
                    root.display()
                ));
            }
        }
        Ok(())
    }
}

/// Whether a file must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    Yes,
    No,
}

fn environment() -> Env {
    Env::prefixed("FORGE_").split("__")
}

/// Says which key is wrong and where it was set.
fn explain(err: figment::Error) -> String {
    let mut lines = Vec::new();
    for one in err {
        let key = one.path.join(".");
        let from = one.metadata.as_ref().map(|it| match it.source.as_ref() {
            Some(source) => format!(" (set in {source})"),
            None => format!(" (set in {})", it.name),
        });
        let from = from.unwrap_or_default();
        lines.push(match one.kind {
            figment::error::Kind::UnknownField(field, expected) => {
                let key = if key.is_empty() || key.ends_with(&field) {
                    field.clone()
                } else {
                    format!("{key}.{field}")
                };
                format!("Unknown setting {key}{from}. Known there: {}.", expected.join(", "))
            }
            kind if key.is_empty() => format!("The configuration cannot be read{from}: {kind}."),
            kind => format!("The setting {key} cannot be used{from}: {kind}."),
        });
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
