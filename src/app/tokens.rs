//! Tokens with which scripts act for people.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Actor, App, accounts::AccountError};
use crate::{
    domain::{
        ids::ApiTokenId,
        name::Name,
        token::{self, Scope},
    },
    store::{
        api_tokens,
        entity::{api_token::Model as ApiToken, user::Model as User},
    },
};

/// A token to be made, as typed.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub name: String,
    pub scope: Scope,
    /// When it ends, if it does.
    pub expires_at: Option<DateTime<Utc>>,
    /// The most that whoever asks may hand on: a token makes no stronger ones.
    pub ceiling: Scope,
}

/// A token that was just made: its row, and its text, which nobody can see again.
#[derive(Clone, Debug)]
pub struct Minted {
    pub row: ApiToken,
    pub text: String,
}

/// Makes a token for a person.
pub async fn create(
    app: &App,
    owner: &User,
    new: NewToken,
    by: &Actor,
) -> Result<Minted, AccountError> {
    let name = Name::parse(&new.name).map_err(|err| AccountError::field("name", err))?;
    if new.scope == Scope::Admin && !owner.admin {
        return Err(AccountError::field("scope", "Only administrators have this scope."));
    }
    if new.scope > new.ceiling {
        let message = "A token cannot make one with a wider scope than its own.";
        return Err(AccountError::field("scope", message));
    }
    let now = app.clock.now();
    if new.expires_at.is_some_and(|at| at <= now) {
        return Err(AccountError::field("expires_at", "Give a time that is yet to come."));
    }
    let text = token::mint(app.entropy.as_ref());
    let row = ApiToken {
        id: ApiTokenId::mint(now, app.entropy.as_ref()),
        user_id: owner.id,
        name: name.into(),
        token_hash: token::hash(&text),
        scope: new.scope,
        last_used_at: None,
        expires_at: new.expires_at,
        created_at: now,
    };
    let row = api_tokens::create(&app.db, row).await?;
    let detail = json!({ "name": row.name, "scope": row.scope, "user": owner.id.to_string() });
    app.audit(by, "token.created", ("token", row.id.to_string()), detail).await?;
    Ok(Minted { row, text })
}

/// Revokes a token.
pub async fn revoke(app: &App, token: ApiToken, by: &Actor) -> Result<(), AccountError> {
    let (id, detail) = (token.id.to_string(), json!({ "name": token.name }));
    let user = token.user_id;
    api_tokens::delete(&app.db, token).await?;
    app.engine.hub.rights_changed(user);
    Ok(app.audit(by, "token.revoked", ("token", id), detail).await?)
}
