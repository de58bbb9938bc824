//! All integration tests, in one program so that there is one program to link.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod access;
mod accounts;
mod against_bash;
mod api_base;
mod attachments;
mod budgets;
mod cli;
mod crash;
mod hostile;
mod journal;
mod model;
mod model_cases;
mod model_kinds;
mod model_real;
mod models;
mod projects;
mod providers;
mod rules;
mod runner;
mod sandbox;
mod sandbox_page;
mod session_api;
mod session_page;
mod settings;
mod sign_ins;
mod snapshots;
mod support;
mod tidy;
mod tools;
mod upkeep;
mod usage;
