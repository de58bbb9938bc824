//! The real program, as an operator runs it.

mod proxy;
mod secret;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use crate::support::PASSWORD;

/// The program with a data folder of its own and nothing of the tests' surroundings.
fn forge(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forge"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("FORGE_SERVER__BIND", "127.0.0.1:0")
        .env("FORGE_ACCOUNTS__ARGON2_MEMORY_KIB", "8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    forge(folder, arguments).output().unwrap()
}

fn run_with_input(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = forge(folder, arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const CREATE_ADMIN: &[&str] =
    &["admin", "create", "--login", "ada", "--email", "ada@example.org", "--password-stdin"];

/// A server that is ready, and is ended with the test.
struct Server {
    child: Child,
    address: String,
    out: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    fn start_with(folder: &Path, environment: &[(&str, &str)]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut command = forge(folder, &["serve"]);
        let mut child = command.envs(environment.iter().copied()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let Some(address) = line.strip_prefix("listening on ") else {
            panic!("{line}{}", text(&child.wait_with_output().unwrap().stderr))
        };
        Self { child, address: address.trim().to_owned(), out }
    }

    /// Asks it to end, and returns its status and all it wrote: to standard output after the line
    /// that says that it is ready, and to standard error.
    fn stop(mut self) -> (std::process::ExitStatus, String, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        self.out.read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap(), out, err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn get(url: &str) -> (u16, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[test]
fn every_command_helps_and_wrong_usage_is_2() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["admin", "--help"],
        &["admin", "create", "--help"],
        &["token", "create", "--help"],
        &["secret", "rotate", "--help"],
        &["migrate", "--help"],
        &["--version"],
    ] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}");
    }
    for arguments in [&[][..], &["serve", "--nonsense"], &["dance"], &["admin", "create"]] {
        let output = run(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_wrong_setting_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forge.toml");
    let serve = |settings: &str| {
        std::fs::write(&file, settings).unwrap();
        let output = run(folder.path(), &["serve", "--config", "forge.toml"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(serve("[server]\nbnid = \"x\"").contains("bnid"));
    assert!(serve("[agent]\nmax_steps = 0").contains("agent.max_steps"));
    assert!(serve("[log]\nfilter = \"=!=\"").contains("log.filter"));
    assert!(serve("[secret]\nkey = \"dG9vIHNob3J0\"").contains("secret.key"));
    let missing = run(folder.path(), &["serve", "--config", "nowhere.toml"]);
    assert!(text(&missing.stderr).contains("nowhere.toml"));
    let output =
        forge(folder.path(), &["migrate"]).env("FORGE_SERVER__PORT", "1").output().unwrap();
    assert!(text(&output.stderr).contains("port"), "{}", text(&output.stderr));
}

#[actix_web::test]
async fn it_serves_and_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let (status, body) = get(&format!("{}/health/ready", server.address)).await;
    assert_eq!((status, body.as_str()), (200, "ready\n"));
    assert_eq!(get(&format!("{}/sign-in?secret=hush", server.address)).await.0, 200);
    let (status, out, err) = server.stop();
    assert_eq!(status.code(), Some(0), "{err}");
    assert_eq!(out, "", "one line, and it was read");
    assert!(!err.contains("hush"), "{err}");
    let data = folder.path().join("data");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("secret"))), (0o700, 0o600));
    assert!(!data.join("forge.db-wal").exists(), "the database was closed");
}

#[actix_web::test]
async fn the_first_start_says_where_to_go() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let address = server.address.clone();
    let guess = get(&format!("{address}/setup?token=guess")).await;
    assert_eq!(guess.0, 200);
    let (_, _, err) = server.stop();
    let link = err.lines().find_map(|line| line.trim().strip_prefix(&format!("{address}/setup")));
    let token = link.and_then(|rest| rest.strip_prefix("?token=")).unwrap();
    assert_eq!(token.len(), 64, "{err}");
    assert_eq!(err.matches(token).count(), 1, "it is printed once and never logged");
}

#[actix_web::test]
async fn admins_and_tokens_are_made_beside_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let short = run_with_input(folder.path(), CREATE_ADMIN, "short\n");
    assert_eq!(short.status.code(), Some(1));
    assert!(text(&short.stderr).contains("password: Use at least 10 characters."));
    let created = run_with_input(folder.path(), CREATE_ADMIN, &format!("{PASSWORD}\n"));
    assert_eq!(created.status.code(), Some(0), "{}", text(&created.stderr));
    let again = run_with_input(folder.path(), CREATE_ADMIN, &format!("{PASSWORD}\n"));
    assert!(text(&again.stderr).contains("login: Somebody has this login already."));

    let create = ["token", "create", "--login", "ada", "--name", "ci", "--scope", "admin"];
    let token = run(folder.path(), &create);
    assert_eq!(token.status.code(), Some(0), "{}", text(&token.stderr));
    let token = text(&token.stdout);
    assert_eq!(token.lines().count(), 1, "the token alone");
    let users = reqwest::Client::builder().build().unwrap();
    let users = users.get(format!("{}/api/v1/users", server.address)).bearer_auth(token.trim());
    let users: serde_json::Value = users.send().await.unwrap().json().await.unwrap();
    assert_eq!(users["items"][0]["login"], "ada");

    let nobody = run(folder.path(), &["token", "create", "--login", "eve", "--name", "ci"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("Nobody has the login eve."));
    let (status, _, err) = server.stop();
    assert_eq!(status.code(), Some(0), "{err}");
    assert!(!err.contains(token.trim()) && !err.contains(PASSWORD), "{err}");
}

#[actix_web::test]
async fn logs_are_json_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &[("FORGE_LOG__FORMAT", "json")]);
    assert_eq!(get(&format!("{}/health/live?x=hush", server.address)).await.0, 200);
    let (_, _, err) = server.stop();
    let lines = err.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let answered: Vec<_> = lines.filter(|line| line["message"] == "answered").collect();
    assert_eq!(answered.len(), 1, "{err}");
    assert_eq!(answered[0]["span"]["path"], "/health/live");
    assert_eq!(answered[0]["span"]["id"].as_str().map(str::len), Some(26));
    assert_eq!(answered[0]["status"], 200);
    assert!(!err.contains("hush"));
}

#[test]
fn migrate_makes_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["migrate"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(folder.path().join("data/forge.db").exists());
    assert_eq!(run(folder.path(), &["migrate"]).status.code(), Some(0));
}
