//! What goes on after a request has been checked: it uses the store and reaches out, and never
//! renders.

pub mod providers;
pub mod refused;
