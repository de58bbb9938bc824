//! What goes on beside or after a request's answer: it uses the store and reaches out, and never
//! renders.

pub mod passwords;
pub mod providers;
pub mod refused;
pub mod rules;
