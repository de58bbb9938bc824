//! The pages of a person's own providers. What they have in common with the shared ones is there.

use actix_web::{HttpResponse, web::Data};

use super::{
    Entered, FormPanel, ListPanel, OwnIndex, Shown, unprocessable,
    view::{OWN, path_of},
};
use crate::{
    app::App,
    engine::refused::{Actor, Refused},
    store::{entity::user::Model as User, providers},
    web::{
        error::Error,
        extract::{CurrentUser, Form},
        page::{Frame, html, see_other},
    },
};

/// `GET /account/providers`
pub async fn index(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    page(&app, frame, &user, Shown::default()).await
}

/// `GET /account/providers/new`
pub async fn new(
    app: Data<App>,
    frame: Frame,
    CurrentUser(user): CurrentUser,
) -> Result<HttpResponse, Error> {
    let form = app.providers().personal.then(|| FormPanel::new(frame.clone(), OWN));
    page(&app, frame, &user, Shown { form, ..Shown::default() }).await
}

/// `POST /account/providers`
pub async fn create(
    app: Data<App>,
    by: Actor,
    frame: Frame,
    CurrentUser(user): CurrentUser,
    Form(entered): Form<Entered>,
) -> Result<HttpResponse, Error> {
    let created = app.providers().create_personal(user.id, entered.draft(), &by).await;
    match created {
        Ok(provider) => Ok(see_other(&app, &path_of(&provider))),
        Err(Refused::Fields(errors)) => {
            let form = Some(FormPanel::new(frame.clone(), OWN).entered(&entered, errors));
            let answer = page(&app, frame, &user, Shown { form, ..Shown::default() }).await?;
            Ok(unprocessable(answer))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// The list of a person's own providers, and what stands below it.
pub(super) async fn page(
    app: &App,
    frame: Frame,
    user: &User,
    shown: Shown,
) -> Result<HttpResponse, Error> {
    let all = providers::personal(&app.db, user.id).await?;
    let list = ListPanel::of(frame.clone(), &all, shown.id);
    let Shown { form, models, .. } = shown;
    html(OwnIndex { frame, list, form, models, permitted: app.providers().personal })
}
