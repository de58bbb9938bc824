//! Projects, always together with their owner.

use chrono::{DateTime, Utc};
use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, DbErr, EntityTrait as _, IntoActiveModel as _,
    QueryFilter as _, QueryOrder as _, QuerySelect as _, Set,
};

use super::{
    Db, OwnedRow,
    entity::project::{self, Model as Project},
};
use crate::domain::{
    ids::{ProjectId, UserId},
    trust::Trust,
};

impl OwnedRow for Project {
    type Id = ProjectId;

    async fn find_owned(db: &Db, owner: UserId, id: ProjectId) -> Result<Option<Self>, DbErr> {
        project::Entity::find_by_id(id)
            .filter(project::COLUMN.owner_id.eq(owner))
            .one(db.read())
            .await
    }
}

/// A person's projects, the one opened last first.
pub async fn of(db: &Db, owner: UserId) -> Result<Vec<Project>, DbErr> {
    project::Entity::find()
        .filter(project::COLUMN.owner_id.eq(owner))
        .order_by_desc(project::COLUMN.opened_at)
        .order_by_asc(project::COLUMN.name)
        .all(db.read())
        .await
}

/// A page of a person's projects by id, after a cursor.
pub async fn page(
    db: &Db,
    owner: UserId,
    after: Option<ProjectId>,
    limit: u64,
) -> Result<Vec<Project>, DbErr> {
    let mut query = project::Entity::find()
        .filter(project::COLUMN.owner_id.eq(owner))
        .order_by_asc(project::COLUMN.id)
        .limit(limit);
    if let Some(after) = after {
        query = query.filter(project::COLUMN.id.gt(after));
    }
    query.all(db.read()).await
}

/// The folders of everybody's projects, so that none is put inside or around another.
pub async fn paths(db: &Db) -> Result<Vec<String>, DbErr> {
    project::Entity::find()
        .select_only()
        .column(project::Column::Path)
        .into_tuple()
        .all(db.read())
        .await
}

/// Adds a project. The caller has checked its folder; a race for one folder ends in an error.
pub async fn create(db: &Db, project: Project) -> Result<Project, DbErr> {
    project.into_active_model().reset_all().insert(db.write()).await
}

pub async fn rename(
    db: &Db,
    project: Project,
    name: String,
    now: DateTime<Utc>,
) -> Result<Project, DbErr> {
    let mut project = project.into_active_model();
    project.name = Set(name);
    project.updated_at = Set(now);
    project.update(db.write()).await
}

pub async fn set_trust(
    db: &Db,
    project: Project,
    trust: Trust,
    now: DateTime<Utc>,
) -> Result<Project, DbErr> {
    let mut project = project.into_active_model();
    project.trust_status = Set(trust);
    project.updated_at = Set(now);
    let project = project.update(db.write()).await?;
    db.gates_changed();
    Ok(project)
}

/// Notes that somebody looked at it.
pub async fn opened(db: &Db, project: Project, now: DateTime<Utc>) -> Result<Project, DbErr> {
    let mut project = project.into_active_model();
    project.opened_at = Set(Some(now));
    project.update(db.write()).await
}

/// What a look at a project's folder has brought.
#[derive(Clone, Debug)]
pub struct Noticed {
    /// The instruction files that are there.
    pub instructions: Vec<String>,
    pub at: DateTime<Utc>,
}

/// Notes that somebody looked at a project, and what its folder said of itself.
pub async fn noticed(db: &Db, project: Project, noticed: Noticed) -> Result<Project, DbErr> {
    let mut project = project.into_active_model();
    project.instructions = Set(noticed.instructions.into());
    project.opened_at = Set(Some(noticed.at));
    project.update(db.write()).await
}

/// Removes a project with its sessions and all that belongs to them, and no file of its folder.
pub async fn delete(db: &Db, project: Project) -> Result<(), DbErr> {
    project::Entity::delete_by_id(project.id).exec(db.write()).await.map(drop)
}
