//! The permission gate: whether an agent's tool call goes ahead, is asked about or is refused.
//!
//! One gate for every tool. [`judge`] takes the rules of a session and a call, and answers with a
//! verdict, the rule that decided, and what "always" would save. A few rules nobody can override;
//! then a global deny; then the project's, the global and the agent's rules, in each list the last
//! that matches; then the built-in default. A shell command is taken apart, each thing in it is
//! judged on its own, the strictest verdict holds, and what is not understood is asked about.

mod command;
mod defaults;
mod files;
mod fixed;
mod judge;
mod network;
mod paths;
mod pattern;
mod programs;
mod rule;
mod shell;
mod suggest;
#[cfg(test)]
mod tests;
mod touch;

pub use self::{
    files::may_show,
    judge::{About, Call, Judgement, PartJudgement, ProposedRule, judge, judge_below},
    network::{Reachable, may_reach, may_reach_some},
    paths::Place,
    rule::{
        Action, MAX_PATTERN, MAX_TOOL, MCP_PREFIX, Origin, Rule, RuleError, RuleSet, TOOLS, Trust,
    },
};
