//! The file tools on real folders.

mod change;
mod field_cases;
mod patch;
mod paths;
mod read;
mod scenarios;
mod search;

use std::{
    fs,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Mutex,
};

use forge::{
    domain::ids::SessionId,
    engine::tools::{self, FileContext, Files, Outcome, Recorder, Subject, Veil},
};
use serde_json::Value;
use tempfile::TempDir;

/// A project's folder, and what sessions share about it.
struct Project {
    _temp: TempDir,
    root: PathBuf,
    files: Files,
    log: Log,
    readable: Vec<PathBuf>,
    veil: Veil,
}

/// Notes which files were about to change, with their content at that moment.
#[derive(Default)]
struct Log {
    root: PathBuf,
    before: Mutex<Vec<(String, Option<Vec<u8>>)>>,
    refuses: Option<String>,
}

impl Recorder for Log {
    fn before_change<'a>(
        &'a self,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async move {
            let before = fs::read(self.root.join(path)).ok();
            self.before.lock().unwrap().push((path.to_owned(), before));
            self.refuses.clone().map_or(Ok(()), Err)
        })
    }
}

fn session(last: char) -> SessionId {
    format!("0000000000000000000000000{last}").parse().unwrap()
}

impl Project {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let log = Log { root: root.clone(), ..Log::default() };
        Self {
            _temp: temp,
            root,
            files: Files::default(),
            log,
            readable: Vec::new(),
            veil: Veil::default(),
        }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    /// The folder that the project lies in.
    fn outside(&self) -> &Path {
        self.root.parent().unwrap()
    }

    async fn call(&self, tool: &str, input: Value) -> Outcome {
        self.call_in(session('A'), tool, input).await
    }

    async fn call_in(&self, session: SessionId, tool: &str, input: Value) -> Outcome {
        match tools::subject(&self.root, tool, &input) {
            Ok(allowed) => self.call_with(session, tool, input, &allowed).await,
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        }
    }

    async fn call_with(
        &self,
        session: SessionId,
        tool: &str,
        input: Value,
        allowed: &[Subject],
    ) -> Outcome {
        let context = FileContext {
            root: &self.root,
            session,
            files: &self.files,
            recorder: &self.log,
            readable: &self.readable,
            allowed,
            veil: self.veil.clone(),
        };
        tools::run(tool, &context, input).await
    }

    /// The output of a call that must succeed.
    async fn must(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        assert_eq!(outcome.error, None);
        outcome.output
    }

    /// The error of a call that must fail.
    async fn fails(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input).await;
        outcome.error.unwrap_or_else(|| panic!("{tool} did not fail: {}", outcome.output))
    }
}
