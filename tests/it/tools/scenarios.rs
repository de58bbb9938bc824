//! Cases as folders: a file before, a call, and the file after or what the error says.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::Project;

#[tokio::test]
async fn every_case_of_edit_and_write_comes_out_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/edit");
    let mut cases: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 12);
    for case in cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let before = fs::read(case.join("before")).ok();
        let call: Value =
            serde_json::from_slice(&fs::read(case.join("call.json")).unwrap()).unwrap();
        let project = Project::new();
        if let Some(before) = &before {
            project.put("file", before);
            project.call("read", json!({"path": "file"})).await;
        }
        let mut input = call["input"].clone();
        if let Value::Object(fields) = &mut input {
            fields.insert("path".into(), "file".into());
        }
        let outcome = project.call(call["tool"].as_str().unwrap(), input).await;
        let now = fs::read(project.root.join("file")).ok();
        match fs::read_to_string(case.join("error.txt")) {
            Ok(expected) => {
                let error = outcome
                    .error
                    .unwrap_or_else(|| panic!("{name} did not fail: {}", outcome.output));
                assert!(error.contains(expected.trim_end()), "{name}: {error}");
                assert_eq!(now, before, "{name}: the file was changed");
            }
            Err(_) => {
                assert_eq!(outcome.error, None, "{name}");
                let after = fs::read(case.join("after")).unwrap();
                assert_eq!(
                    now.unwrap().escape_ascii().to_string(),
                    after.escape_ascii().to_string(),
                    "{name}"
                );
                let inexact = call["inexact"].as_bool().unwrap_or(false);
                assert_eq!(outcome.metadata["inexact"], inexact, "{name}");
                assert_eq!(
                    outcome.output.contains("white space"),
                    inexact,
                    "{name}: {}",
                    outcome.output
                );
            }
        }
    }
}
