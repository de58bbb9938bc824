//! People.

use sea_orm::{
    ActiveModelTrait as _, ColumnTrait as _, ConnectionTrait, DatabaseTransaction, DbBackend,
    DbErr, EntityTrait as _, IntoActiveModel as _, PaginatorTrait as _, QueryFilter as _,
    QueryOrder as _, QuerySelect as _,
};

use super::{
    AdminRow, Db,
    entity::user::{self, Model as User},
};
use crate::domain::{clock::Clock, ids::UserId};

impl AdminRow for User {
    type Id = UserId;

    async fn find_for_admin(db: &Db, id: UserId) -> Result<Option<Self>, DbErr> {
        find(db, id).await
    }
}

/// Finds a person by id; for the guard, which has the id from a sign-in or a token.
pub async fn find(db: &Db, id: UserId) -> Result<Option<User>, DbErr> {
    user::Entity::find_by_id(id).one(db.read()).await
}

/// Finds a person by login or by e-mail address, whatever the case. No login has an `@`.
pub async fn by_login(db: &Db, login: &str) -> Result<Option<User>, DbErr> {
    let key = login.trim().to_lowercase();
    let column = if key.contains('@') {
        user::COLUMN.email_key.eq(key)
    } else {
        user::COLUMN.login_key.eq(key)
    };
    user::Entity::find().filter(column).one(db.read()).await
}

/// Everybody, by login.
pub async fn all(db: &Db) -> Result<Vec<User>, DbErr> {
    user::Entity::find().order_by_asc(user::COLUMN.login_key).all(db.read()).await
}

/// Some people, in no order.
pub async fn by_ids(db: &Db, ids: Vec<UserId>) -> Result<Vec<User>, DbErr> {
    user::Entity::find().filter(user::COLUMN.id.is_in(ids)).all(db.read()).await
}

/// A page of everybody by id, after a cursor.
pub async fn page(db: &Db, after: Option<UserId>, limit: u64) -> Result<Vec<User>, DbErr> {
    let mut query = user::Entity::find().order_by_asc(user::COLUMN.id).limit(limit);
    if let Some(after) = after {
        query = query.filter(user::COLUMN.id.gt(after));
    }
    query.all(db.read()).await
}

/// Whether anybody has an account.
pub async fn any(db: &Db) -> Result<bool, DbErr> {
    Ok(user::Entity::find().count(db.read()).await? > 0)
}

/// What is already taken of a new person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Login,
    Email,
}

/// Whether login or address of a person belong to somebody else.
async fn taken(db: &impl ConnectionTrait, user: &User) -> Result<Option<Taken>, DbErr> {
    let others = user::Entity::find().filter(user::COLUMN.id.ne(user.id));
    if others.clone().filter(user::COLUMN.login_key.eq(&user.login_key)).count(db).await? > 0 {
        return Ok(Some(Taken::Login));
    }
    let Some(email) = &user.email_key else { return Ok(None) };
    let same = others.filter(user::COLUMN.email_key.eq(email.clone())).count(db).await?;
    Ok((same > 0).then_some(Taken::Email))
}

/// Adds a person.
pub async fn create(db: &Db, user: User) -> Result<Result<User, Taken>, DbErr> {
    let tx = alone(db).await?;
    if let Some(taken) = taken(&tx, &user).await? {
        return Ok(Err(taken));
    }
    let user = user.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    Ok(Ok(user))
}

/// Adds the first person, and nobody if there is one already.
pub async fn create_first(db: &Db, user: User) -> Result<Option<User>, DbErr> {
    let tx = alone(db).await?;
    if user::Entity::find().count(&tx).await? > 0 {
        return Ok(None);
    }
    let user = user.into_active_model().reset_all().insert(&tx).await?;
    tx.commit().await?;
    Ok(Some(user))
}

/// Why a person cannot be changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Taken(Taken),
    /// Nobody would be left who can administer Forge.
    LastAdmin,
    /// The person still has projects.
    HasProjects(u64),
    Gone,
}

/// Changes a person, unless that leaves no active admin.
///
/// The change is made to the row as it is inside the transaction, so that two changes at the same
/// time do not undo each other.
pub async fn update(
    db: &Db,
    id: UserId,
    change: impl FnOnce(&mut User),
) -> Result<Result<User, Refused>, DbErr> {
    let tx = alone(db).await?;
    let Some(mut user) = user::Entity::find_by_id(id).one(&tx).await? else {
        return Ok(Err(Refused::Gone));
    };
    let was_admin = is_active_admin(&user);
    change(&mut user);
    if let Some(taken) = taken(&tx, &user).await? {
        return Ok(Err(Refused::Taken(taken)));
    }
    let user = user.into_active_model().reset_all().update(&tx).await?;
    if was_admin && active_admins(&tx).await? == 0 {
        return Ok(Err(Refused::LastAdmin));
    }
    tx.commit().await?;
    Ok(Ok(user))
}

/// Removes a person who has no projects left, unless that leaves no active admin.
pub async fn delete(db: &Db, id: UserId) -> Result<Result<(), Refused>, DbErr> {
    use super::entity::project;
    let tx = alone(db).await?;
    let projects =
        project::Entity::find().filter(project::COLUMN.owner_id.eq(id)).count(&tx).await?;
    if projects > 0 {
        return Ok(Err(Refused::HasProjects(projects)));
    }
    let Some(user) = user::Entity::find_by_id(id).one(&tx).await? else {
        return Ok(Err(Refused::Gone));
    };
    user::Entity::delete_by_id(id).exec(&tx).await?;
    if is_active_admin(&user) && active_admins(&tx).await? == 0 {
        return Ok(Err(Refused::LastAdmin));
    }
    tx.commit().await?;
    Ok(Ok(()))
}

/// Notes a sign-in, with a new hash where the parameters of hashing have changed. Returns the person
/// with the hash of the password that they have shown.
pub async fn signed_in(
    db: &Db,
    clock: &dyn Clock,
    mut user: User,
    rehashed: Option<String>,
) -> Result<User, DbErr> {
    use sea_orm::sea_query::{Expr, ExprTrait as _};
    let mut update = user::Entity::update_many()
        .col_expr(user::Column::LastLoginAt, Expr::value(clock.now()))
        .filter(user::COLUMN.id.eq(user.id));
    if let Some(hash) = rehashed {
        // Not if the password was changed in the meantime.
        let same = Expr::col(user::Column::PasswordHash).eq(&user.password_hash);
        user.password_hash.clone_from(&hash);
        let hash = Expr::case(same, hash).finally(Expr::col(user::Column::PasswordHash));
        update = update.col_expr(user::Column::PasswordHash, hash.into());
    }
    update.exec(db.write()).await?;
    Ok(user)
}

/// A transaction that nobody else who adds, changes or removes people runs beside.
///
/// SQLite has one writer anyway. PostgreSQL would let two at once each count the other's admin.
async fn alone(db: &Db) -> Result<DatabaseTransaction, DbErr> {
    const PEOPLE: &str = "select pg_advisory_xact_lock(7400)";
    let tx = db.begin().await?;
    if tx.get_database_backend() == DbBackend::Postgres {
        tx.execute_unprepared(PEOPLE).await?;
    }
    Ok(tx)
}

fn is_active_admin(user: &User) -> bool {
    user.admin && user.disabled_at.is_none()
}

async fn active_admins(db: &impl ConnectionTrait) -> Result<u64, DbErr> {
    user::Entity::find()
        .filter(user::COLUMN.admin.eq(true))
        .filter(user::COLUMN.disabled_at.is_null())
        .count(db)
        .await
}
