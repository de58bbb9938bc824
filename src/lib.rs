//! Forge is a self-hosted web application in which a team runs AI coding agents on its own
//! repositories.

pub mod adapters;
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod store;
pub mod web;
