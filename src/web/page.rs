//! What every page has around its content, and how pages are answered.

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, http::header, web::Data};
use askama::{Template, filters::Safe};

use super::{assets, error::Error, sandbox};
use crate::{app::App, store::entity::user::Model as User};

/// The frame of a page: where the site lies, and who looks at it.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The path below which the site lies: empty, or `/like/this`.
    pub base: String,
    /// Where the static files of this version are.
    pub assets: String,
    /// Nobody on the pages before sign-in.
    pub person: Option<Person>,
    /// The path that was asked for, below the base.
    pub path: String,
    /// The server's clock, RFC 3339, for ages that the page counts on.
    pub now: String,
    /// What administrators are told on every page of theirs while commands do not run confined.
    pub unconfined: Option<&'static str>,
}

/// The visitor, as the frame shows them.
#[derive(Clone, Debug)]
pub struct Person {
    pub name: String,
    pub login: String,
    pub initials: String,
    pub admin: bool,
    /// Asks that wait for this person.
    pub waiting: usize,
}

impl Frame {
    /// The frame for a request, with whom the guard has let in.
    pub fn of(request: &HttpRequest) -> Self {
        let Some(app) = request.app_data::<Data<App>>() else { return Self::default() };
        let base = app.config.base_path();
        let assets = format!("{base}/static/{}", assets::version());
        let person = request.extensions().get::<User>().map(Person::of);
        let path = request.path();
        let path = path.strip_prefix(&base).unwrap_or(path).to_owned();
        let now = app.clock.now().to_rfc3339();
        let unconfined = sandbox::warning(app);
        Self { base, assets, person, path, now, unconfined }
    }

    /// Whether the page is the one at a path or below it, for the link that leads there.
    pub fn is_at(&self, place: &str) -> bool {
        let rest = self.path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub fn is_admin(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.admin)
    }

    /// One of the symbols of `static/icons.svg`. Its meaning is always in words beside it.
    pub fn icon(&self, name: &str) -> Safe<String> {
        Safe(format!(
            r##"<svg class="icon" aria-hidden="true"><use href="{}/icons.svg#{name}"></use></svg>"##,
            self.assets
        ))
    }

    /// The same with more classes: `node` on a rail, `fold` of what opens, `turning`.
    pub fn icon_as(&self, name: &str, class: &str) -> Safe<String> {
        Safe(format!(
            r##"<svg class="icon {class}" aria-hidden="true"><use href="{}/icons.svg#{name}"></use></svg>"##,
            self.assets
        ))
    }

    /// The same with the number of asks that wait.
    pub fn waiting(mut self, asks: usize) -> Self {
        if let Some(person) = &mut self.person {
            person.waiting = asks;
        }
        self
    }
}

impl Person {
    fn of(user: &User) -> Self {
        Self {
            name: user.name.clone(),
            login: user.login.clone(),
            initials: initials(&user.name),
            admin: user.admin,
            waiting: 0,
        }
    }
}

/// The first letters of the first and the last word of a name.
pub fn initials(name: &str) -> String {
    let mut words = name.split_whitespace().filter_map(|word| word.chars().next());
    let first = words.next();
    first.into_iter().chain(words.next_back()).flat_map(char::to_uppercase).collect()
}

/// Answers with a template: a whole page, or one block of it for htmx to swap in.
pub fn html(template: impl Template) -> Result<HttpResponse, Error> {
    let body = template.render().map_err(|err| Error::Internal(err.into()))?;
    Ok(HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((header::VARY, "HX-Request"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body))
}

/// Sends the browser on after a form post, so that a reload does not post it again.
///
/// `path` begins with `/` and is below the base path.
pub fn see_other(app: &App, path: &str) -> HttpResponse {
    let location = format!("{}{path}", app.config.base_path());
    HttpResponse::SeeOther().insert_header((header::LOCATION, location)).finish()
}
