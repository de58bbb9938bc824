//! Sessions, found through the owner of their project.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, Condition, ConnectionTrait, DbErr, EntityTrait as _,
    IntoActiveModel as _, JoinType, PaginatorTrait as _, QueryFilter as _, QueryOrder as _,
    QuerySelect as _, RelationDef, sea_query::Query,
};

use super::{
    Db, OwnedRow,
    entity::{
        project,
        session::{self, Model as Session},
    },
};
use crate::domain::{
    ids::{ProjectId, SessionId, UserId},
    session::SessionStatus,
};

impl OwnedRow for Session {
    type Id = SessionId;

    async fn find_owned(db: &Db, owner: UserId, id: SessionId) -> Result<Option<Self>, DbErr> {
        session::Entity::find_by_id(id).filter(owned_by(owner)).one(db.read()).await
    }
}

/// A session with its project; for the engine, which has the id from its own rows.
pub async fn with_project(
    db: &Db,
    id: SessionId,
) -> Result<Option<(Session, project::Model)>, DbErr> {
    let to_project: RelationDef = session::Entity::belongs_to(project::Entity)
        .from(session::Column::ProjectId)
        .to(project::Column::Id)
        .into();
    let found = session::Entity::find_by_id(id)
        .join(JoinType::InnerJoin, to_project)
        .select_also(project::Entity)
        .one(db.read())
        .await?;
    Ok(found.and_then(|(session, project)| Some((session, project?))))
}

/// The newest sessions of a project that are not archived, the one changed last first.
pub async fn of_project(db: &Db, project: ProjectId, limit: u64) -> Result<Vec<Session>, DbErr> {
    session::Entity::find()
        .filter(session::COLUMN.project_id.eq(project))
        .filter(session::COLUMN.archived_at.is_null())
        .order_by_desc(session::COLUMN.updated_at)
        .limit(limit)
        .all(db.read())
        .await
}

/// A page of a project's sessions by id, newest first, before a cursor.
pub async fn page(
    db: &Db,
    project: ProjectId,
    before: Option<SessionId>,
    limit: u64,
) -> Result<Vec<Session>, DbErr> {
    let mut query = session::Entity::find()
        .filter(session::COLUMN.project_id.eq(project))
        .order_by_desc(session::COLUMN.id)
        .limit(limit);
    if let Some(before) = before {
        query = query.filter(session::COLUMN.id.lt(before));
    }
    query.all(db.read()).await
}

/// The newest sessions in all of a person's projects.
pub async fn recent(db: &Db, owner: UserId, limit: u64) -> Result<Vec<Session>, DbErr> {
    session::Entity::find()
        .filter(owned_by(owner))
        .filter(session::COLUMN.archived_at.is_null())
        .order_by_desc(session::COLUMN.updated_at)
        .limit(limit)
        .all(db.read())
        .await
}

/// Those of a person's sessions in which an agent is at work or waits.
pub async fn active(db: &Db, owner: UserId) -> Result<Vec<Session>, DbErr> {
    session::Entity::find()
        .filter(owned_by(owner))
        .filter(session::COLUMN.status.is_in([SessionStatus::Running, SessionStatus::Waiting]))
        .order_by_desc(session::COLUMN.updated_at)
        .all(db.read())
        .await
}

/// The sessions of a project in which an agent is at work or waits.
pub async fn active_in(db: &Db, project: ProjectId) -> Result<Vec<SessionId>, DbErr> {
    session::Entity::find()
        .select_only()
        .column(session::Column::Id)
        .filter(session::COLUMN.project_id.eq(project))
        .filter(session::COLUMN.status.is_in([SessionStatus::Running, SessionStatus::Waiting]))
        .into_tuple()
        .all(db.read())
        .await
}

/// The ids of all sessions of a project.
pub async fn ids_of(db: &Db, project: ProjectId) -> Result<Vec<SessionId>, DbErr> {
    session::Entity::find()
        .select_only()
        .column(session::Column::Id)
        .filter(session::COLUMN.project_id.eq(project))
        .into_tuple()
        .all(db.read())
        .await
}

/// Every session that some run has left in the middle; for the start of the server.
pub async fn left_running(db: &Db) -> Result<Vec<Session>, DbErr> {
    session::Entity::find()
        .filter(session::COLUMN.status.is_in([SessionStatus::Running, SessionStatus::Waiting]))
        .all(db.read())
        .await
}

/// How many sessions a project has.
pub async fn count(db: &Db, project: ProjectId) -> Result<u64, DbErr> {
    session::Entity::find().filter(session::COLUMN.project_id.eq(project)).count(db.read()).await
}

pub async fn create(db: &impl ConnectionTrait, session: Session) -> Result<Session, DbErr> {
    session.into_active_model().reset_all().insert(db).await
}

/// Removes a session with all that belongs to it.
pub async fn delete(db: &Db, id: SessionId) -> Result<(), DbErr> {
    session::Entity::delete_by_id(id).exec(db.write()).await.map(drop)
}

/// Whether a session's project belongs to a person.
pub(super) fn owned_by(owner: UserId) -> Condition {
    let projects = Query::select()
        .column(project::Column::Id)
        .from(project::Entity)
        .and_where(project::Column::OwnerId.eq(owner))
        .to_owned();
    Condition::all().add(session::Column::ProjectId.in_subquery(projects))
}
