//! Settings, as scripts read and change them.

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde::{Deserialize, Serialize};
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::{
    super::{error::Error, extract::Json},
    json, nullable,
    schema::words,
};
use crate::{
    app::App,
    domain::settings::{Change, Given, Origin},
    engine::{Engine, refused::Actor, settings},
};

#[derive(OpenApi)]
#[openapi(paths(of_everybody, change_for_everybody))]
pub struct Doc;

/// What is set, and what holds
#[derive(Serialize, ToSchema)]
pub struct Settings {
    values: SettingsValues,
    effective: SettingsEffective,
}

/// What is set; null stands for what is not
#[derive(Serialize, ToSchema)]
pub struct SettingsValues {
    /// Whether members may have providers of their own
    #[schema(required)]
    personal_providers: Option<bool>,
    /// Hosts in the server's own network that these may lie at all the same
    #[schema(required)]
    allowed_hosts: Option<Vec<String>>,
}

/// What holds, and where it comes from
#[derive(Serialize, ToSchema)]
pub struct SettingsEffective {
    personal_providers: EffectiveSwitch,
    allowed_hosts: EffectiveList,
}

/// A switch that holds
#[derive(Serialize, ToSchema)]
pub struct EffectiveSwitch {
    value: bool,
    from: Origin,
}

/// A list that holds
#[derive(Serialize, ToSchema)]
pub struct EffectiveList {
    value: Vec<String>,
    from: Origin,
}

/// What is to be changed; what is left out stays, and null resets it
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<bool>, required = false)]
    personal_providers: Option<Option<bool>>,
    /// Names or addresses, without http:// and without a port
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<String>>, required = false, max_items = 200)]
    allowed_hosts: Option<Option<Vec<String>>>,
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match self {
            Self::Config => "config",
            Self::Global => "global",
        })
    }
}

impl PartialSchema for Origin {
    fn schema() -> RefOr<Schema> {
        words(["config", "global"])
    }
}

impl ToSchema for Origin {
    fn name() -> std::borrow::Cow<'static, str> {
        "SettingOrigin".into()
    }
}

impl Settings {
    fn of(engine: &Engine) -> Self {
        let set = engine.settings.values();
        let Given { value: personal, from: personal_from } = engine.personal_providers();
        let Given { value: hosts, from: hosts_from } = engine.allowed_hosts();
        Self {
            values: SettingsValues {
                personal_providers: set.personal_providers,
                allowed_hosts: set.allowed_hosts.clone(),
            },
            effective: SettingsEffective {
                personal_providers: EffectiveSwitch { value: personal, from: personal_from },
                allowed_hosts: EffectiveList { value: hosts, from: hosts_from },
            },
        }
    }
}

/// Shows the settings of the whole server
#[utoipa::path(
    get, path = "/api/v1/settings/global", tag = "settings", operation_id = "show_global_settings",
    responses((status = 200, description = "The settings", body = Settings)),
)]
pub async fn of_everybody(app: Data<App>) -> Result<HttpResponse, Error> {
    json(StatusCode::OK, &Settings::of(&app.engine))
}

/// Changes the settings of the whole server
///
/// They hold at once.
#[utoipa::path(
    patch, path = "/api/v1/settings/global", tag = "settings", request_body = SettingsChange,
    operation_id = "change_global_settings",
    responses((status = 200, description = "The settings as they are now", body = Settings)),
)]
pub async fn change_for_everybody(
    app: Data<App>,
    by: Actor,
    Json(SettingsChange { personal_providers, allowed_hosts }): Json<SettingsChange>,
) -> Result<HttpResponse, Error> {
    settings::change(&app.engine, Change { personal_providers, allowed_hosts }, &by).await?;
    json(StatusCode::OK, &Settings::of(&app.engine))
}
