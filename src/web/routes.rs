//! Every address of the site, who may visit it, and what answers.
//!
//! The table is data, so that `tests/it/access.rs` can walk it and knock on every door as someone
//! who should not get in. An address that is not in the table does not exist.

use std::{future::ready, marker::PhantomData};

use actix_web::{
    FromRequest, Handler, HttpRequest, Responder, Route,
    guard::{Any, Get, Head},
    http::Method,
    middleware::from_fn,
    web::{self, ServiceConfig},
};

use super::{
    account, api, assets, attachments, auth,
    error::Error,
    files,
    guard::{self, Finds, For},
    health, home, idempotency, models, projects, providers, rules, sandbox, sessions, settings,
    setup, usage, users,
};
use crate::{
    domain::ids::UserId,
    store::{
        AdminRow, Db, DbErr, OwnRow, OwnedRow,
        entity::{
            api_token::Model as ApiToken, ask::Model as Ask, attachment::Model as Attachment,
            budget::Model as Budget, message::Model as Message, part::Model as Part,
            project::Model as Project, provider::Model as Provider, session::Model as Session,
            sign_in::Model as SignIn, user::Model as User,
        },
    },
};

/// The pages, then the API.
pub fn table() -> Vec<Entry> {
    let mut table = pages();
    table.extend(api());
    table
}

#[rustfmt::skip]
fn pages() -> Vec<Entry> {
    vec![
        Anyone::get  ("/health/live",  health::live),
        Anyone::get  ("/health/ready", health::ready),
        Anyone::get  ("/static/{version}/{path:.*}", assets::file),

        Anyone::get  ("/setup",    setup::form),
        Anyone::post ("/setup",    setup::set_up),
        Anyone::get  ("/sign-in",  auth::form),
        Anyone::post ("/sign-in",  auth::sign_in),
        Anyone::post ("/sign-out", auth::sign_out),

        SignedIn::get  ("/account",                account::show),
        SignedIn::post ("/account",                account::save),
        SignedIn::post ("/account/password",       account::change_password),
        SignedIn::post ("/account/sign-ins/end",   account::end_others),
        SignedIn::post ("/account/tokens",         account::create_token),
        Owner::<SignIn>::post   ("/account/sign-ins/{id}/end",  account::end),
        Owner::<ApiToken>::post ("/account/tokens/{id}/revoke", account::revoke_token),

        Admin::get  ("/admin/users", users::index),
        Admin::post ("/admin/users", users::add),
        Managed::<User>::get  ("/admin/users/{id}",          users::edit),
        Managed::<User>::post ("/admin/users/{id}",          users::save),
        Managed::<User>::post ("/admin/users/{id}/password", users::set_password),
        Managed::<User>::post ("/admin/users/{id}/disable",  users::disable),
        Managed::<User>::post ("/admin/users/{id}/enable",   users::enable),
        Managed::<User>::post ("/admin/users/{id}/sign-out", users::sign_out),
        Managed::<User>::post ("/admin/users/{id}/delete",   users::delete),

        Admin::get  ("/admin/sandbox",       sandbox::show),
        Admin::post ("/admin/sandbox/probe", sandbox::probe),
        Admin::get  ("/admin/settings",      settings::show),
        Admin::post ("/admin/settings",      settings::save),

        SignedIn::get          ("/",                     home::index),
        SignedIn::get          ("/projects/new",         projects::adding::form),
        SignedIn::post         ("/projects",             projects::adding::create),
        Owner::<Project>::get  ("/projects/{id}",        projects::show),
        Owner::<Project>::post ("/projects/{id}/name",   projects::rename),
        Owner::<Project>::post ("/projects/{id}/trust",  projects::trust),
        Owner::<Project>::get  ("/projects/{id}/remove", projects::confirm_removal),
        Owner::<Project>::post ("/projects/{id}/remove", projects::remove),
        Owner::<Project>::get  ("/projects/{id}/files",  files::folder),
        Owner::<Project>::get  ("/projects/{id}/file",   files::file),
        Owner::<Project>::get  ("/projects/{id}/raw",    files::raw),

        SignedIn::get  ("/account/providers",     providers::own::index),
        SignedIn::post ("/account/providers",     providers::own::create),
        SignedIn::get  ("/account/providers/new", providers::own::new),
        Own::<Provider>::get  ("/account/providers/{id}",         providers::show),
        Own::<Provider>::post ("/account/providers/{id}",         providers::update),
        Own::<Provider>::post ("/account/providers/{id}/test",    providers::test),
        Own::<Provider>::post ("/account/providers/{id}/refresh", providers::refresh),
        Own::<Provider>::get  ("/account/providers/{id}/models",  providers::models),
        Own::<Provider>::post ("/account/providers/{id}/models",  providers::choose),
        Own::<Provider>::get  ("/account/providers/{id}/model",   providers::model::form),
        Own::<Provider>::post ("/account/providers/{id}/model",   providers::model::save),
        Own::<Provider>::post ("/account/providers/{id}/disable", providers::disable),
        Own::<Provider>::post ("/account/providers/{id}/enable",  providers::enable),
        Own::<Provider>::post ("/account/providers/{id}/delete",  providers::delete),

        Admin::get   ("/providers",     providers::index),
        Admin::post  ("/providers",     providers::create),
        Admin::get   ("/providers/new", providers::new),
        Managed::<Provider>::get  ("/providers/{id}",         providers::show),
        Managed::<Provider>::post ("/providers/{id}",         providers::update),
        Managed::<Provider>::post ("/providers/{id}/test",    providers::test),
        Managed::<Provider>::post ("/providers/{id}/refresh", providers::refresh),
        Managed::<Provider>::get  ("/providers/{id}/models",  providers::models),
        Managed::<Provider>::post ("/providers/{id}/models",  providers::choose),
        Managed::<Provider>::get  ("/providers/{id}/model",   providers::model::form),
        Managed::<Provider>::post ("/providers/{id}/model",   providers::model::save),
        Managed::<Provider>::post ("/providers/{id}/disable", providers::disable),
        Managed::<Provider>::post ("/providers/{id}/enable",  providers::enable),
        Managed::<Provider>::post ("/providers/{id}/delete",  providers::delete),

        Admin::get   ("/rules",        rules::of_everybody),
        Admin::post  ("/rules",        rules::add_for_everybody),
        Admin::post  ("/rules/change", rules::change_for_everybody),
        Admin::get   ("/rules/try",    rules::try_for_everybody),
        Owner::<Project>::get  ("/projects/{id}/rules",        rules::of_project),
        Owner::<Project>::post ("/projects/{id}/rules",        rules::add_to_project),
        Owner::<Project>::post ("/projects/{id}/rules/change", rules::change_in_project),
        Owner::<Project>::get  ("/projects/{id}/rules/try",    rules::try_in_project),

        SignedIn::get  ("/usage",     usage::show),
        SignedIn::get  ("/usage.csv", usage::csv),
        SignedIn::post ("/budgets",   usage::add_budget),
        Owner::<Budget>::post ("/budgets/{id}",        usage::change_budget),
        Owner::<Budget>::post ("/budgets/{id}/remove", usage::remove_budget),
        SignedIn::get  ("/models",           models::index),
        SignedIn::get  ("/models/settings",  models::settings),
        SignedIn::post ("/models/favourite", models::like),

        SignedIn::post ("/sessions", sessions::new::create_anywhere),
        Owner::<Project>::get  ("/projects/{id}/sessions/new", sessions::new::form),
        Owner::<Project>::post ("/projects/{id}/sessions",     sessions::new::create),
        Owner::<Session>::get  ("/sessions/{id}",         sessions::page::show),
        Owner::<Session>::get  ("/sessions/{id}/events",  sessions::events::stream),
        Owner::<Session>::post ("/sessions/{id}/prompt",  sessions::acts::prompt),
        Owner::<Session>::post ("/sessions/{id}/abort",   sessions::acts::abort),
        Owner::<Session>::post ("/sessions/{id}/retry",   sessions::acts::retry),
        Owner::<Session>::get  ("/sessions/{id}/name",    sessions::acts::naming),
        Owner::<Session>::post ("/sessions/{id}/name",    sessions::acts::name),
        Owner::<Session>::post ("/sessions/{id}/model",   sessions::acts::model),
        Owner::<Session>::post ("/sessions/{id}/archive", sessions::acts::archive),
        Owner::<Session>::get  ("/sessions/{id}/delete",  sessions::acts::deleting),
        Owner::<Session>::post ("/sessions/{id}/delete",  sessions::acts::delete),
        Owner::<Session>::get  ("/sessions/{id}/diff",    sessions::changes::show),
        Owner::<Session>::post ("/sessions/{id}/undo",    sessions::changes::undo),
        Owner::<Session>::post ("/sessions/{id}/redo",    sessions::changes::redo),
        Owner::<Message>::post ("/queue/{id}/steer",      sessions::queue::steer),
        Owner::<Message>::post ("/queue/{id}/remove",     sessions::queue::remove),
        Owner::<Message>::get  ("/queue/{id}/edit",       sessions::queue::editing),
        Owner::<Message>::post ("/queue/{id}/edit",       sessions::queue::edit),
        Owner::<Ask>::post     ("/asks/{id}",             sessions::asks::answer),
        Owner::<Part>::get     ("/parts/{id}/output",     sessions::whole_output::show),
        Owner::<Part>::post    ("/parts/{id}/stop",       sessions::acts::stop_job),
        Owner::<Attachment>::get ("/attachments/{id}",    attachments::show),
    ]
}

#[rustfmt::skip]
fn api() -> Vec<Entry> {
    vec![
        Anyone::get   ("/api/v1/openapi.json", api::openapi),

        SignedIn::get    ("/api/v1/me",            api::me::show),
        SignedIn::patch  ("/api/v1/me",            api::me::change),
        SignedIn::get    ("/api/v1/me/favourites", api::favourites::index),
        SignedIn::create ("/api/v1/me/favourites", api::favourites::create),
        SignedIn::delete ("/api/v1/me/favourites", api::favourites::delete),

        Admin::get    ("/api/v1/users", api::users::index),
        Admin::create ("/api/v1/users", api::users::create),
        Managed::<User>::get    ("/api/v1/users/{id}", api::users::show),
        Managed::<User>::patch  ("/api/v1/users/{id}", api::users::change),
        Managed::<User>::delete ("/api/v1/users/{id}", api::users::delete),

        SignedIn::get ("/api/v1/providers", api::providers::index),
        Admin::create ("/api/v1/providers", api::providers::create),
        Shared::<Provider>::get     ("/api/v1/providers/{id}",         api::providers::show),
        Managed::<Provider>::patch  ("/api/v1/providers/{id}",         api::providers::change),
        Managed::<Provider>::delete ("/api/v1/providers/{id}",         api::providers::delete),
        Managed::<Provider>::post   ("/api/v1/providers/{id}/test",    api::providers::test),
        Managed::<Provider>::post   ("/api/v1/providers/{id}/refresh", api::providers::refresh),

        SignedIn::get    ("/api/v1/me/providers", api::own_providers::index),
        SignedIn::create ("/api/v1/me/providers", api::own_providers::create),
        Own::<Provider>::get    ("/api/v1/me/providers/{id}",         api::own_providers::show),
        Own::<Provider>::patch  ("/api/v1/me/providers/{id}",         api::own_providers::change),
        Own::<Provider>::delete ("/api/v1/me/providers/{id}",         api::own_providers::delete),
        Own::<Provider>::post   ("/api/v1/me/providers/{id}/test",    api::own_providers::test),
        Own::<Provider>::post   ("/api/v1/me/providers/{id}/refresh", api::own_providers::refresh),

        Admin::get   ("/api/v1/settings/global", api::settings::of_everybody),
        Admin::patch ("/api/v1/settings/global", api::settings::change_for_everybody),

        Admin::get ("/api/v1/rules", api::rules::of_everybody),
        Admin::put ("/api/v1/rules", api::rules::replace_for_everybody),
        Owner::<Project>::get ("/api/v1/projects/{id}/rules", api::rules::of_project),
        Owner::<Project>::put ("/api/v1/projects/{id}/rules", api::rules::replace_in_project),

        Admin::get  ("/api/v1/sandbox",       api::sandbox::show),
        Admin::post ("/api/v1/sandbox/probe", api::sandbox::probe),

        SignedIn::get    ("/api/v1/usage",   api::usage::index),
        SignedIn::get    ("/api/v1/budgets", api::budgets::index),
        SignedIn::create ("/api/v1/budgets", api::budgets::create),
        Owner::<Budget>::get    ("/api/v1/budgets/{id}", api::budgets::show),
        Owner::<Budget>::patch  ("/api/v1/budgets/{id}", api::budgets::change),
        Owner::<Budget>::delete ("/api/v1/budgets/{id}", api::budgets::delete),

        SignedIn::get    ("/api/v1/tokens", api::tokens::index),
        SignedIn::create ("/api/v1/tokens", api::tokens::create),
        Owner::<ApiToken>::delete ("/api/v1/tokens/{id}", api::tokens::revoke),

        SignedIn::get    ("/api/v1/projects", api::projects::index),
        SignedIn::create ("/api/v1/projects", api::projects::create),
        Owner::<Project>::get    ("/api/v1/projects/{id}",        api::projects::show),
        Owner::<Project>::patch  ("/api/v1/projects/{id}",        api::projects::change),
        Owner::<Project>::delete ("/api/v1/projects/{id}",        api::projects::delete),
        Owner::<Project>::post   ("/api/v1/projects/{id}/trust",  api::projects::trust),
        Owner::<Project>::get    ("/api/v1/projects/{id}/tree",   api::projects::files::tree),
        Owner::<Project>::get    ("/api/v1/projects/{id}/file",   api::projects::files::file),
        Owner::<Project>::get    ("/api/v1/projects/{id}/status", api::projects::files::status),

        Owner::<Project>::get    ("/api/v1/projects/{id}/sessions", api::sessions::index),
        Owner::<Project>::create ("/api/v1/projects/{id}/sessions", api::sessions::create),
        Owner::<Session>::get    ("/api/v1/sessions/{id}",          api::sessions::show),
        Owner::<Session>::patch  ("/api/v1/sessions/{id}",          api::sessions::change),
        Owner::<Session>::delete ("/api/v1/sessions/{id}",          api::sessions::remove),
        Owner::<Session>::create ("/api/v1/sessions/{id}/prompt",   api::sessions::prompts::send),
        Owner::<Session>::post   ("/api/v1/sessions/{id}/abort",    api::sessions::prompts::abort),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/queue",    api::sessions::prompts::queue),
        Owner::<Part>::post      ("/api/v1/parts/{id}/stop",        api::sessions::prompts::stop_job),
        Owner::<Message>::patch  ("/api/v1/queue/{id}",             api::sessions::prompts::edit),
        Owner::<Message>::delete ("/api/v1/queue/{id}",             api::sessions::prompts::remove),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/messages", api::sessions::history::messages),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/todos",    api::sessions::history::todos),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/usage",    api::sessions::history::usage),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/diff",     api::sessions::history::diff),
        Owner::<Session>::post   ("/api/v1/sessions/{id}/undo",     api::sessions::history::undo),
        Owner::<Session>::post   ("/api/v1/sessions/{id}/redo",     api::sessions::history::redo),
        Owner::<Session>::get    ("/api/v1/sessions/{id}/events",   api::sessions::events::stream),

        SignedIn::create ("/api/v1/attachments",        api::attachments::create),
        SignedIn::get    ("/api/v1/attachments/exists", api::attachments::exists),
        Owner::<Attachment>::get ("/api/v1/attachments/{id}", api::attachments::show),

        SignedIn::get      ("/api/v1/asks",      api::asks::index),
        Owner::<Ask>::post ("/api/v1/asks/{id}", api::asks::answer),
    ]
}

pub struct Entry {
    pub access: Access,
    pub method: Method,
    pub path: &'static str,
    /// Whether it takes an `Idempotency-Key`.
    pub creates: bool,
    route: Route,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Anyone,
    SignedIn,
    Admin,
    Owner,
    /// Everybody who may use the row that `{id}` names, though only some may change it.
    Shared,
    AdminRow,
}

/// Hangs every route. An address with another method is told which ones there are.
pub fn mount(config: &mut ServiceConfig) {
    let mut paths: Vec<(&'static str, Vec<Entry>)> = Vec::new();
    for entry in table() {
        match paths.iter_mut().find(|(path, _)| *path == entry.path) {
            Some((_, entries)) => entries.push(entry),
            None => paths.push((entry.path, vec![entry])),
        }
    }
    for (path, entries) in paths {
        let mut methods: Vec<_> = entries.iter().map(|entry| entry.method.as_str()).collect();
        if methods.contains(&"GET") && !methods.contains(&"HEAD") {
            methods.push("HEAD");
        }
        let allowed = methods.join(", ");
        let mut resource = web::resource(path);
        for entry in entries {
            resource = resource.route(entry.route);
        }
        let wrong_method = move |request: HttpRequest| {
            let (method, allowed) = (request.method().to_string(), allowed.clone());
            ready(Err::<&'static str, _>(Error::Method { method, allowed }))
        };
        config.service(resource.default_service(web::to(wrong_method)));
    }
}

/// There is no such address.
pub async fn nothing() -> Result<&'static str, Error> {
    Err(Error::NotFound)
}

/// Anyone at all.
pub struct Anyone;

/// Anyone with an account; what they see is their own.
pub struct SignedIn;

/// Only admins. To everyone else there is nothing here.
pub struct Admin;

/// Only the owner of the row that `{id}` names. To everyone else there is no such row.
pub struct Owner<T>(PhantomData<T>);

/// Only the owner of the row that `{id}` names, also where others are shared with everybody.
pub struct Own<T>(PhantomData<T>);

/// Anyone who may use the row that `{id}` names; nobody changes it through this door.
pub(super) struct Shared<T>(PhantomData<T>);

/// Only admins, and only where the row that `{id}` names exists.
pub struct Managed<T>(PhantomData<T>);

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        fn $name<A>(path: &'static str, handler: impl Handler<A, Output: Responder + 'static>) -> Entry
        where
            A: FromRequest + 'static,
        {
            let route = match Method::$method {
                // Whoever asks for the head alone gets what GET answers, without its body.
                Method::GET => Route::new().guard(Any(Get()).or(Head())),
                method => web::method(method),
            };
            let route = Self::hang(route.to(handler));
            Entry { access: Self::ACCESS, method: Method::$method, path, creates: false, route }
        }
    )*};
}

/// What stands between a request and a handler.
pub trait Door {
    const ACCESS: Access;

    fn hang(route: Route) -> Route;

    methods!(get GET, post POST, put PUT, patch PATCH, delete DELETE, head HEAD);

    /// A `POST` of the API that creates: sent again with its `Idempotency-Key`, it is answered
    /// again and not done again.
    fn create<A>(path: &'static str, handler: impl Handler<A, Output: Responder + 'static>) -> Entry
    where
        A: FromRequest + 'static,
    {
        let route = web::post().to(handler).wrap(from_fn(idempotency::once));
        let route = Self::hang(route);
        Entry { access: Self::ACCESS, method: Method::POST, path, creates: true, route }
    }
}

impl Door for Anyone {
    const ACCESS: Access = Access::Anyone;

    fn hang(route: Route) -> Route {
        route
    }
}

impl Door for SignedIn {
    const ACCESS: Access = Access::SignedIn;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::signed_in))
    }
}

impl Door for Admin {
    const ACCESS: Access = Access::Admin;

    fn hang(route: Route) -> Route {
        route.wrap(from_fn(guard::admin))
    }
}

macro_rules! rows {
    ($($door:ident: $row:ident, $access:ident, $open:ident, $find:expr;)*) => {$(
        impl<T: $row + Clone + 'static> Finds for $door<T> {
            type Row = T;
            type Id = T::Id;
            const FOR: For = For::$open;

            async fn find(db: &Db, visitor: UserId, id: T::Id) -> Result<Option<T>, DbErr> {
                $find(db, visitor, id).await
            }
        }

        impl<T: $row + Clone + 'static> Door for $door<T> {
            const ACCESS: Access = Access::$access;

            fn hang(route: Route) -> Route {
                route.wrap(from_fn(guard::row::<Self>))
            }
        }
    )*};
}

rows! {
    Owner:   OwnedRow, Owner,    Anybody, T::find_owned;
    Shared:  OwnedRow, Shared,   Anybody, T::find_owned;
    Own:     OwnRow,   Owner,    Anybody, T::find_own;
    Managed: AdminRow, AdminRow, Admins,  |db, _, id| T::find_for_admin(db, id);
}
