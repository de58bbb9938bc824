//! What a model is told before the first word of its person.
//!
//! It is the same from step to step, byte for byte, so that provider caches hit: it has the date
//! of the session's start, not the time.

use std::path::Path;

use crate::{
    domain::trust::Trust,
    store::entity::{project::Model as Project, session::Model as Session},
};

const BUILD: &str = include_str!("../../private/prompts/build.md");

/// The most bytes of one instruction file that are put in.
const INSTRUCTIONS_MAX: usize = 32 * 1024;

/// The files that may instruct an agent, the strongest first. Only the first that exists is read.
const INSTRUCTION_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// Builds the system prompt of a session.
pub async fn build(session: &Session, project: &Project) -> String {
    let mut prompt = String::from(BUILD.trim_end());
    let branch = project.default_branch.as_deref().unwrap_or("none");
    prompt.push_str(&format!(
        "\n\n# Environment\n\nProject folder: {}\nDefault git branch: {branch}\nPlatform: {}\nDate: {}\n",
        project.path,
        std::env::consts::OS,
        session.created_at.format("%Y-%m-%d"),
    ));
    if project.trust_status == Trust::Trusted
        && let Some((name, text)) = instructions(Path::new(&project.path)).await
    {
        prompt.push_str(&format!(
            "\n# Instructions of the project ({name})\n\n{}\n",
            text.trim_end()
        ));
    }
    prompt
}

async fn instructions(root: &Path) -> Option<(&'static str, String)> {
    for name in INSTRUCTION_FILES {
        let path = root.join(name);
        let Ok(meta) = tokio::fs::symlink_metadata(&path).await else { continue };
        if !meta.is_file() {
            continue;
        }
        let Ok(bytes) = tokio::fs::read(&path).await else { continue };
        let cut = bytes.len() > INSTRUCTIONS_MAX;
        let mut text =
            String::from_utf8_lossy(&bytes[..bytes.len().min(INSTRUCTIONS_MAX)]).into_owned();
        if cut {
            text.push_str("\n… The file goes on; read it for the rest.");
        }
        return Some((name, text));
    }
    None
}
