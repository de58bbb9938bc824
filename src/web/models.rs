//! All models that a person can choose from: searched, liked, and chosen for a session.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use actix_web::{HttpResponse, web::Data};
use askama::Template;
use serde::Deserialize;

use super::{
    error::Error,
    extract::{CurrentUser, Form, Query, Wants},
    page::{Frame, html, see_other},
    sessions::picker::Settings,
    words,
};
use crate::{
    app::App,
    domain::ids::{ProjectId, SessionId},
    engine::models::{self, Offer},
    store::{
        OwnedRow as _,
        entity::{project::Model as Project, session::Model as Session, user::Model as User},
    },
};

/// Models that are shown at once; the others are found by searching.
const ROWS: usize = 60;

/// What is looked for, and for whom a model is chosen.
#[derive(Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    q: String,
    session: Option<String>,
    /// Of a session that is yet to begin.
    project: Option<String>,
}

#[derive(Template)]
#[template(path = "models/index.html", blocks = ["picker"])]
struct Index {
    frame: Frame,
    query: String,
    place: Place,
    rows: Vec<Row>,
    matching: usize,
    total: usize,
}

/// Where a model is chosen for.
#[derive(Default)]
struct Place {
    /// The field that names it, and its id; empty where nothing is chosen.
    field: &'static str,
    id: String,
    /// The model that is chosen there.
    chosen: String,
}

struct Row {
    /// `<provider id>/<model id>`
    value: String,
    /// Of its star, the same wherever the row stands.
    star: String,
    id: String,
    facts: Vec<String>,
    favourite: bool,
    chosen: bool,
}

/// `GET /models`
pub async fn index(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Query(wanted): Query<Wanted>,
) -> Result<HttpResponse, Error> {
    list(&app, frame, wants, &user, wanted).await
}

async fn list(
    app: &App,
    frame: Frame,
    wants: Wants,
    user: &User,
    wanted: Wanted,
) -> Result<HttpResponse, Error> {
    let place = place(app, user, &wanted).await?;
    let query: String = wanted.q.trim().chars().take(200).collect();
    let all = models::offers(&app.engine, user.id).await?;
    let total = all.len();
    let found = models::matching(all, &query);
    let matching = found.len();
    let rows = found.iter().take(ROWS).map(|it| Row::of(it, &place.chosen)).collect();
    let page = Index { frame, query, place, rows, matching, total };
    match wants {
        Wants::Page => html(page),
        Wants::Fragment => html(page.as_picker()),
    }
}

async fn place(app: &App, user: &User, wanted: &Wanted) -> Result<Place, Error> {
    if let Some(id) = &wanted.session {
        let id: SessionId = id.parse().map_err(|_| Error::NotFound)?;
        let session = Session::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
        let chosen = session.model_name().unwrap_or_default();
        return Ok(Place { field: "session", id: id.to_string(), chosen });
    }
    if let Some(id) = &wanted.project {
        let id: ProjectId = id.parse().map_err(|_| Error::NotFound)?;
        Project::find_owned(&app.db, user.id, id).await?.ok_or(Error::NotFound)?;
        return Ok(Place { field: "project", id: id.to_string(), chosen: String::new() });
    }
    Ok(Place::default())
}

impl Place {
    fn is_session(&self) -> bool {
        self.field == "session"
    }

    fn is_project(&self) -> bool {
        self.field == "project"
    }
}

impl Row {
    fn of(offer: &Offer, chosen: &str) -> Self {
        let value = offer.name();
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let mut facts = vec![offer.provider_name.clone()];
        facts.push(match offer.meta.context {
            Some(context) => format!("{} context", words::tokens(context)),
            None => "context unknown".to_owned(),
        });
        let prices = (offer.meta.price_input, offer.meta.price_output);
        facts.push(match prices {
            (Some(input), Some(output)) => {
                format!("${} in, ${} out", words::dollars(input), words::dollars(output))
            }
            _ => "price unknown".to_owned(),
        });
        let can = [("reasons", offer.meta.reasoning), ("sees images", offer.meta.images)];
        facts.extend(can.iter().filter(|it| it.1 == Some(true)).map(|it| it.0.to_owned()));
        if offer.used.is_some() {
            facts.push("used lately".to_owned());
        }
        Self {
            star: format!("star-{:x}", hasher.finish()),
            chosen: value == chosen,
            value,
            id: offer.id.clone(),
            facts,
            favourite: offer.favourite,
        }
    }

    /// The value as a part of an address.
    fn encoded(&self) -> String {
        super::files::encoded(&self.value)
    }
}

/// `POST /models/favourite`
pub async fn like(
    app: Data<App>,
    frame: Frame,
    wants: Wants,
    CurrentUser(user): CurrentUser,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<HttpResponse, Error> {
    let value = |name: &str| {
        pairs.iter().find(|it| it.0 == name).map(|it| it.1.clone()).filter(|it| !it.is_empty())
    };
    let model = value("model").ok_or_else(|| Error::field("model", "Name a model."))?;
    let wanted = Wanted {
        q: value("q").unwrap_or_default(),
        session: value("session"),
        project: value("project"),
    };
    match value("favourite").as_deref() {
        Some("true") => drop(models::like(&app.engine, user.id, &model).await?),
        _ => models::unlike(&app.engine, user.id, &model).await?,
    }
    if wants == Wants::Fragment {
        return list(&app, frame, wants, &user, wanted).await;
    }
    let place = place(&app, &user, &wanted).await?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("q", &wanted.q);
    if !place.field.is_empty() {
        query.append_pair(place.field, &place.id);
    }
    Ok(see_other(&app, &format!("/models?{}", query.finish())))
}

#[derive(Deserialize)]
pub struct For {
    #[serde(default)]
    model: String,
    session: Option<String>,
}

#[derive(Template)]
#[template(path = "sessions/settings.html")]
struct SettingsFragment {
    settings: Settings,
}

/// `GET /models/settings`: what a model can be told, for the form that chooses it.
pub async fn settings(
    app: Data<App>,
    CurrentUser(user): CurrentUser,
    Query(For { model, session }): Query<For>,
) -> Result<HttpResponse, Error> {
    let session = match session.and_then(|id| id.parse().ok()) {
        Some(id) => Session::find_owned(&app.db, user.id, id).await?,
        None => None,
    };
    let offers = models::offers(&app.engine, user.id).await?;
    let offer = offers.iter().find(|it| it.name() == model);
    html(SettingsFragment { settings: Settings::of(offer, session.as_ref()) })
}
