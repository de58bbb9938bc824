//! The tools that agents have: what a model reads about them, what a call is about, and running
//! those that work on files.
//!
//! A call goes: [`subject`] says what it is about, the permission gate judges that, and [`run`]
//! carries it out on exactly what was judged.

pub mod apply_patch;
pub mod bash;
mod change;
pub mod disk;
pub mod edit;
pub mod files;
pub mod glob;
pub mod grep;
pub mod input;
pub mod jobs;
pub mod list;
pub mod multi_edit;
pub mod paths;
pub mod read;
mod schema;
pub mod todo_write;
mod walk;
pub mod write;

use std::{
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use serde_json::Value;

pub use self::{
    files::Files,
    paths::{Target, resolve},
};
use crate::domain::ids::SessionId;

/// What a model is told about a tool.
#[derive(Debug)]
pub struct Spec {
    pub name: &'static str,
    pub description: &'static str,
    /// A strict JSON Schema of the input.
    pub schema: fn() -> Value,
    pub effect: Effect,
}

/// Calls that only read may run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Changes,
}

macro_rules! specs {
    ($($name:ident $effect:ident),* $(,)?) => {
        [$(Spec {
            name: stringify!($name),
            description: include_str!(concat!("../../../private/tools/", stringify!($name), ".md")).trim_ascii_end(),
            schema: input::$name,
            effect: Effect::$effect,
        }),*]
    };
}

/// By name, because what a provider caches must not depend on an order that changes.
static SPECS: [Spec; 12] = specs! {
    apply_patch Changes, bash Changes, bash_kill Changes, bash_output Reads, edit Changes, glob Reads, grep Reads,
    list Reads, multi_edit Changes, read Reads, todo_write Changes, write Changes,
};

/// All tools, sorted by name.
pub fn all() -> &'static [Spec] {
    &SPECS
}

pub fn find(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}

/// What a call is about, as far as a permission rule can talk about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Path(Target),
    /// A shell command, and the folder that it starts in where that is not the project's own.
    Command {
        text: String,
        folder: Option<Target>,
    },
    /// Nothing that a rule could tell apart.
    Plain,
}

/// A call may be about several things, and each is judged.
pub type Subjects = Vec<Subject>;

/// What a call is about, before it runs. An error is a sentence for the model: the input is wrong.
pub fn subject(root: &Path, tool: &str, input: &Value) -> Result<Subjects, String> {
    let path = |given: &str| resolve(root, given).map(|target| vec![Subject::Path(target)]);
    let input = input.clone();
    match tool {
        "read" => path(&input::parse::<input::Read>(tool, input)?.path),
        "write" => path(&input::parse::<input::Write>(tool, input)?.path),
        "edit" => path(&input::parse::<input::Edit>(tool, input)?.path),
        "multi_edit" => path(&input::parse::<input::MultiEdit>(tool, input)?.path),
        "apply_patch" => {
            let targets = apply_patch::targets(root, &apply_patch::read(input)?)?;
            Ok(targets.into_iter().map(Subject::Path).collect())
        }
        "list" => path(folder(input::parse::<input::List>(tool, input)?.path.as_deref())),
        "glob" => path(folder(input::parse::<input::Glob>(tool, input)?.path.as_deref())),
        "grep" => path(folder(input::parse::<input::Grep>(tool, input)?.path.as_deref())),
        "bash" => {
            let input: input::Bash = input::parse(tool, input)?;
            let folder = workdir(root, input.workdir.as_deref())?;
            let place = folder.clone().map(Subject::Path);
            let command = Subject::Command { text: input.command, folder };
            Ok([command].into_iter().chain(place).collect())
        }
        "bash_output" => {
            input::parse::<input::BashOutput>(tool, input).map(|_| vec![Subject::Plain])
        }
        "bash_kill" => input::parse::<input::BashKill>(tool, input).map(|_| vec![Subject::Plain]),
        "todo_write" => input::parse::<input::TodoWrite>(tool, input).map(|_| vec![Subject::Plain]),
        _ => {
            let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
            Err(format!("There is no tool {tool}; there are: {}.", names.join(", ")))
        }
    }
}

/// The folder that a command starts in, where that is not the project's own.
fn workdir(root: &Path, given: Option<&str>) -> Result<Option<Target>, String> {
    let Some(given) = given.filter(|path| !path.is_empty()) else { return Ok(None) };
    let target = resolve(root, given)?;
    Ok((target.inside.as_deref() != Some(".")).then_some(target))
}

/// The folder that a search starts from.
fn folder(given: Option<&str>) -> &str {
    given.filter(|path| !path.is_empty()).unwrap_or(".")
}

/// What became of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the model is told, bounded. Empty where the call failed.
    pub output: String,
    /// Why it failed, in a sentence for the model.
    pub error: Option<String>,
    /// The subject of the call for the page.
    pub title: String,
    /// What the page draws besides; its shape depends on the tool.
    pub metadata: Value,
}

impl Outcome {
    fn failed(title: String, error: String) -> Self {
        Self { error: Some(error), title, ..Self::default() }
    }

    /// The same for the same outcome, as the model sees it.
    pub fn signature(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.output, &self.error).hash(&mut hasher);
        hasher.finish()
    }

    /// The outcome of work that returns all but the title.
    fn of(title: String, result: Result<(String, Value), String>) -> Self {
        match result {
            Ok((output, metadata)) => Self { output, error: None, title, metadata },
            Err(error) => Self::failed(title, error),
        }
    }
}

/// Keeps what a file was before a tool changes it, so that the change can be undone.
pub trait Recorder: Send + Sync {
    /// Called under the file's lock, just before its first byte is changed. An error stops the
    /// change. Files outside the project are not reported.
    fn before_change<'a>(
        &'a self,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
}

/// Which paths a search must not show, because a rule forbids to read them. Shows all by default.
#[derive(Clone, Default)]
pub struct Veil(Option<Arc<Hidden>>);

type Hidden = dyn Fn(&str) -> bool + Send + Sync;

impl Veil {
    /// `hidden` is asked with a path relative to the project, or an absolute one outside of it.
    pub fn new(hidden: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hidden)))
    }

    pub fn hides(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|hidden| hidden(path))
    }
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

/// Where and for whom a file tool runs.
pub struct FileContext<'a> {
    /// The project's folder.
    pub root: &'a Path,
    pub session: SessionId,
    pub files: &'a Files,
    pub recorder: &'a dyn Recorder,
    /// Folders outside the project that read may page through: spilled outputs. Real paths.
    pub readable: &'a [PathBuf],
    /// What [`subject`] returned and the gate let pass. The call touches nothing else, even if its
    /// path leads somewhere else by now.
    pub allowed: &'a [Subject],
    pub veil: Veil,
}

impl FileContext<'_> {
    /// Where a path leads, if that is what was allowed.
    fn target(&self, given: &str) -> Result<Target, String> {
        let target = resolve(self.root, given)?;
        let judged = |subject: &Subject| matches!(subject, Subject::Path(judged) if judged.real == target.real);
        match self.allowed.iter().any(judged) {
            true => Ok(target),
            false => Err(disk::Trouble::Moved.about(&target)),
        }
    }
}

/// Runs one of the tools that work on files.
pub async fn run(tool: &str, context: &FileContext<'_>, input: Value) -> Outcome {
    match tool {
        "read" => read::run(context, input).await,
        "write" => write::run(context, input).await,
        "edit" => edit::run(context, input).await,
        "multi_edit" => multi_edit::run(context, input).await,
        "apply_patch" => apply_patch::run(context, input).await,
        "list" => list::run(context, input).await,
        "glob" => glob::run(context, input).await,
        "grep" => grep::run(context, input).await,
        _ => Outcome::failed(tool.to_owned(), format!("{tool} is no tool that works on files.")),
    }
}

/// Does work that waits for the disk or computes for long, away from the threads that serve pages.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|err| {
        tracing::error!(%err, "a file tool panicked");
        Err("The tool failed inside. Nothing more is known; try another way.".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_reads_about_tools_is_short_and_in_order() {
        let bytes: usize = all()
            .iter()
            .map(|it| it.name.len() + it.description.len() + (it.schema)().to_string().len())
            .sum();
        assert!(bytes / 4 < 1_500, "{} tokens", bytes / 4);
        assert!(all().is_sorted_by_key(|spec| spec.name));
    }

    #[test]
    fn every_schema_is_strict() {
        for spec in all() {
            let schema = (spec.schema)();
            assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
            assert!(!spec.description.is_empty());
        }
    }

    #[test]
    fn calls_are_about_paths_commands_or_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let about = |tool: &str, input: Value| subject(temp.path(), tool, &input);
        let path = |tool: &str, input: Value| match about(tool, input).unwrap().remove(0) {
            Subject::Path(target) => target.inside,
            other => panic!("{other:?}"),
        };
        assert_eq!(path("read", serde_json::json!({"path": "a/../b"})).as_deref(), Some("b"));
        assert_eq!(path("grep", serde_json::json!({"pattern": "x"})).as_deref(), Some("."));
        assert_eq!(path("list", serde_json::json!({"path": "/etc"})), None);
        let bash = about("bash", serde_json::json!({"command": "ls", "workdir": "src"})).unwrap();
        assert!(
            matches!(&bash[..], [Subject::Command { text, folder: Some(_) }, Subject::Path(_)] if text == "ls")
        );
        let bash = about("bash", serde_json::json!({"command": "ls", "workdir": "./"})).unwrap();
        assert!(matches!(&bash[..], [Subject::Command { folder: None, .. }]));
        assert_eq!(about("todo_write", serde_json::json!({"todos": []})), Ok(vec![Subject::Plain]));
        assert!(
            about("reed", Value::Null)
                .unwrap_err()
                .contains("there are: apply_patch, bash, bash_kill")
        );
    }
}
