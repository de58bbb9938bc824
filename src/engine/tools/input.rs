//! What a model may give to each tool: the schemas that it is sent, and the values after checking.

use crate::domain::session::TodoStatus;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    find,
    schema::{check, object},
};
use crate::domain::text;

/// The largest file content that write takes, in bytes.
pub const LARGEST_CONTENT: usize = 2_000_000;
/// The largest text of any other field.
const LARGEST_TEXT: usize = 256 << 10;
/// All texts of one call together.
const LARGEST_INPUT: usize = 4_000_000;
/// The longest list in a call.
const LONGEST_LIST: usize = 200;
/// The longest path or pattern.
const LONGEST_PATH: usize = 4_096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    pub path: String,
    /// The first line, from 1.
    pub offset: Option<usize>,
    pub limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    pub path: String,
    pub content: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub path: String,
    pub old_string: String,
    pub new_string: String,
    #[serde(default)]
    pub replace_all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiEdit {
    pub path: String,
    pub edits: Vec<OneEdit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneEdit {
    pub old_string: String,
    pub new_string: String,
    #[serde(default)]
    pub replace_all: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    pub patch: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    pub path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glob {
    pub pattern: String,
    pub path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grep {
    pub pattern: String,
    pub path: Option<String>,
    pub glob: Option<String>,
    #[serde(default)]
    pub ignore_case: bool,
    /// Lines around each match.
    #[serde(default)]
    pub context: usize,
    #[serde(default)]
    pub output: GrepOutput,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepOutput {
    #[default]
    Lines,
    Files,
    Count,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bash {
    pub command: String,
    pub description: Option<String>,
    pub timeout_ms: Option<u64>,
    pub workdir: Option<String>,
    #[serde(default)]
    pub background: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BashOutput {
    pub job_id: String,
    /// Bytes of its output that are known already.
    pub since: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BashKill {
    pub job_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TodoWrite {
    pub todos: Vec<Todo>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    pub text: String,
    #[serde(default)]
    pub status: TodoStatus,
}

pub(super) fn read() -> Value {
    object(
        &["path"],
        json!({
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line"},
            "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
        }),
    )
}

pub(super) fn write() -> Value {
    object(&["path", "content"], json!({"path": {"type": "string"}, "content": {"type": "string"}}))
}

pub(super) fn edit() -> Value {
    object(
        &["path", "old_string", "new_string"],
        json!({
            "path": {"type": "string"},
            "old_string": {"type": "string"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
        }),
    )
}

pub(super) fn multi_edit() -> Value {
    let edit = object(
        &["old_string", "new_string"],
        json!({
            "old_string": {"type": "string"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
        }),
    );
    object(
        &["path", "edits"],
        json!({"path": {"type": "string"}, "edits": {"type": "array", "items": edit}}),
    )
}

pub(super) fn apply_patch() -> Value {
    object(&["patch"], json!({"patch": {"type": "string"}}))
}

pub(super) fn list() -> Value {
    object(&[], json!({"path": {"type": "string"}}))
}

pub(super) fn glob() -> Value {
    object(
        &["pattern"],
        json!({"pattern": {"type": "string"}, "path": {"type": "string", "description": "folder"}}),
    )
}

pub(super) fn grep() -> Value {
    object(
        &["pattern"],
        json!({
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "folder or file"},
            "glob": {"type": "string", "description": "only files like this"},
            "ignore_case": {"type": "boolean"},
            "context": {"type": "integer", "minimum": 0, "maximum": 20},
            "output": {"type": "string", "enum": ["lines", "files", "count"]},
        }),
    )
}

pub(super) fn bash() -> Value {
    object(
        &["command"],
        json!({
            "command": {"type": "string"},
            "description": {"type": "string", "description": "what it does, in a few words"},
            "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600_000, "description": "default 120000"},
            "workdir": {"type": "string"},
            "background": {"type": "boolean", "description": "return at once, with a job_id"},
        }),
    )
}

pub(super) fn bash_output() -> Value {
    object(
        &["job_id"],
        json!({
            "job_id": {"type": "string"},
            "since": {"type": "integer", "minimum": 0, "description": "byte; default: what is new"},
        }),
    )
}

pub(super) fn bash_kill() -> Value {
    object(&["job_id"], json!({"job_id": {"type": "string"}}))
}

pub(super) fn todo_write() -> Value {
    let todo = object(
        &["text", "status"],
        json!({
            "text": {"type": "string"},
            "status": {"type": "string", "enum": ["pending", "in_progress", "done", "cancelled"]},
        }),
    );
    object(&["todos"], json!({"todos": {"type": "array", "items": todo}}))
}

/// Checks the input of a tool and reads it. An error is a sentence for the model that names the
/// field and what is expected.
pub fn parse<T: DeserializeOwned>(tool: &str, mut input: Value) -> Result<T, String> {
    let spec = find(tool).ok_or_else(|| format!("There is no tool {tool}."))?;
    match &mut input {
        Value::Null => input = json!({}),
        Value::String(_) => {
            return Err(format!(
                "The input of {tool} is not complete JSON, so nothing was done. If it was long, send it in smaller parts."
            ));
        }
        _ => {}
    }
    check(&(spec.schema)(), &mut input, "The input")?;
    let mut all = 0;
    for (name, value) in input.as_object().into_iter().flatten() {
        bound(name, value, &mut all)?;
    }
    if all > LARGEST_INPUT {
        let may = text::size(LARGEST_INPUT as u64);
        return Err(format!("The input is too long: at most {may} are taken at once."));
    }
    serde_json::from_value(input)
        .map_err(|err| format!("The input of {tool} cannot be read: {err}."))
}

/// Holds a value, and what is in it, to its size; `all` grows by it.
fn bound(name: &str, value: &Value, all: &mut usize) -> Result<(), String> {
    let most = match name {
        "content" | "patch" => LARGEST_CONTENT,
        "path" | "pattern" | "glob" | "workdir" => LONGEST_PATH,
        _ => LARGEST_TEXT,
    };
    match value {
        Value::String(text) if text.len() > most => {
            let (is, may) = (text::size(text.len() as u64), text::size(most as u64));
            Err(format!("{name} is too long: {is}, and at most {may} are taken."))
        }
        Value::String(text) => {
            *all += text.len();
            Ok(())
        }
        Value::Array(items) if items.len() > LONGEST_LIST => Err(format!(
            "{name} is too long: {} entries, and at most {LONGEST_LIST} are taken.",
            items.len()
        )),
        Value::Array(items) => items.iter().try_for_each(|item| bound(name, item, all)),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(field, value)| bound(field, value, all))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_that_leave_no_doubt_are_mended() {
        let input = json!({"path": "a", "offset": "12", "limit": 5.0});
        let read: Read = parse("read", input).unwrap();
        assert_eq!((read.offset, read.limit), (Some(12), Some(5)));
        let input =
            json!({"path": "a", "old_string": "x", "new_string": "", "replace_all": "True"});
        assert!(parse::<Edit>("edit", input).unwrap().replace_all);
        assert!(parse::<List>("list", json!({"path": null})).unwrap().path.is_none());
        assert!(parse::<List>("list", Value::Null).is_ok());
    }

    #[test]
    fn anything_else_is_named() {
        let told = |tool: &str, input: Value| match tool {
            "read" => parse::<Read>(tool, input).unwrap_err(),
            "todo_write" => parse::<TodoWrite>(tool, input).unwrap_err(),
            _ => parse::<Grep>(tool, input).unwrap_err(),
        };
        assert_eq!(told("read", json!({})), "path is missing.");
        assert_eq!(told("read", json!({"path": 1})), "path must be text, not a number.");
        assert_eq!(
            told("read", json!({"path": "a", "offset": 0})),
            "offset must be at least 1, not 0."
        );
        assert_eq!(
            told("read", json!({"path": "a", "offset": "x"})),
            "offset must be a whole number, not text."
        );
        assert_eq!(
            told("read", json!({"file_path": "a", "path": "b"})),
            "file_path is not a field; there are: limit, offset, path."
        );
        assert_eq!(told("read", json!([])), "The input must be a JSON object, not a list.");
        assert!(told("read", json!("{\"path\": \"a")).contains("not complete JSON"));
        assert_eq!(
            told("grep", json!({"pattern": "a", "output": "all"})),
            "output must be one of lines, files, count."
        );
        assert_eq!(
            told("todo_write", json!({"todos": [{"text": "a", "status": "later"}]})),
            "todos[0].status must be one of pending, in_progress, done, cancelled."
        );
        assert!(
            told("read", json!({"path": "a".repeat(5_000)}))
                .starts_with("path is too long: 5.0 KB")
        );
    }
}
