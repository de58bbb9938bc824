//! Who did what: only ever added to.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, QueryOrder as _, QuerySelect as _,
};
use serde_json::Value;

use super::{
    Db,
    entity::audit::{self, Model as Audit},
};
use crate::domain::{
    clock::Clock,
    ids::{AuditId, Entropy, UserId},
};

/// Something that was done.
#[derive(Clone, Debug)]
pub struct Deed {
    /// Nobody where the server itself or the command line did it.
    pub actor: Option<UserId>,
    /// A word with a dot: `user.created`, `provider.key_changed`.
    pub action: &'static str,
    pub subject: (&'static str, Option<String>),
    /// Never a secret.
    pub detail: Value,
    pub ip: Option<String>,
}

/// Adds a line.
pub async fn record(
    db: &Db,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    deed: Deed,
) -> Result<(), DbErr> {
    let now = clock.now();
    let row = Audit {
        id: AuditId::mint(now, entropy),
        actor_id: deed.actor,
        action: deed.action.into(),
        subject_type: deed.subject.0.into(),
        subject_id: deed.subject.1,
        detail: deed.detail,
        ip: deed.ip,
        created_at: now,
    };
    row.into_active_model().reset_all().insert(db.write()).await.map(drop)
}

/// The newest lines before one, newest first.
pub async fn page(db: &Db, before: Option<AuditId>, limit: u64) -> Result<Vec<Audit>, DbErr> {
    let mut query = audit::Entity::find().order_by_desc(audit::COLUMN.id).limit(limit);
    if let Some(before) = before {
        query = query.filter(audit::COLUMN.id.lt(before));
    }
    query.all(db.read()).await
}
