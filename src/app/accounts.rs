//! Adding, changing and removing people; the pages, the API and the command line all come here.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Actor, App};
use crate::{
    domain::{
        ids::UserId,
        login::{Email, Login, check_password},
        name::Name,
        zone::Zone,
    },
    engine::{budgets, passwords::Verdict},
    store::{
        DbErr, api_tokens,
        entity::{sign_in::Model as SignIn, user::Model as User},
        sessions, sign_ins,
        users::{self, Refused, Taken},
    },
};

/// Why a change of an account was not made.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// What is wrong, by field.
    #[error("Some fields need another look.")]
    Fields(BTreeMap<&'static str, String>),
    #[error("This is the last active administrator. Make somebody else administrator first.")]
    LastAdmin,
    #[error("They still own projects ({0}). Remove those first, or disable the account.")]
    HasProjects(u64),
    #[error("Forge is set up already.")]
    SetUp,
    #[error("There is no such person.")]
    Gone,
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

impl From<DbErr> for AccountError {
    fn from(err: DbErr) -> Self {
        Self::Failed(err.into())
    }
}

impl AccountError {
    pub(super) fn field(name: &'static str, message: impl ToString) -> Self {
        Self::Fields(BTreeMap::from([(name, message.to_string())]))
    }
}

/// A person to be added, as typed.
#[derive(Clone, Debug, Default)]
pub struct NewUser {
    pub name: String,
    pub login: String,
    /// Empty: none.
    pub email: String,
    /// Without one the person cannot sign in until an admin gives them one.
    pub password: Option<String>,
    pub admin: bool,
}

/// What is to be changed of a person, as typed; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    pub login: Option<String>,
    /// Empty: none.
    pub email: Option<String>,
    pub admin: Option<bool>,
    pub disabled: Option<bool>,
    /// Ends all sign-ins and revokes all tokens of the person.
    pub password: Option<String>,
    /// Empty: the server's own.
    pub time_zone: Option<String>,
}

/// What of a person has passed the checks.
#[derive(Default)]
struct Checked {
    name: Option<String>,
    login: Option<Login>,
    email: Option<Option<Email>>,
    password: Option<String>,
    time_zone: Option<Option<Zone>>,
}

/// Adds a person.
pub async fn add(app: &App, new: NewUser, by: &Actor) -> Result<User, AccountError> {
    let user = prepare(app, new).await?;
    let user = users::create(&app.db, user).await?.map_err(taken)?;
    added(app, user, by).await
}

/// Adds the first person, who is an admin.
pub async fn add_first(app: &App, new: NewUser, by: &Actor) -> Result<User, AccountError> {
    let user = prepare(app, NewUser { admin: true, ..new }).await?;
    let user = users::create_first(&app.db, user).await?.ok_or(AccountError::SetUp)?;
    added(app, user, by).await
}

/// Changes a person.
pub async fn change(
    app: &App,
    id: UserId,
    change: Change,
    by: &Actor,
) -> Result<User, AccountError> {
    let checked = check(&change)?;
    let password_hash = match checked.password {
        Some(password) => Some(app.passwords.hash(password).await?),
        None => None,
    };
    let new_password = password_hash.is_some();
    let kept_windows = match checked.time_zone {
        Some(to) => kept_windows(app, id, to).await?,
        None => None,
    };
    let now = app.clock.now();
    let mut before = None;
    let changed = users::update(&app.db, id, |user| {
        before = Some(user.clone());
        if let Some(name) = checked.name {
            user.name = name;
        }
        if let Some(login) = checked.login {
            (user.login_key, user.login) = (login.key(), login.as_str().into());
        }
        if let Some(email) = checked.email {
            user.email_key = email.as_ref().map(Email::key);
            user.email = email.map(|email| email.as_str().into());
        }
        if let Some(zone) = checked.time_zone {
            user.time_zone = zone.map(|zone| zone.to_string());
            user.kept_windows = kept_windows.or(user.kept_windows.take());
        }
        if let Some(admin) = change.admin {
            user.admin = admin;
        }
        if let Some(disabled) = change.disabled {
            user.disabled_at = disabled.then(|| user.disabled_at.unwrap_or(now));
        }
        if let Some(hash) = password_hash {
            user.password_hash = hash;
        }
        user.updated_at = now;
    });
    let user = changed.await?.map_err(refused)?;
    if new_password {
        api_tokens::delete_of(&app.db, id).await?;
    }
    if new_password || user.disabled_at.is_some() {
        sign_ins::delete_of(&app.db, id).await?;
    }
    app.engine.hub.rights_changed(id);
    if user.disabled_at.is_some() {
        for session in sessions::active(&app.db, id).await? {
            app.engine.runs.abort(session.id).await;
        }
    }
    let before = before.unwrap_or_else(|| user.clone());
    let mut detail = differences(&before, &user);
    if new_password {
        detail.insert("password".into(), json!("set"));
    }
    let action = match (before.disabled_at, user.disabled_at) {
        (None, Some(_)) => "user.disabled",
        (Some(_), None) => "user.enabled",
        _ => "user.changed",
    };
    app.audit(by, action, ("user", id.to_string()), detail.into()).await?;
    Ok(user)
}

/// The windows of a person's budgets that go on over a change of their time zone, where it is one.
async fn kept_windows(
    app: &App,
    id: UserId,
    to: Option<Zone>,
) -> Result<Option<serde_json::Value>, AccountError> {
    let user = users::find(&app.db, id).await?.ok_or(AccountError::Gone)?;
    let to = to.unwrap_or_else(|| budgets::zone(&app.engine, None));
    if to == budgets::zone(&app.engine, Some(&user)) {
        return Ok(None);
    }
    Ok(Some(json!(budgets::kept_over(&app.engine, &user, to).await?)))
}

/// Removes a person who owns no project.
pub async fn remove(app: &App, user: &User, by: &Actor) -> Result<(), AccountError> {
    users::delete(&app.db, user.id).await?.map_err(refused)?;
    app.engine.hub.rights_changed(user.id);
    let detail = json!({ "login": user.login });
    Ok(app.audit(by, "user.deleted", ("user", user.id.to_string()), detail).await?)
}

/// Changes a person's own password, for which they show the old one. All their sign-ins end; the
/// caller begins a new one.
pub async fn change_password(
    app: &App,
    user: &User,
    old: String,
    new: String,
    by: &Actor,
) -> Result<User, AccountError> {
    let wrong = || AccountError::field("old", "That is not your password.");
    check_password(&new).map_err(|err| AccountError::field("new", err))?;
    let stored = Some(user.password_hash.clone());
    if app.passwords.verify(old, stored).await? == Verdict::Wrong {
        return Err(wrong());
    }
    let hash = app.passwords.hash(new).await?;
    let now = app.clock.now();
    let mut is_still_old = false;
    let changed = users::update(&app.db, user.id, |row| {
        is_still_old = row.password_hash == user.password_hash;
        if is_still_old {
            (row.password_hash, row.updated_at) = (hash, now);
        }
    });
    let changed = changed.await?.map_err(refused)?;
    if !is_still_old {
        // Somebody changed it while it was looked at.
        return Err(wrong());
    }
    sign_ins::delete_of(&app.db, user.id).await?;
    app.engine.hub.rights_changed(user.id);
    let subject = ("user", user.id.to_string());
    app.audit(by, "user.password_changed", subject, json!({})).await?;
    Ok(changed)
}

/// Ends all sign-ins of a person.
pub async fn sign_out(app: &App, user: &User, by: &Actor) -> Result<(), AccountError> {
    let ended = sign_ins::delete_of(&app.db, user.id).await?;
    app.engine.hub.rights_changed(user.id);
    let detail = json!({ "sign_ins": ended });
    Ok(app.audit(by, "user.signed_out", ("user", user.id.to_string()), detail).await?)
}

/// Ends one sign-in of a person.
pub async fn end_sign_in(
    app: &App,
    user: &User,
    sign_in: &SignIn,
    by: &Actor,
) -> Result<(), AccountError> {
    sign_ins::delete(&app.db, &sign_in.id).await?;
    app.engine.hub.rights_changed(user.id);
    let detail = json!({ "sign_ins": 1 });
    Ok(app.audit(by, "user.signed_out", ("user", user.id.to_string()), detail).await?)
}

async fn prepare(app: &App, new: NewUser) -> Result<User, AccountError> {
    let checked = check(&Change {
        name: Some(new.name),
        login: Some(new.login),
        email: Some(new.email),
        password: new.password,
        ..Change::default()
    })?;
    let (name, login) = (checked.name.unwrap_or_default(), checked.login);
    let login = login.ok_or_else(|| AccountError::field("login", "Give a login."))?;
    let email = checked.email.flatten();
    let now = app.clock.now();
    Ok(User {
        id: UserId::mint(now, app.entropy.as_ref()),
        name,
        login_key: login.key(),
        login: login.as_str().into(),
        email_key: email.as_ref().map(Email::key),
        email: email.map(|email| email.as_str().into()),
        password_hash: match checked.password {
            Some(password) => app.passwords.hash(password).await?,
            None => String::new(),
        },
        admin: new.admin,
        time_zone: None,
        kept_windows: None,
        disabled_at: None,
        last_login_at: None,
        created_at: now,
        updated_at: now,
    })
}

async fn added(app: &App, user: User, by: &Actor) -> Result<User, AccountError> {
    let detail = json!({ "login": user.login, "admin": user.admin });
    app.audit(by, "user.created", ("user", user.id.to_string()), detail).await?;
    Ok(user)
}

/// Checks all fields, so that a form learns of all that is wrong at once.
fn check(change: &Change) -> Result<Checked, AccountError> {
    let mut wrong = BTreeMap::new();
    let mut checked = Checked::default();
    if let Some(name) = &change.name {
        match Name::parse(name) {
            Ok(name) => checked.name = Some(name.into()),
            Err(err) => drop(wrong.insert("name", err.to_string())),
        }
    }
    if let Some(login) = &change.login {
        match Login::parse(login) {
            Ok(login) => checked.login = Some(login),
            Err(err) => drop(wrong.insert("login", err.to_string())),
        }
    }
    match change.email.as_deref().map(str::trim) {
        None => {}
        Some("") => checked.email = Some(None),
        Some(email) => match Email::parse(email) {
            Ok(email) => checked.email = Some(Some(email)),
            Err(err) => drop(wrong.insert("email", err.to_string())),
        },
    }
    match change.time_zone.as_deref().map(str::trim) {
        None => {}
        Some("") => checked.time_zone = Some(None),
        Some(name) => match name.parse() {
            Ok(zone) => checked.time_zone = Some(Some(zone)),
            Err(err) => drop(wrong.insert("time_zone", format!("{err}"))),
        },
    }
    if let Some(password) = &change.password {
        match check_password(password) {
            Ok(()) => checked.password = Some(password.clone()),
            Err(err) => drop(wrong.insert("password", err.to_string())),
        }
    }
    if wrong.is_empty() { Ok(checked) } else { Err(AccountError::Fields(wrong)) }
}

/// What the audit log says of a change: the new value of each field that has another.
fn differences(before: &User, after: &User) -> serde_json::Map<String, serde_json::Value> {
    let fields = |user: &User| {
        json!({
            "name": user.name, "login": user.login, "email": user.email, "admin": user.admin,
            "disabled": user.disabled_at.is_some(), "time_zone": user.time_zone,
        })
    };
    let (before, after) = (fields(before), fields(after));
    let new = after.as_object().into_iter().flatten();
    new.filter(|(key, value)| before.get(key) != Some(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn taken(taken: Taken) -> AccountError {
    match taken {
        Taken::Login => AccountError::field("login", "Somebody has this login already."),
        Taken::Email => AccountError::field("email", "Somebody has this e-mail address already."),
    }
}

fn refused(refused: Refused) -> AccountError {
    match refused {
        Refused::Taken(which) => taken(which),
        Refused::LastAdmin => AccountError::LastAdmin,
        Refused::HasProjects(projects) => AccountError::HasProjects(projects),
        Refused::Gone => AccountError::Gone,
    }
}
