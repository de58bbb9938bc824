//! What goes on beside or after a request's answer.

pub mod passwords;
