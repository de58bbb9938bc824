//! Commands in the sandbox: what they reach, what they do not, and that they end.

mod support;

mod bounds;
mod escapes;
mod git;
mod harm;
mod network;
mod setups;
