//! Decisions, as plain functions over plain values.
//!
//! Nothing here waits, reads a file, opens a socket, looks at a clock or fails for a reason
//! outside its arguments. That is what lets every rule of the product be tested in a line.

pub mod ask;
pub mod attachment;
pub mod budget;
pub mod catalogue;
pub mod clock;
pub mod conversation;
pub mod device;
pub mod diff;
pub mod edit;
pub mod fault;
pub mod git_config;
pub mod ids;
pub mod login;
pub mod message;
pub mod model;
pub mod name;
pub mod output;
pub mod permission;
pub mod project;
pub mod provider;
pub mod reach;
pub mod retry;
pub mod secret;
pub mod session;
pub mod settings;
pub mod text;
pub mod throttle;
pub mod token;
pub mod trust;
pub mod turn;
pub mod undo;
pub mod zone;
