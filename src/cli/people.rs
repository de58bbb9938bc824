//! People and tokens from the command line, for who can read the data folder anyway.

use std::io::{BufRead as _, Read as _};

use anyhow::{Context as _, bail};

use super::{NewAdmin, NewToken, say};
use crate::{
    app::{
        Actor, App,
        accounts::{self, AccountError, NewUser},
        tokens,
    },
    domain::{login::PASSWORD_MAX, token::Scope},
    store::users,
};

/// Adds an administrator.
pub async fn create_admin(app: &App, new: NewAdmin) -> anyhow::Result<()> {
    debug_assert!(new.password_stdin, "the arguments require it");
    let mut password = String::new();
    let most = u64::try_from(PASSWORD_MAX)? + 2;
    std::io::stdin().lock().take(most).read_line(&mut password).context("standard input")?;
    let password = password.trim_end_matches(['\r', '\n']).to_owned();
    let new = NewUser {
        name: new.name.unwrap_or_else(|| new.login.clone()),
        login: new.login,
        email: new.email.unwrap_or_default(),
        password: Some(password),
        admin: true,
    };
    let user = accounts::add(app, new, &Actor::default()).await.map_err(plain)?;
    say(&format!("{} is an administrator now.", user.login))
}

/// Makes a token, and prints it alone.
pub async fn create_token(app: &App, new: NewToken) -> anyhow::Result<()> {
    let Some(owner) = users::by_login(&app.db, &new.login).await? else {
        bail!("Nobody has the login {}.", new.login);
    };
    if owner.disabled_at.is_some() {
        bail!("The account of {} is disabled.", owner.login);
    }
    let wish = tokens::NewToken {
        name: new.name,
        scope: new.scope.into(),
        expires_at: None,
        ceiling: Scope::Admin,
    };
    let minted = tokens::create(app, &owner, wish, &Actor::default()).await.map_err(plain)?;
    say(&minted.text)
}

/// Says which option is wrong.
fn plain(err: AccountError) -> anyhow::Error {
    let AccountError::Fields(fields) = err else { return err.into() };
    let lines: Vec<_> = fields.iter().map(|(name, text)| format!("{name}: {text}")).collect();
    anyhow::anyhow!("{}", lines.join("\n"))
}
