//! How values of the domain are described.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{Object, ObjectBuilder, Type},
    },
};

use crate::domain::{
    ids::{
        ApiTokenId, AskId, AttachmentId, AuditId, BudgetId, MessageId, PartId, ProjectId,
        ProviderId, RuleId, SessionId, SnapshotId, TodoId, UserId,
    },
    token::Scope,
    trust::Trust,
};

/// A ULID.
pub fn id() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-7][0-9A-HJKMNP-TV-Z]{25}$"))
        .examples(["01ARZ3NDEKTSV4RRFFQ69G5FAV"])
        .build()
}

macro_rules! ids {
    ($($name:ident),* $(,)?) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                RefOr::T(Schema::Object(id()))
            }
        }

        impl ToSchema for $name {}
    )*};
}

ids!(
    ApiTokenId,
    AskId,
    AttachmentId,
    AuditId,
    BudgetId,
    MessageId,
    PartId,
    ProjectId,
    ProviderId,
    RuleId,
    SessionId,
    SnapshotId,
    TodoId,
    UserId,
);

/// One of a few words.
pub fn words<const N: usize>(words: [&str; N]) -> RefOr<Schema> {
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
    RefOr::T(Schema::Object(word.build()))
}

impl PartialSchema for Scope {
    fn schema() -> RefOr<Schema> {
        words(["read", "write", "admin"])
    }
}

impl ToSchema for Scope {}

impl PartialSchema for Trust {
    fn schema() -> RefOr<Schema> {
        words(["untrusted", "trusted"])
    }
}

impl ToSchema for Trust {}
