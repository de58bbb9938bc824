//! Cases as folders: files before, a call, and the files after or what the error says.
//!
//! A case lies in `tests/scenarios/<group>/<case>/`, and is found there without a line of Rust:
//!
//! - `call.json`: `tool` and `input`. Besides: `inexact` (the answer has to say so), `unread` (paths
//!   that the session does not read before; it reads all others), `links` (symbolic links, name to
//!   target) and `modes` (path to octal mode, the same before and after).
//! - `before` and `after`: files, which are called `file` and whose path need not be in the input;
//!   or folders with all files there are. Nothing before is no file.
//! - `patch`: the text of a patch, instead of `input`.
//! - `error.txt`: the call fails, each of these lines stands in what is told, and nothing changed.
//!   `output.txt`: each of these lines stands in the answer.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::Project;

/// The name of a file, and its bytes as text that shows each of them.
type Tree = BTreeMap<String, String>;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn every_case_comes_out_as_written_down() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for group in names(&scenarios()) {
        for case in names(&scenarios().join(&group)) {
            wrong.extend(run(&format!("{group}/{case}")).await.err());
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 60, "{count} cases");
}

/// Runs one case, which must come out as written down.
pub(super) async fn check(name: &str) {
    if let Err(wrong) = run(name).await {
        panic!("{wrong}");
    }
}

/// Runs one case, named by its group and its folder, and says what came out otherwise.
async fn run(name: &str) -> Result<(), String> {
    let case = scenarios().join(name);
    let call =
        fs::read(case.join("call.json")).map_err(|err| format!("{name}: call.json: {err}"))?;
    let call: Value = serde_json::from_slice(&call).map_err(|err| format!("{name}: {err}"))?;
    let project = Project::new();
    let mut input = call["input"].clone();
    if let Ok(patch) = fs::read_to_string(case.join("patch")) {
        input = json!({"patch": patch});
    } else if let Value::Object(fields) = &mut input
        && !case.join("before").is_dir()
    {
        fields.entry("path").or_insert("file".into());
    }
    lay_out(&case.join("before"), &project.root, &call);
    let before = tree(&project.root);
    for (path, mode) in modes(&call) {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let unread: Vec<&str> =
        call["unread"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for path in before.keys().filter(|path| !unread.contains(&path.as_str())) {
        project.call("read", json!({"path": path})).await;
    }

    let outcome = project.call(call["tool"].as_str().unwrap(), input).await;
    let lines = |file: &str| fs::read_to_string(case.join(file)).ok();
    let expected = match lines("error.txt") {
        Some(expected) => {
            let error = outcome.error.ok_or(format!("{name} did not fail: {}", outcome.output))?;
            says(name, &error, &expected)?;
            before
        }
        None => {
            if let Some(error) = outcome.error {
                return Err(format!("{name} failed: {error}"));
            }
            let inexact = call["inexact"].as_bool().unwrap_or(false);
            let told = outcome.output.contains("white space");
            if outcome.metadata["inexact"] != inexact || told != inexact {
                return Err(format!("{name}: inexact is not {inexact}: {}", outcome.output));
            }
            says(name, &outcome.output, &lines("output.txt").unwrap_or_default())?;
            let expected = Project::new();
            lay_out(&case.join("after"), &expected.root, &call);
            tree(&expected.root)
        }
    };
    let now = tree(&project.root);
    if now != expected {
        return Err(format!("{name}: there is\n{now:#?}\nand not\n{expected:#?}"));
    }
    for (path, mode) in modes(&call) {
        let is =
            fs::metadata(project.root.join(&path)).map(|meta| meta.permissions().mode() & 0o7777);
        if is.as_ref().ok() != Some(&mode) {
            return Err(format!("{name}: the mode of {path} is {is:?} and not {mode:o}"));
        }
    }
    Ok(())
}

fn says(name: &str, told: &str, expected: &str) -> Result<(), String> {
    match expected.lines().find(|line| !told.contains(line)) {
        Some(line) => Err(format!("{name}: {line:?} is not in: {told}")),
        None => Ok(()),
    }
}

/// The files of one side of a case, with its links.
fn lay_out(side: &Path, root: &Path, call: &Value) {
    copy(side, root);
    for (link, target) in call["links"].as_object().into_iter().flatten() {
        symlink(target.as_str().unwrap(), root.join(link)).unwrap();
    }
}

fn modes(call: &Value) -> Vec<(String, u32)> {
    let modes = call["modes"].as_object().into_iter().flatten();
    modes
        .map(|(path, mode)| (path.clone(), u32::from_str_radix(mode.as_str().unwrap(), 8).unwrap()))
        .collect()
}

/// Copies the files of a case: a folder of them, or the one.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to.join("file")).unwrap();
    } else if from.is_dir() {
        for name in names(from) {
            let (from, to) = (from.join(&name), to.join(&name));
            if from.is_dir() {
                fs::create_dir(&to).unwrap();
                copy(&from, &to);
            } else {
                fs::copy(from, to).unwrap();
            }
        }
    }
}

/// All files, links and empty folders below a folder.
fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut ahead = vec![PathBuf::new()];
    while let Some(folder) = ahead.pop() {
        for name in names(&root.join(&folder)) {
            let path = folder.join(&name);
            let meta = fs::symlink_metadata(root.join(&path)).unwrap();
            let shown = path.to_str().unwrap().to_owned();
            if meta.is_dir() {
                ahead.push(path);
            } else if meta.is_symlink() {
                let target = fs::read_link(root.join(&path)).unwrap();
                tree.insert(shown, format!("-> {}", target.display()));
            } else {
                let bytes = fs::read(root.join(&path)).unwrap();
                tree.insert(shown, bytes.escape_ascii().to_string());
            }
        }
    }
    tree
}
