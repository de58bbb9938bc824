//! The server killed in the middle of the main job, at ten different moments.

mod commands;
mod jobs;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    PASSWORD,
    model::{Script, ScriptedModel},
};

/// What a command of the job is known by in the process table.
const SLEEP: &str = "sleep 86.4213";

#[actix_web::test]
async fn after_a_kill_at_any_moment_the_session_goes_on() {
    let Stage { folder, model, token, project, path } = Stage::set(job).await;
    let mut statuses = Vec::new();
    for moment in 0..10 {
        std::fs::write(path.join("a.txt"), "one\n").unwrap();
        let server = Server::start(folder.path(), &token);
        let session = server.call(Method::POST, &format!("{project}/sessions"), &json!({})).await;
        let session = format!("/sessions/{}", session["id"].as_str().unwrap());
        let before = model.requests().len();
        server
            .call(Method::POST, &format!("{session}/prompt"), &json!({"text": "Do the job"}))
            .await;
        // Each moment lies in another step of the job, some right at its beginning.
        model.wait_for_requests(before + 1 + moment / 2).await;
        tokio::time::sleep(Duration::from_millis(if moment % 2 == 0 { 1 } else { 60 })).await;
        drop(server);
        gone(SLEEP).await;

        let server = Server::start(folder.path(), &token);
        let stopped = server.get(&session).await;
        statuses.push(stopped["status"].as_str().unwrap().to_owned());
        assert_ne!(stopped["status"], "running", "moment {moment}");
        let prompt = json!({"text": "Only say that you are there"});
        server.call(Method::POST, &format!("{session}/prompt"), &prompt).await;
        let ended = server.settled(&session).await;
        assert_eq!(ended["status"], "idle", "moment {moment}");
        let messages = server.get(&format!("{session}/messages")).await;
        let parts = messages["items"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|it| it["parts"].as_array().unwrap());
        for part in parts.filter(|part| part["type"] == "tool") {
            let status = part["data"]["status"].as_str().unwrap();
            assert!(!["pending", "running"].contains(&status), "moment {moment}: {part}");
        }
        assert_eq!(model.take_violations(), Vec::<String>::new(), "moment {moment}");
    }
    assert!(statuses.iter().any(|status| status == "aborted"), "{statuses:?}");
    gone(SLEEP).await;
}

/// A folder for a server, with a project, a model and a token.
struct Stage {
    folder: tempfile::TempDir,
    model: ScriptedModel,
    token: String,
    /// Its address in the API.
    project: String,
    /// Its folder.
    path: PathBuf,
}

impl Stage {
    async fn set(job: fn(&Value) -> Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().await;
        model.fallback(job);
        std::fs::create_dir_all(folder.path().join("roots/atlas")).unwrap();
        let admin = ["admin", "create", "--login", "ada", "--password-stdin"];
        let mut child = forge(folder.path(), &admin).stdin(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{PASSWORD}").unwrap();
        assert!(child.wait().unwrap().success());
        let token = forge(
            folder.path(),
            &["token", "create", "--login", "ada", "--name", "t", "--scope", "admin"],
        );
        let token = { token }.output().unwrap();
        let token = String::from_utf8(token.stdout).unwrap().trim().to_owned();

        let server = Server::start(folder.path(), &token);
        let provider = json!({"name": "Scripted", "kind": "openai", "url": model.url(),
            "key": ScriptedModel::KEY, "models": ScriptedModel::MODELS});
        server.call(Method::POST, "/providers", &provider).await;
        let path = folder.path().join("roots/atlas").canonicalize().unwrap();
        let project =
            server.call(Method::POST, "/projects", &json!({"name": "atlas", "path": path})).await;
        let project = format!("/projects/{}", project["id"].as_str().unwrap());
        server
            .call(Method::POST, &format!("{project}/trust"), &json!({"trust_status": "trusted"}))
            .await;
        let rules = json!([{"tool": "bash", "pattern": "*", "action": "allow"}]);
        server.call(Method::PUT, &format!("{project}/rules"), &rules).await;
        drop(server);
        Self { folder, model, token, project, path }
    }
}

/// The main job: reads, edits, creates, runs a failing and a long command, and answers.
fn job(request: &Value) -> Script {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    if messages[last]["content"].to_string().contains("Only say") {
        return Script::text("I am here.");
    }
    let steps = messages[last..].iter().filter(|message| message["role"] == "assistant").count();
    match steps {
        0 => Script::text("I look at it.").call("read", json!({"path": "a.txt"})),
        1 => Script::new()
            .call("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "two"}))
            .call("write", json!({"path": "b.txt", "content": "b\n"})),
        2 => Script::new().call("bash", json!({"command": "echo no; exit 3"})),
        3 => Script::new()
            .call("bash", json!({"command": format!("({SLEEP}) & {SLEEP}"), "timeout_ms": 5_000})),
        _ => Script::text("Done with all of it, as far as it went."),
    }
}

fn forge(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("FORGE_SERVER__BIND", "127.0.0.1:0")
        .env("FORGE_ACCOUNTS__ARGON2_MEMORY_KIB", "8")
        .env("FORGE_PROJECTS__ROOTS", format!("[{:?}]", folder.join("roots")))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// A server that is killed when it is dropped.
struct Server {
    child: Child,
    base: String,
    token: String,
    http: reqwest::Client,
}

impl Server {
    fn start(folder: &Path, token: &str) -> Self {
        let mut child = forge(folder, &["serve"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("it did not start");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().build().unwrap();
        Self { child, base: format!("{address}/api/v1"), token: token.to_owned(), http }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let answer = request.bearer_auth(&self.token).json(body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.base)).bearer_auth(&self.token);
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn settled(&self, session: &str) -> Value {
        for _ in 0..1_000 {
            let now = self.get(session).await;
            if now["status"] != "running" {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{session} does not settle");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Waits until no process has a command line.
async fn gone(command: &str) {
    let wanted = command.replace(' ', "\0");
    let runs = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|it| std::fs::read(it.path().join("cmdline")).ok())
            .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0') == wanted)
    };
    for _ in 0..300 {
        if !runs() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{command} is left over");
}
