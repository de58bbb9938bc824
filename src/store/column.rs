//! Lets domain values sit in text columns without the domain knowing about the database.

use std::sync::Arc;

use sea_orm::{
    ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryFromU64, TryGetError, TryGetable,
    Value,
    sea_query::{ArrayType, ColumnType, Nullable, StringLen, ValueType, ValueTypeErr},
};

use crate::domain::{
    budget::{Period, Scope as BudgetScope},
    conversation::Effort,
    ids::{
        ApiTokenId, AskId, AttachmentId, AuditId, BudgetId, MessageId, PartId, ProjectId,
        ProviderId, RuleId, SessionId, SnapshotId, TodoId, UsageId, UserId,
    },
    message::{FileKind, Role},
    provider::Kind,
    session::{AskKind, AskStatus, Queued, SessionStatus, TodoStatus},
    token::Scope,
    trust::Trust,
};

/// Stores a type as the text it displays as, and reads it back by parsing.
macro_rules! text_column {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Value {
            fn from(value: $name) -> Self {
                value.to_string().into()
            }
        }

        impl TryGetable for $name {
            fn try_get_by<I: ColIdx>(row: &QueryResult, index: I) -> Result<Self, TryGetError> {
                String::try_get_by(row, index)?.parse().map_err(|err| {
                    TryGetError::DbErr(DbErr::TryIntoErr {
                        from: "text",
                        into: stringify!($name),
                        source: Arc::new(err),
                    })
                })
            }
        }

        impl ValueType for $name {
            fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
                let text = <String as ValueType>::try_from(value)?;
                text.parse().map_err(|_| ValueTypeErr)
            }

            fn type_name() -> String {
                stringify!($name).to_owned()
            }

            fn array_type() -> ArrayType {
                ArrayType::String
            }

            fn column_type() -> ColumnType {
                ColumnType::String(StringLen::None)
            }
        }

        impl Nullable for $name {
            fn null() -> Value {
                Value::String(None)
            }
        }

        impl IntoActiveValue<$name> for $name {
            fn into_active_value(self) -> ActiveValue<$name> {
                ActiveValue::Set(self)
            }
        }

        /// Required of primary keys; never used, because we mint our own.
        impl TryFromU64 for $name {
            fn try_from_u64(_: u64) -> Result<Self, DbErr> {
                Err(DbErr::ConvertFromU64(stringify!($name)))
            }
        }
    )*};
}

text_column!(
    ApiTokenId,
    AskId,
    AttachmentId,
    AuditId,
    BudgetId,
    BudgetScope,
    Period,
    MessageId,
    PartId,
    ProjectId,
    ProviderId,
    RuleId,
    SessionId,
    SnapshotId,
    TodoId,
    UsageId,
    UserId,
    Role,
    FileKind,
    Effort,
    Kind,
    AskKind,
    AskStatus,
    Queued,
    SessionStatus,
    TodoStatus,
    Scope,
    Trust,
);
