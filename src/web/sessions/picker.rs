//! What is chosen beside a prompt: the model, how much it is to think, its temperature, and files.

use crate::{
    app::App,
    config,
    domain::{conversation::Effort, ids::UserId},
    engine::models::{self, Offer},
    store::{DbErr, entity::session::Model as Session},
    web::error::Error,
};

/// Models that the list in the form has; the others are searched for.
const LISTED: usize = 60;

/// The choices of a composer.
pub struct Picker {
    pub groups: Vec<Group>,
    /// Whether the session's model is among them.
    pub chosen: bool,
    /// What the page of all models is asked for: `session=ID` or `project=ID`.
    pub whose: String,
    pub settings: Settings,
    pub files: Files,
}

/// Models under one heading.
pub struct Group {
    pub name: String,
    pub models: Vec<Choice>,
}

pub struct Choice {
    /// `<provider id>/<model id>`
    pub value: String,
    pub label: String,
    pub chosen: bool,
}

/// What a model can be told, and what it is told.
#[derive(Default)]
pub struct Settings {
    /// The model that they are for.
    pub model: String,
    /// Its efforts; none where it takes none.
    pub efforts: &'static [(Effort, &'static str)],
    pub effort: Option<Effort>,
    pub highest: Option<f32>,
    pub temperature: Option<f64>,
}

/// Which files may be attached.
pub struct Files {
    pub most: usize,
    pub largest_mb: usize,
    pub accept: &'static str,
}

const EFFORTS: &[(Effort, &str)] = &[
    (Effort::Off, "No effort"),
    (Effort::Low, "Low effort"),
    (Effort::Medium, "Medium effort"),
    (Effort::High, "High effort"),
];

/// Images, and what browsers take for text. What a file is is found out by its content.
const ACCEPT: &str = "image/png,image/jpeg,image/gif,image/webp,text/*,.md,.json,.toml,.yaml,.yml,.log,.rs,.py,.ts,.sql";

impl Picker {
    /// For a session, or for one that is yet to begin. `model` is named as a choice's value; the
    /// first of all is chosen where it is empty.
    pub async fn of(
        app: &App,
        user: UserId,
        whose: String,
        model: &str,
        session: Option<&Session>,
    ) -> Result<Self, DbErr> {
        let offers = models::offers(&app.engine, user).await?;
        let wanted = if model.is_empty() && session.is_none() {
            offers.first().map(Offer::name).unwrap_or_default()
        } else {
            model.to_owned()
        };
        let chosen = offers.iter().find(|it| it.name() == wanted);
        let settings = Settings::of(chosen, session);
        let groups = groups(&offers, &wanted);
        let files = Files::of(&app.config.attachments);
        Ok(Self { groups, chosen: chosen.is_some(), whose, settings, files })
    }
}

impl Files {
    pub fn of(limits: &config::Attachments) -> Self {
        Self { most: limits.per_prompt, largest_mb: limits.file_mb, accept: ACCEPT }
    }
}

impl Settings {
    /// Whether the session tells its model this.
    pub fn has(&self, effort: &Effort) -> bool {
        self.effort.as_ref() == Some(effort)
    }

    /// What a model can be told, with what a session tells it.
    pub fn of(offer: Option<&Offer>, session: Option<&Session>) -> Self {
        let Some(offer) = offer else { return Self::default() };
        Self {
            model: offer.name(),
            efforts: if offer.takes_effort() { EFFORTS } else { &[] },
            effort: session.and_then(|it| it.effort),
            highest: offer.highest_temperature(),
            temperature: session.and_then(|it| it.temperature),
        }
    }
}

/// The first models under their headings. The chosen one is always there.
fn groups(offers: &[Offer], chosen: &str) -> Vec<Group> {
    let listed = offers.iter().take(LISTED);
    let further = offers.iter().skip(LISTED).filter(|it| it.name() == chosen);
    let mut groups: Vec<Group> = Vec::new();
    for offer in listed.chain(further) {
        let name = match (offer.favourite, offer.used) {
            (true, _) => "Favourites",
            (false, Some(_)) => "Used last",
            (false, None) => &offer.provider_name,
        };
        // What has two sources says which is meant.
        let twice = offers.iter().filter(|it| it.id == offer.id).count() > 1;
        let label = match twice {
            true => format!("{} · {}", offer.id, offer.provider_name),
            false => offer.id.clone(),
        };
        let value = offer.name();
        let choice = Choice { chosen: value == chosen, value, label };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.models.push(choice),
            None => groups.push(Group { name: name.to_owned(), models: vec![choice] }),
        }
    }
    groups
}

/// What a session is to tell its model: an effort and a temperature.
pub type Told = (Option<Effort>, Option<f64>);

/// What a form says of the settings: only for the model that they were drawn for.
pub fn entered(
    form: (&Option<String>, &Option<String>, &Option<String>),
    model: &str,
) -> Result<Option<Told>, Error> {
    let (drawn_for, effort, temperature) = form;
    if drawn_for.as_deref() != Some(model) || model.is_empty() {
        return Ok(None);
    }
    let given = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned)
    };
    let wrong = |field, text: &str| Error::field(field, text);
    let effort = given(effort).map(|it| it.parse()).transpose();
    let effort = effort.map_err(|_| wrong("effort", "Choose off, low, medium or high."))?;
    let temperature = given(temperature).map(|it| it.replace(',', ".").parse()).transpose();
    let temperature =
        temperature.map_err(|_| wrong("temperature", "Give the temperature as a number."))?;
    Ok(Some((effort, temperature)))
}
