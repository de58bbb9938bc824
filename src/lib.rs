//! Forge is a self-hosted web application in which a team runs AI coding agents on its own
//! repositories, from a browser.
//!
//! # Map
//!
//! The code lies in layers, and a layer uses only those above it in this table. `store` and
//! `adapters` do not know each other. `tests/it/tidy.rs` holds the source to it.
//!
//! | layer        | what lives there                                                            |
//! |--------------|------------------------------------------------------------------------------|
//! | [`domain`]   | decides: plain functions over plain values, no I/O, no clock of its own        |
//! | [`config`]   | what the operator decides                                                     |
//! | [`store`]    | remembers: tables, and the questions asked of them; only here is sea-orm        |
//! | [`adapters`] | reaches out: models, the sandbox, git, blobs, the vault                        |
//! | [`engine`]   | goes on after the request was answered: runs, tools, the gate, live fan-out     |
//! | [`app`]      | the parts of a running Forge, wired once                                       |
//! | [`web`]      | shows: routes, guards, pages, streams, the JSON API; only here are actix, askama |
//! | [`cli`]      | the command line: `serve`, `admin`, `token`, `migrate`                         |
//!
//! A feature keeps its name in every layer: permissions are `domain/permission/`,
//! `store/rules.rs`, `engine/rules.rs` and `engine/gate.rs`, `web/rules.rs`, `web/api/rules.rs`
//! and `templates/rules/`.
//!
//! # Three walks
//!
//! **A page.** [`web::routes`] is a table: address, door, handler. The door is a guard
//! ([`web::guard`]): cookie or token → person → the row that `{id}` names, by id *and* owner,
//! else 404. The handler takes [`web::extract::Owned`] and what else it needs, asks the store,
//! fills a struct that is an askama template, and answers with [`web::page::html`].
//!
//! **A change.** The same door; then `Form` or `Json`, whose errors are ours; a function of the
//! engine or of [`app`] that both the page and the API call; the store. With htmx the changed block
//! is answered, without it a redirect. What goes wrong is a [`web::error::Error`], which becomes a
//! page, a toast or a problem document depending on who asked.
//!
//! **A prompt.** [`engine::sessions::prompt`] stores it and wakes the runner
//! ([`engine::runner`]), which rebuilds the conversation from what is stored and carries out the
//! orders of a [`domain::turn::Turn`]: call the model, run a tool, ask a person. A call passes
//! [`engine::gate`]; its files go through [`engine::tools`] under a lock, with their earlier
//! content kept by [`engine::snapshots`]; commands run in [`adapters::sandbox`]. What happened is
//! stored by [`store::journal`], each change with the session's next `seq`, and then told to
//! [`engine::hub`]. [`web::live`] gives whoever follows what they missed, then each open part as
//! it stands, then what comes; pages draw it as HTML, programs read it as JSON.
//!
//! # What always holds
//!
//! - Every row of a person is reached through that person; there is no `find(id)` for them.
//! - The engine never renders, and no request waits for a model.
//! - Every text that a model or a page sees is bounded.
//! - What a page shows is a function of what is stored: a reload draws the same.
//! - Writes go through one connection; a crash loses the step in flight and nothing else.
//! - A model is never sent a call without its result.
//! - Secrets are sealed in the database, masked in what is printed, and absent from logs.
//!
//! # Words
//!
//! A *session* is a conversation with an agent; a browser's login is a *sign-in*. A *run* answers
//! prompts until there is nothing more to do; a *step* is one call of the model with the tool calls
//! it asks for. An *ask* is a question of an agent to a person. A *part* is a piece of a message.

pub mod adapters;
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod store;
pub mod web;
