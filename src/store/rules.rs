//! Permission rules, as ordered lists: one for everything, one for each project.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, Condition, DbErr, EntityTrait as _,
    IntoActiveModel as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _, Set,
};

use super::{
    Db,
    entity::permission_rule::{self, Model as Rule},
};
use crate::domain::ids::ProjectId;

/// The list of a project, or the global one, in order.
pub async fn list(db: &Db, project: Option<ProjectId>) -> Result<Vec<Rule>, DbErr> {
    permission_rule::Entity::find()
        .filter(of(project))
        .order_by_asc(permission_rule::COLUMN.position)
        .all(db.read())
        .await
}

/// Both lists that hold for a project with one query: the global rules and the project's.
pub async fn for_project(db: &Db, project: ProjectId) -> Result<Vec<Rule>, DbErr> {
    permission_rule::Entity::find()
        .filter(
            Condition::any()
                .add(permission_rule::COLUMN.project_id.is_null())
                .add(permission_rule::COLUMN.project_id.eq(project)),
        )
        .order_by_asc(permission_rule::COLUMN.position)
        .all(db.read())
        .await
}

/// Puts another list in place of one, made from what it is at this moment, so that no rule is lost
/// that somebody else adds meanwhile. Nothing changes where `change` refuses.
pub async fn change<E>(
    db: &Db,
    project: Option<ProjectId>,
    change: impl FnOnce(Vec<Rule>) -> Result<Vec<Rule>, E>,
) -> Result<Result<Vec<Rule>, E>, DbErr> {
    let tx = db.begin().await?;
    let present = permission_rule::Entity::find()
        .filter(of(project))
        .order_by_asc(permission_rule::COLUMN.position)
        .all(&tx)
        .await?;
    let mut rules = match change(present) {
        Ok(rules) => rules,
        Err(refused) => return Ok(Err(refused)),
    };
    for (position, rule) in (0..).zip(&mut rules) {
        rule.position = position;
    }
    permission_rule::Entity::delete_many().filter(of(project)).exec(&tx).await?;
    if !rules.is_empty() {
        let rows = rules.iter().cloned().map(|it| it.into_active_model().reset_all());
        permission_rule::Entity::insert_many(rows).exec_without_returning(&tx).await?;
    }
    tx.commit().await?;
    db.gates_changed();
    Ok(Ok(rules))
}

/// Puts a rule at the end of its list, where it wins.
pub async fn append(db: &Db, rule: Rule) -> Result<(), DbErr> {
    let tx = db.begin().await?;
    let count = permission_rule::Entity::find().filter(of(rule.project_id)).count(&tx).await?;
    let mut rule = rule.into_active_model().reset_all();
    rule.position = Set(i32::try_from(count).unwrap_or(i32::MAX));
    rule.insert(&tx).await?;
    tx.commit().await?;
    db.gates_changed();
    Ok(())
}

fn of(project: Option<ProjectId>) -> Condition {
    let column = permission_rule::COLUMN.project_id;
    Condition::all().add(match project {
        Some(project) => column.eq(project),
        None => column.is_null(),
    })
}
