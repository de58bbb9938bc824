//! One file per table.

pub mod api_token;
pub mod ask;
pub mod attachment;
pub mod audit;
pub mod budget;
pub mod idempotency_key;
pub mod message;
pub mod model_favourite;
pub mod part;
pub mod permission_rule;
pub mod project;
pub mod provider;
pub mod session;
pub mod setting;
pub mod sign_in;
pub mod snapshot;
pub mod todo;
pub mod usage;
pub mod user;
