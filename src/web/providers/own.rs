//! The pages of a person's own providers: those of the shared ones, with another list.

use actix_web::{HttpResponse, web::Data};

use super::{Entered, Shown, Whose, add, page};
use crate::{
    app::App,
    engine::refused::Actor,
    web::{
        error::Error,
        extract::{CurrentUser, Form},
        page::Frame,
    },
};

/// `GET /account/providers`
pub async fn index(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    page(&app, frame, Shown { whose: Whose::Of(user.id), ..Shown::default() }).await
}

/// `GET /account/providers/new`
pub async fn new(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    let mut shown = Shown::blank(frame.clone(), Whose::Of(user.id));
    if !app.providers().personal {
        shown.form = None;
    }
    page(&app, frame, shown).await
}

/// `POST /account/providers`
pub async fn create(
    app: Data<App>,
    by: Actor,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Form(entered): Form<Entered>,
) -> Result<HttpResponse, Error> {
    add(&app, &by, frame, entered, Whose::Of(user.id)).await
}
