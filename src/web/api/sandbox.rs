//! What this host can enforce on commands.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::Serialize;
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{super::error::Error, json, schema::words};
use crate::{
    adapters::sandbox::{Mode, Report},
    app::App,
};

#[derive(OpenApi)]
#[openapi(paths(show, probe))]
pub struct Doc;

/// What this host can enforce on the commands of agents
#[derive(Serialize, ToSchema)]
pub struct Sandbox {
    mode: ModeInForce,
    summary: &'static str,
    /// The version of the kernel's Landlock interface; 0 where there is none
    landlock_version: u8,
    walls: Vec<Wall>,
    /// What a command can do
    can: Vec<&'static str>,
    /// What a command cannot do
    cannot: Vec<&'static str>,
    /// What stays open
    weaknesses: Vec<&'static str>,
    /// What the operator can do to get more
    steps: Vec<StepToTake>,
}

/// How commands run; `refused`: not at all
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeInForce {
    Namespaces,
    Landlock,
    Off,
    Refused,
}

/// One of the walls
#[derive(Serialize, ToSchema)]
pub struct Wall {
    name: &'static str,
    works: bool,
    /// What it does, or why it does not work
    detail: String,
}

/// Something that the operator can do
#[derive(Serialize, ToSchema)]
pub struct StepToTake {
    what: String,
    /// A line to type, or to put into a file
    #[schema(required)]
    line: Option<String>,
}

impl PartialSchema for ModeInForce {
    fn schema() -> RefOr<Schema> {
        words(["namespaces", "landlock", "off", "refused"])
    }
}

impl ToSchema for ModeInForce {}

impl Sandbox {
    fn of(report: &Report) -> Self {
        let (can, cannot) = report.meaning();
        let walls = report.checks().into_iter();
        let steps = report.steps().into_iter();
        Self {
            mode: match report.mode {
                Some(Mode::Namespaces) => ModeInForce::Namespaces,
                Some(Mode::Landlock) => ModeInForce::Landlock,
                Some(Mode::Off) => ModeInForce::Off,
                None => ModeInForce::Refused,
            },
            summary: report.summary(),
            landlock_version: report.landlock_version,
            walls: walls
                .map(|it| Wall { name: it.name, works: it.works, detail: it.detail })
                .collect(),
            can,
            cannot,
            weaknesses: report.weaknesses(),
            steps: steps.map(|it| StepToTake { what: it.what, line: it.line }).collect(),
        }
    }
}

/// Shows what this host can enforce
#[utoipa::path(
    get, path = "/api/v1/sandbox", tag = "sandbox", operation_id = "show_sandbox",
    responses((status = 200, description = "As it was found", body = Sandbox)),
)]
pub async fn show(app: Data<App>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Sandbox::of(&app.engine.sandbox.report()))
}

/// Tries once more what this host can enforce
#[utoipa::path(
    post, path = "/api/v1/sandbox/probe", tag = "sandbox", operation_id = "probe_sandbox",
    responses((status = 200, description = "As it is found now", body = Sandbox)),
)]
pub async fn probe(app: Data<App>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Sandbox::of(&*app.engine.sandbox.probe_again().await))
}
