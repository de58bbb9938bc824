//! What holds where no rule says anything.

use super::{
    fixed,
    paths::file_name,
    rule::{Action, MCP_PREFIX, READERS, WRITERS},
};

/// A default and the sentence that explains it.
pub(super) type Default = (Action, &'static str);

/// Why a command does not reach a host that no rule is about.
const NO_NETWORK: &str = "built-in: commands reach no host unless a rule for network allows it";

/// What a tool may do when it is known to stay in the project.
pub(super) fn of_tool(tool: &str) -> Default {
    match tool {
        _ if READERS.contains(&tool) => {
            (Action::Allow, "built-in: reading in the project is allowed")
        }
        _ if WRITERS.contains(&tool) => {
            (Action::Allow, "built-in: changes in the project are allowed, they can be undone")
        }
        "todo_write" | "question" | "skill" => {
            (Action::Allow, "built-in: it changes nothing in the project")
        }
        // What a sub-agent does is judged call by call.
        "task" => (Action::Allow, "built-in: a sub-agent's calls are judged on their own"),
        "bash_output" | "bash_kill" => (Action::Allow, "built-in: the session's own jobs"),
        "bash" => (Action::Ask, "built-in: commands are asked about"),
        "web_fetch" | "web_search" => (Action::Ask, "built-in: the web is asked about"),
        // Only rules let commands out.
        "network" => (Action::Deny, NO_NETWORK),
        "memory_remember" => (Action::Ask, "built-in: what is remembered is asked about"),
        "external_directory" => {
            (Action::Ask, "built-in: paths outside the project are asked about")
        }
        _ if tool.starts_with(MCP_PREFIX) => {
            (Action::Ask, "built-in: tools of MCP servers are asked about")
        }
        _ => (Action::Ask, "built-in: unknown tools are asked about"),
    }
}

/// What a tool may do with a path.
pub(super) fn of_path(tool: &str, path: &str) -> Default {
    let shows = matches!(tool, "read" | "grep");
    let changes = WRITERS.contains(&tool);
    if shows && is_secret(path) {
        return (Action::Ask, "built-in: files that hold secrets are asked about");
    }
    if changes && fixed::in_git(path) {
        return (Action::Ask, "built-in: changes in .git are asked about");
    }
    if changes && steers_agents(path) {
        return (Action::Ask, "built-in: files that steer the agents are asked about");
    }
    of_tool(tool)
}

/// Whether a tool works in a project that is not trusted as it does in another one.
pub(super) fn is_harmless_untrusted(tool: &str) -> bool {
    READERS.contains(&tool)
        || matches!(
            tool,
            "todo_write" | "question" | "skill" | "task" | "bash_output" | "bash_kill"
        )
}

/// Whether a file's name says that it holds a secret.
pub(super) fn is_secret(path: &str) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|it| name.ends_with(it));
    // Samples are made to be read.
    let environment = (name == ".env" || name.starts_with(".env.") || name == ".envrc")
        && !ends(&[".example", ".sample", ".template", ".dist"]);
    let private_key = name.starts_with("id_") && !name.contains('.');
    environment
        || private_key
        || ends(&[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"])
        || matches!(
            name.as_str(),
            ".netrc" | ".pgpass" | ".pypirc" | ".git-credentials" | ".htpasswd"
        )
}

/// Whether Forge or another agent program takes orders from a file.
fn steers_agents(path: &str) -> bool {
    path.split('/').any(|it| matches!(it, ".forge" | ".claude" | ".opencode"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for path in [".env", "a/.env.local", "tls/server.pem", "id_ed25519", "x/.netrc", "A.KEY"] {
            assert!(is_secret(path), "{path}");
        }
        for path in [".env.example", "id_rsa.pub", "src/id_map.rs", "environment.ts", "keys.rs"] {
            assert!(!is_secret(path), "{path}");
        }
    }

    #[test]
    fn a_tool_nobody_knows_is_asked_about() {
        assert_eq!(of_tool("format_disk").0, Action::Ask);
        assert_eq!(of_tool("mcp__github__create_issue").0, Action::Ask);
    }
}
