//! Lists of permission rules, read and written as a whole.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    super::{
        error::Error,
        extract::{Json, Owned},
    },
    json,
    page::Page,
    schema::words,
};
use crate::{
    app::App,
    domain::{
        ids::{RuleId, UserId},
        permission::Action,
    },
    engine::{
        refused::Actor,
        rules::{self, Entered, MAX_RULES},
    },
    store::entity::{permission_rule::Model as Row, project::Model as Project},
};

#[derive(OpenApi)]
#[openapi(
    paths(of_everybody, replace_for_everybody, of_project, replace_in_project),
    components(schemas(RuleToWrite, RulesToWrite))
)]
pub struct Doc;

/// A permission rule
#[derive(Serialize, ToSchema)]
pub struct Rule {
    id: RuleId,
    tool: String,
    pattern: String,
    action: Action,
    /// Null where whoever made it is gone
    #[schema(required)]
    created_by: Option<UserId>,
    created_at: DateTime<Utc>,
}

/// A permission rule as it is written
#[derive(Deserialize, ToSchema)]
pub struct RuleToWrite {
    /// A tool's name, `external_directory`, `mcp__server__tool`, or `*` for every tool
    #[schema(min_length = 1, max_length = 128)]
    tool: String,
    /// A glob over the path, the command, the host or the name that a call is about
    #[schema(min_length = 1, max_length = 1000)]
    pattern: String,
    #[schema(value_type = Action)]
    action: String,
}

/// A whole list in order: the last rule that matches counts. An answer can be sent back as it came.
#[derive(ToSchema)]
#[schema(as = RulesToWrite)]
#[expect(
    dead_code,
    reason = "describes the body; it is read by hand, to name the rule that is wrong"
)]
pub struct RulesToWrite {
    #[schema(max_items = 500)]
    items: Vec<RuleToWrite>,
}

impl PartialSchema for Action {
    fn schema() -> RefOr<Schema> {
        words(["allow", "ask", "deny"])
    }
}

impl ToSchema for Action {}

impl From<Row> for Rule {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            action: row.action.parse().unwrap_or(Action::Deny),
            tool: row.tool,
            pattern: row.pattern,
            created_by: row.created_by,
            created_at: row.created_at,
        }
    }
}

/// Shows the rules for everybody
#[utoipa::path(
    get, path = "/api/v1/rules", tag = "rules", operation_id = "list_rules",
    responses((status = 200, description = "The whole list in order", body = Page<Rule>)),
)]
pub async fn of_everybody(app: Data<App>) -> Result<HttpResponse, Error> {
    list(app.rules().list(None).await?)
}

/// Replaces the rules for everybody
#[utoipa::path(
    put, path = "/api/v1/rules", tag = "rules", request_body = RulesToWrite, operation_id = "replace_rules",
    responses((status = 200, description = "The whole list in order", body = Page<Rule>)),
)]
pub async fn replace_for_everybody(
    app: Data<App>,
    by: Actor,
    Json(body): Json<Value>,
) -> Result<HttpResponse, Error> {
    list(rules::replace(&app.engine, None, entered(body)?, &by).await?)
}

/// Shows the rules of a project
#[utoipa::path(
    get, path = "/api/v1/projects/{id}/rules", tag = "rules", operation_id = "list_project_rules",
    responses((status = 200, description = "The whole list in order", body = Page<Rule>)),
)]
pub async fn of_project(
    app: Data<App>,
    Owned(project): Owned<Project>,
) -> Result<HttpResponse, Error> {
    list(app.rules().list(Some(project.id)).await?)
}

/// Replaces the rules of a project
#[utoipa::path(
    put, path = "/api/v1/projects/{id}/rules", tag = "rules", request_body = RulesToWrite,
    operation_id = "replace_project_rules",
    responses((status = 200, description = "The whole list in order", body = Page<Rule>)),
)]
pub async fn replace_in_project(
    app: Data<App>,
    by: Actor,
    Owned(project): Owned<Project>,
    Json(body): Json<Value>,
) -> Result<HttpResponse, Error> {
    list(rules::replace(&app.engine, Some(project.id), entered(body)?, &by).await?)
}

/// A list is short enough to be one page.
fn list(rows: Vec<Row>) -> Result<HttpResponse, Error> {
    let items = rows.into_iter().map(Rule::from).collect();
    json(StatusCode::OK, &Page { items, next: None })
}

/// Reads `{"items": [...]}`, or the bare list.
fn entered(body: Value) -> Result<Vec<Entered>, Error> {
    let expected = || Error::field("items", "Give the list of rules, in order.");
    let items = match body {
        Value::Object(mut body) => body.remove("items").ok_or_else(expected)?,
        other => other,
    };
    let Value::Array(items) = items else { return Err(expected()) };
    if items.len() > MAX_RULES {
        return Err(Error::field("items", format!("Give at most {MAX_RULES} rules.")));
    }
    let mut rules = Vec::with_capacity(items.len());
    for (number, item) in (1..).zip(items) {
        let rule: RuleToWrite = serde_json::from_value(item)
            .map_err(|err| Error::field("items", format!("Rule {number}: {err}.")))?;
        rules.push(Entered { tool: rule.tool, pattern: rule.pattern, action: rule.action });
    }
    Ok(rules)
}
