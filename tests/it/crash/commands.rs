//! The server killed in the middle of a command that has changed files.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{Server, Stage, gone};
use crate::support::model::Script;

const SLEEP: &str = "sleep 87.4213";

/// Changes, creates and deletes, and goes on until it is killed. It does not end when asked to.
const SCRIPT: &str = "trap '' TERM; sed -i s/one/two/ tracked.txt; echo more >> untracked.txt; \
    rm gone.txt; rm -r folder; chmod 755 mode.sh; rm link; ln -s elsewhere link; mkdir -p new/deep; \
    echo made > new/deep/made.txt; mv moved.txt new/moved.txt; rm $'caf\\xe9.txt'; touch ready; \
    (while :; do echo x >> new/grows.txt; sleep 0.01; done) & sleep 87.4213";

#[actix_web::test]
async fn what_a_command_changed_before_the_server_was_killed_is_undone_to_the_byte() {
    let stage = Stage::set(job).await;
    let root = &stage.path;
    let put = |name: &str, content: &[u8]| {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), content).unwrap();
    };
    put("do-it.sh", SCRIPT.as_bytes());
    put("tracked.txt", b"one\n");
    put("gone.txt", b"gone\n");
    put("folder/inner/a.bin", &[0, 255, 1]);
    put("mode.sh", b"#!/bin/sh\n");
    put("moved.txt", b"moved\n");
    git(root, "init -q .");
    git(root, "add tracked.txt gone.txt moved.txt");
    git(root, "-c user.name=a -c user.email=a@b commit -qm x");
    put("untracked.txt", b"mine\r\n");
    symlink("tracked.txt", root.join("link")).unwrap();
    let odd = PathBuf::from(std::ffi::OsString::from_vec(b"caf\xe9.txt".to_vec()));
    fs::write(root.join(&odd), "odd").unwrap();
    let before = picture(root);

    let server = Server::start(stage.folder.path(), &stage.token);
    let session = format!("{}/sessions", stage.project);
    let session = server.call(Method::POST, &session, &json!({})).await;
    let session = format!("/sessions/{}", session["id"].as_str().unwrap());
    let prompt = json!({"text": "Do it"});
    server.call(Method::POST, &format!("{session}/prompt"), &prompt).await;
    for _ in 0..1_000 {
        if root.join("new/grows.txt").exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(root.join("new/grows.txt").exists(), "the command does not run");
    let open = stage.folder.path().join("data/commands");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 1);

    drop(server);
    // Not waited for: the last processes of the command may be there when the server starts again.
    let server = Server::start(stage.folder.path(), &stage.token);
    gone(SLEEP).await;
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    let grown = fs::read(root.join("new/grows.txt")).unwrap();
    let stopped = server.get(&session).await;
    assert_eq!(stopped["status"], "aborted");
    let files: Vec<&str> = stopped["totals"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert!(files.contains(&"tracked.txt") && files.contains(&"new/grows.txt"), "{stopped}");
    let messages = server.get(&format!("{session}/messages")).await;
    let call = &messages["items"][1]["parts"][0]["data"];
    assert_eq!(call["status"], "aborted", "{messages}");
    assert!(call["error"].as_str().unwrap().ends_with("What it had changed by then is recorded."));
    assert_eq!(call["metadata"]["not_captured"], json!([]));
    assert_eq!(fs::read(root.join("new/grows.txt")).unwrap(), grown, "it goes on");

    let undo = json!({"message_id": messages["items"][0]["id"]});
    let undone = server.call(Method::POST, &format!("{session}/undo"), &undo).await;
    assert_eq!(undone["conflicts"], json!([]));
    assert_eq!(picture(root), before);
    let redone = server.call(Method::POST, &format!("{session}/redo"), &json!({})).await;
    assert_eq!(redone["conflicts"], json!([]));
    assert_eq!(fs::read(root.join("new/grows.txt")).unwrap(), grown);
    assert_eq!(fs::read_to_string(root.join("tracked.txt")).unwrap(), "two\n");
}

fn job(request: &Value) -> Script {
    let messages = request["messages"].as_array().unwrap();
    match messages.iter().any(|message| message["role"] == "assistant") {
        true => Script::text("Done."),
        false => Script::new().call("bash", json!({ "command": "bash ./do-it.sh" })),
    }
}

fn git(root: &Path, arguments: &str) {
    let done = Command::new("git").args(arguments.split(' ')).current_dir(root).status();
    assert!(done.unwrap().success(), "{arguments}");
}

/// Every file: what it is, its mode, and its content or target.
fn picture(root: &Path) -> BTreeMap<Vec<u8>, (char, u32, Vec<u8>)> {
    let mut picture = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if name == b".git" {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let mode = meta.permissions().mode() & 0o7777;
            let entry = if meta.is_symlink() {
                ('l', 0, fs::read_link(&path).unwrap().into_os_string().into_vec())
            } else if meta.is_dir() {
                folders.push(path);
                ('d', mode, Vec::new())
            } else {
                assert_eq!(meta.nlink(), 1);
                ('f', mode, fs::read(&path).unwrap())
            };
            picture.insert(name, entry);
        }
    }
    picture
}
