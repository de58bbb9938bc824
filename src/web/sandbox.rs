//! What this host can enforce, and what commands may do: a page of the administrators.

use actix_web::{HttpResponse, web::Data};
use askama::Template;

use super::{
    error::Error,
    extract::Wants,
    page::{Frame, html, see_other},
};
use crate::{
    adapters::sandbox::{Check, Mode, Report, Step},
    app::App,
    config::SandboxMode,
    engine::caches::{self, State},
};

#[derive(Template)]
#[template(path = "admin/sandbox.html")]
struct Page {
    frame: Frame,
    panel: Panel,
}

/// What a new trial brings.
#[derive(Template)]
#[template(path = "admin/sandbox_panel.html")]
struct Panel {
    frame: Frame,
    tone: &'static str,
    icon: &'static str,
    title: &'static str,
    summary: &'static str,
    checks: Vec<Check>,
    can: Vec<&'static str>,
    cannot: Vec<&'static str>,
    weaknesses: Vec<&'static str>,
    steps: Vec<Step>,
    folders: Vec<Folder>,
    private_hosts: Vec<String>,
    /// What the host says of itself.
    host: Vec<(&'static str, String)>,
    /// Whether the trials have just been made.
    tried: bool,
}

/// A folder that the operator gives to commands.
struct Folder {
    path: String,
    what: String,
    tone: &'static str,
    state: &'static str,
}

impl Panel {
    fn of(app: &App, frame: Frame, report: &Report, tried: bool) -> Self {
        let (tone, icon, title) = match report.mode {
            Some(Mode::Namespaces) => ("good", "shield", "Namespaces are in force"),
            Some(Mode::Landlock) => ("info", "shield", "Landlock is in force"),
            Some(Mode::Off) => ("bad", "warn", "The sandbox is off"),
            None => ("bad", "warn", "Commands are refused"),
        };
        let (can, cannot) = report.meaning();
        Self {
            frame,
            tone,
            icon,
            title,
            summary: report.summary(),
            checks: report.checks(),
            can,
            cannot,
            weaknesses: report.weaknesses(),
            steps: report.steps(),
            folders: folders(app),
            private_hosts: app.config.sandbox.private_hosts.clone(),
            host: host(app, report),
            tried,
        }
    }
}

/// `GET /admin/sandbox`
pub async fn show(app: Data<App>, frame: Frame) -> Result<HttpResponse, Error> {
    let report = app.engine.sandbox.report();
    let panel = Panel::of(&app, frame.clone(), &report, false);
    html(Page { frame, panel })
}

/// `POST /admin/sandbox/probe`: tries once more what this host can enforce.
pub async fn probe(app: Data<App>, frame: Frame, wants: Wants) -> Result<HttpResponse, Error> {
    let report = app.engine.sandbox.probe_again().await;
    tracing::info!(mode = ?report.mode, "tried again what this host can enforce");
    match wants {
        Wants::Page => Ok(see_other(&app, "/admin/sandbox")),
        Wants::Fragment => html(Panel::of(&app, frame, &report, true)),
    }
}

/// What every page of the administrators says when commands do not run confined.
pub(super) fn warning(app: &App) -> Option<&'static str> {
    match app.engine.sandbox.report().mode {
        Some(Mode::Off) => Some(
            "The sandbox is off: commands of agents can read and change whatever the server can.",
        ),
        Some(Mode::Namespaces | Mode::Landlock) => None,
        None => Some("This host cannot confine commands, so agents cannot run any."),
    }
}

fn folders(app: &App) -> Vec<Folder> {
    let settings = &app.config.sandbox;
    let caches = caches::all(settings).into_iter().map(|cache| {
        let (tone, state) = match cache.state() {
            State::Writable => ("good", "Writable"),
            State::ReadOnly => ("bad", "Not writable"),
            State::Missing => ("bad", "Missing"),
        };
        let names: Vec<_> = cache.variables.iter().map(|(name, _)| *name).collect();
        let what = match cache.of {
            Some(of) => format!("Cache of {of}, told by {}", names.join(" and ")),
            None => "Commands may write it".to_owned(),
        };
        Folder { path: cache.path.display().to_string(), what, tone, state }
    });
    let read = |what: &'static str| {
        move |path: &std::path::PathBuf| {
            let (tone, state) =
                if path.is_dir() { ("good", "Readable") } else { ("bad", "Missing") };
            Folder { path: path.display().to_string(), what: what.to_owned(), tone, state }
        }
    };
    let readable = settings.readable.iter().map(read("Commands may read it"));
    let programs = settings.path.iter().map(read("Searched for programs"));
    caches.chain(readable).chain(programs).collect()
}

fn host(app: &App, report: &Report) -> Vec<(&'static str, String)> {
    let host = &report.host;
    let yes_no = |it: bool| if it { "yes" } else { "no" }.to_owned();
    let mut facts = vec![
        ("Kernel", host.kernel.clone()),
        (
            "Configured",
            match app.config.sandbox.mode {
                SandboxMode::Required => "sandbox.mode = \"required\"".to_owned(),
                SandboxMode::Off => "sandbox.mode = \"off\"".to_owned(),
            },
        ),
        ("Server runs as root", yes_no(host.root)),
        ("Container", host.container.unwrap_or("none found").to_owned()),
    ];
    if let Some(most) = host.user_namespaces {
        facts.push(("user.max_user_namespaces", most.to_string()));
    }
    if let Some(open) = host.unprivileged {
        facts.push(("kernel.unprivileged_userns_clone", u8::from(open).to_string()));
    }
    facts.push(("Seccomp filter on the server", yes_no(host.filtered)));
    if let Some(modules) = &host.modules {
        facts.push(("Security modules", modules.join(", ")));
    }
    facts
}
