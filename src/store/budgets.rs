//! Budgets, found through whoever may change them.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, Condition, DbErr, EntityTrait as _,
    IntoActiveModel as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _, QuerySelect as _,
    Select, sea_query::Query,
};

use super::{
    Db, OwnedRow,
    entity::{
        budget::{self, Model as Budget},
        project, session, user,
    },
};
use crate::domain::{
    budget::Scope,
    ids::{BudgetId, ProjectId, SessionId, UserId},
};

/// Whoever set it, or any administrator where an administrator did.
impl OwnedRow for Budget {
    type Id = BudgetId;

    async fn find_owned(db: &Db, owner: UserId, id: BudgetId) -> Result<Option<Self>, DbErr> {
        let admin = Query::select()
            .column(user::Column::Id)
            .from(user::Entity)
            .and_where(user::Column::Id.eq(owner))
            .and_where(user::Column::Admin.eq(true))
            .to_owned();
        let theirs = Condition::any().add(budget::COLUMN.owner_id.eq(owner)).add(
            Condition::all()
                .add(budget::COLUMN.owner_id.is_null())
                .add(sea_orm::sea_query::Expr::exists(admin)),
        );
        budget::Entity::find_by_id(id).filter(theirs).one(db.read()).await
    }
}

/// The budgets that hold for a call: everyone's, the person's, the project's and the session's.
pub async fn holding(
    db: &Db,
    user: UserId,
    project: Option<ProjectId>,
    session: Option<SessionId>,
) -> Result<Vec<Budget>, DbErr> {
    if db.has_no_budgets() {
        return Ok(Vec::new());
    }
    let added = db.budgets_added();
    let found = held_by(user, project, session).all(db.read()).await?;
    if found.is_empty() && budget::Entity::find().limit(1).one(db.read()).await?.is_none() {
        db.no_budgets_at(added);
    }
    Ok(found)
}

fn held_by(
    user: UserId,
    project: Option<ProjectId>,
    session: Option<SessionId>,
) -> Select<budget::Entity> {
    let mut any = Condition::any()
        .add(budget::COLUMN.scope.eq(Scope::Everyone))
        .add(budget::COLUMN.user_id.eq(user));
    if let Some(project) = project {
        any = any.add(budget::COLUMN.project_id.eq(project));
    }
    if let Some(session) = session {
        any = any.add(budget::COLUMN.session_id.eq(session));
    }
    budget::Entity::find().filter(any).order_by_asc(budget::COLUMN.id)
}

/// A page by id, after a cursor: all that a person may see. Those are what holds for them, for
/// their projects and for their sessions; for administrators also what administrators have set.
pub async fn page(
    db: &Db,
    user: UserId,
    admin: bool,
    after: Option<BudgetId>,
    limit: u64,
) -> Result<Vec<Budget>, DbErr> {
    let projects = Query::select()
        .column(project::Column::Id)
        .from(project::Entity)
        .and_where(project::Column::OwnerId.eq(user))
        .to_owned();
    let sessions = Query::select()
        .column(session::Column::Id)
        .from(session::Entity)
        .and_where(session::Column::ProjectId.in_subquery(projects.clone()))
        .to_owned();
    let mut any = Condition::any()
        .add(budget::COLUMN.scope.eq(Scope::Everyone))
        .add(budget::COLUMN.user_id.eq(user))
        .add(budget::Column::ProjectId.in_subquery(projects))
        .add(budget::Column::SessionId.in_subquery(sessions));
    if admin {
        any = any.add(budget::COLUMN.owner_id.is_null());
    }
    let mut query = budget::Entity::find().filter(any);
    if let Some(after) = after {
        query = query.filter(budget::COLUMN.id.gt(after));
    }
    query.order_by_asc(budget::COLUMN.id).limit(limit).all(db.read()).await
}

/// Why a budget is not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is one for the same period already.
    Twice,
    TooMany,
    /// Whom it is about is not there any more.
    Gone,
}

/// Adds a budget, where there is none by the same hand for the same period, and where there are
/// not too many by that hand.
pub async fn create(db: &Db, budget: Budget, most: u64) -> Result<Result<Budget, Refused>, DbErr> {
    let tx = db.begin().await?;
    let by_same = match budget.owner_id {
        Some(owner) => budget::COLUMN.owner_id.eq(owner),
        None => budget::COLUMN.owner_id.is_null(),
    };
    let by_same = budget::Entity::find().filter(by_same);
    if by_same.clone().count(&tx).await? >= most {
        return Ok(Err(Refused::TooMany));
    }
    let mut same = by_same
        .filter(budget::COLUMN.scope.eq(budget.scope))
        .filter(budget::COLUMN.period.eq(budget.period));
    if let Some(user) = budget.user_id {
        same = same.filter(budget::COLUMN.user_id.eq(user));
        if user::Entity::find_by_id(user).one(&tx).await?.is_none() {
            return Ok(Err(Refused::Gone));
        }
    }
    if let Some(project) = budget.project_id {
        same = same.filter(budget::COLUMN.project_id.eq(project));
        if project::Entity::find_by_id(project).one(&tx).await?.is_none() {
            return Ok(Err(Refused::Gone));
        }
    }
    if let Some(session) = budget.session_id {
        same = same.filter(budget::COLUMN.session_id.eq(session));
        if session::Entity::find_by_id(session).one(&tx).await?.is_none() {
            return Ok(Err(Refused::Gone));
        }
    }
    if same.count(&tx).await? > 0 {
        return Ok(Err(Refused::Twice));
    }
    let budget = budget.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    db.budget_added();
    Ok(Ok(budget))
}

pub async fn update(db: &Db, budget: Budget) -> Result<Budget, DbErr> {
    match budget.into_active_model().reset_all().update(db.write()).await {
        Err(DbErr::RecordNotUpdated) => Err(DbErr::RecordNotFound("budget".into())),
        updated => updated,
    }
}

pub async fn delete(db: &Db, id: BudgetId) -> Result<(), DbErr> {
    budget::Entity::delete_by_id(id).exec(db.write()).await.map(drop)
}

/// The names of projects, for lists of budgets.
pub async fn project_names(
    db: &Db,
    ids: Vec<ProjectId>,
) -> Result<Vec<(ProjectId, String)>, DbErr> {
    project::Entity::find()
        .select_only()
        .column(project::Column::Id)
        .column(project::Column::Name)
        .filter(project::Column::Id.is_in(ids))
        .into_tuple()
        .all(db.read())
        .await
}

/// Everybody's projects by name, for administrators who set budgets.
pub async fn projects(db: &Db, limit: u64) -> Result<Vec<(ProjectId, String)>, DbErr> {
    project::Entity::find()
        .select_only()
        .column(project::Column::Id)
        .column(project::Column::Name)
        .order_by_asc(project::COLUMN.name)
        .limit(limit)
        .into_tuple()
        .all(db.read())
        .await
}

#[cfg(test)]
mod tests {
    use super::{super::db::plan, *};

    #[tokio::test]
    async fn the_budgets_of_a_call_are_found_by_index() {
        const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let (user, project, session) =
            (ID.parse().unwrap(), ID.parse().unwrap(), ID.parse().unwrap());
        for query in [held_by(user, Some(project), Some(session)), held_by(user, None, None)] {
            let plan = plan(query).await;
            assert!(plan.contains("USING INDEX") && !plan.contains("SCAN budgets"), "{plan}");
        }
    }
}
