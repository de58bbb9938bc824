//! Commands of an agent and the network: what a rule allows, and what is told of the rest.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{Stage, eventually};
use crate::support::model::Script;
use forge::domain::session::SessionStatus;

/// Says hello to whoever asks.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n");
        }
    });
    port
}

async fn rules(stage: &Stage, rules: &[Value]) {
    let path = format!("/api/v1/projects/{}/rules", stage.project.id);
    let all: Vec<_> = [json!({"tool": "bash", "pattern": "*", "action": "allow"})]
        .iter()
        .chain(rules)
        .cloned()
        .collect();
    stage.alice.api.json(Method::PUT, &path, &json!(all)).await.assert_ok();
}

/// A program in the project.
fn script(stage: &Stage, name: &str, text: &str) {
    let path = stage.folder().join(name);
    std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

async fn command(stage: &Stage, text: &str) -> forge::domain::message::ToolCall {
    stage.model.push(Script::new().call("bash", json!({ "command": text })));
    stage.model.push(Script::text("Done."));
    stage.app.prompt(&stage.alice, &stage.session, "Do it").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    stage.calls().await.pop().unwrap()
}

#[actix_web::test]
async fn a_download_fails_with_the_rule_that_would_allow_it_and_works_with_that_rule() {
    let stage = Stage::set_with(|config| {
        config.sandbox.private_hosts = vec!["127.0.0.1".into()];
    })
    .await;
    let port = serve();
    let download = format!("curl -sS --noproxy '' http://127.0.0.1:{port}/");
    rules(&stage, &[]).await;
    let refused = command(&stage, &download).await;
    let hint = format!("network `127.0.0.1:{port}` → allow");
    assert!(refused.output.contains(&hint), "{refused:?}");
    assert!(!refused.output.contains("hello"), "{refused:?}");
    let visit = &refused.metadata["network"][0];
    assert_eq!(visit["host"], format!("127.0.0.1:{port}"));
    assert_eq!(visit["connections"], 0);
    let page = stage.alice.get(&format!("/sessions/{}", stage.session.id)).await.assert_ok().body;
    assert!(page.contains("Not reached over the network"), "the page says it too");

    let allow =
        json!({"tool": "network", "pattern": format!("127.0.0.1:{port}"), "action": "allow"});
    rules(&stage, &[allow]).await;
    let reached = command(&stage, &download).await;
    assert_eq!(reached.output.trim(), "hello", "{reached:?}");
    assert_eq!(reached.metadata["network"][0]["connections"], 1);
    let page = stage.alice.get(&format!("/sessions/{}", stage.session.id)).await.assert_ok().body;
    assert!(page.contains("Reached over the network"), "{}", page.len());
}

#[actix_web::test]
async fn a_rule_that_came_later_holds_for_what_runs_in_the_background() {
    let stage = Stage::set_with(|config| {
        config.sandbox.private_hosts = vec!["127.0.0.1".into()];
    })
    .await;
    let port = serve();
    let network = |pattern: &str, action: &str| json!({"tool": "network", "pattern": pattern, "action": action});
    let host = format!("127.0.0.1:{port}");
    rules(&stage, &[network("example.org", "allow")]).await;
    let get = format!("curl -sSf --noproxy '' http://{host}/ > /dev/null 2>&1");
    script(
        &stage,
        "poll",
        &format!(
            "until {get}; do touch tried; sleep 0.05; done; touch reached\n\
             while {get}; do sleep 0.05; done; touch refused"
        ),
    );
    let input = json!({"command": "./poll", "background": true});
    stage.model.push(Script::new().call("bash", input));
    stage.model.push(Script::text("It runs."));
    stage.app.prompt(&stage.alice, &stage.session, "Start it").await;
    stage.app.until(&stage.session, SessionStatus::Idle).await;
    let folder = stage.folder();
    let there = |name: &str| folder.join(name).exists();
    eventually("it was refused", || there("tried")).await;
    assert!(!there("reached"));
    rules(&stage, &[network(&host, "allow")]).await;
    eventually("the new rule lets it through", || there("reached")).await;
    rules(&stage, &[network(&host, "deny")]).await;
    eventually("the newest one does not", || there("refused")).await;
    let jobs = &stage.app.app.engine.jobs;
    eventually("it is over", || jobs.running(stage.session.id).is_empty()).await;
}

#[actix_web::test]
async fn a_rule_opens_no_way_into_the_servers_own_network() {
    let stage = Stage::set().await;
    let port = serve();
    rules(&stage, &[json!({"tool": "network", "pattern": "*", "action": "allow"})]).await;
    let download = format!("curl -sS --noproxy '' http://127.0.0.1:{port}/");
    let refused = command(&stage, &download).await;
    assert!(refused.output.contains("sandbox.private_hosts"), "{refused:?}");
    assert!(!refused.output.contains("hello"), "{refused:?}");
    // Nor to Forge itself.
    let own = format!("curl -sS --noproxy '' {}/health/ready", stage.app.base);
    let refused = command(&stage, &own).await;
    assert!(refused.output.contains("own network"), "{refused:?}");
}

#[actix_web::test]
async fn caches_are_kept_from_one_command_to_the_next_and_their_programs_are_not() {
    let mut cache = PathBuf::new();
    let stage = Stage::set_with(|config| {
        cache = config.data.dir.parent().unwrap().join("caches");
        let caches = &mut config.sandbox.package_caches;
        (caches.cargo, caches.npm) = (Some(cache.join("cargo")), Some(cache.join("npm")));
        config.sandbox.caches = vec!["/proc/cannot-be-made".into()];
    })
    .await;
    rules(&stage, &[]).await;
    script(
        &stage,
        "fill",
        "echo kept > $CARGO_HOME/registry; echo x > $npm_config_cache/y; \
         mkdir -p $CARGO_HOME/bin && echo evil > $CARGO_HOME/bin/cargo; \
         echo evil > $CARGO_HOME/config.toml; echo \"[$PIP_CACHE_DIR]\"",
    );
    script(&stage, "look", "cat $CARGO_HOME/registry; ls $CARGO_HOME");
    let made = command(&stage, "./fill").await;
    assert!(made.output.contains("[]"), "{made:?}");
    let second = command(&stage, "./look").await;
    assert!(second.output.starts_with("kept\n"), "{second:?}");
    assert!(!second.output.contains("config.toml"), "{second:?}");
    assert!(!cache.join("cargo/bin").exists() && !cache.join("cargo/config.toml").exists());
}
