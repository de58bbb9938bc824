//! A member's provider does not lead into the server's own network.

use std::{
    io,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge::{
    adapters::model::{Endpoint, Hosts, Kind, Limits, Models, Names},
    domain::{
        conversation::{Item, Request},
        model::{Fault, FaultKind},
        reach::Reach,
        session::SessionStatus,
    },
    store,
};
use futures_util::future::BoxFuture;
use serde_json::json;

use super::fake::{Does, Fake};
use crate::support::{
    TestApp,
    model::{Script, ScriptedModel},
};

/// Somebody's name server: it answers each question with the next list of addresses, and in the end
/// with the last one again and again.
#[derive(Debug)]
struct Answers(Mutex<Vec<Vec<IpAddr>>>);

impl Answers {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parsed = |list: &&[&str]| list.iter().map(|it| it.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parsed).collect())))
    }
}

impl Names for Answers {
    fn find(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut answers = self.0.lock().unwrap();
        let next = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(async move { Ok(next) })
    }
}

/// A public address that was never given to anybody.
const NOBODYS: &str = "2d00::1";

fn asking(names: Arc<Answers>, allowed: &[&str]) -> Models {
    let limits = Limits { connect: Duration::from_millis(500), ..Limits::default() };
    Models::with_hosts(limits, Hosts::new(allowed.iter().copied(), names)).unwrap()
}

fn endpoint(kind: Kind, url: &str, reach: Reach) -> Endpoint {
    Endpoint { kind, name: "Mine".into(), url: url.into(), key: None, reach }
}

fn hello() -> Request {
    let items = Item::user("hello", Vec::new()).into_iter().collect();
    Request { model: "m".into(), items, ..Request::default() }
}

/// Lists, tests and asks, each of which fails.
async fn faults(models: &Models, endpoint: &Endpoint) -> [Fault; 3] {
    [
        models.list(endpoint).await.unwrap_err(),
        models.test(endpoint, Some("m")).await.unwrap_err(),
        models.stream(endpoint, &hello()).await.unwrap_err(),
    ]
}

fn is_refusal(fault: &Fault) -> bool {
    fault.kind == FaultKind::BadRequest
        && !fault.retryable()
        && fault.message.contains("the server's own network")
}

#[tokio::test]
async fn numbers_of_the_own_network_are_refused_for_lists_tests_and_prompts() {
    let fake = Fake::start(Does::answer("200 OK", "application/json", "{}")).await;
    let models = asking(Answers::new(&[&[NOBODYS]]), &[]);
    let port = fake.origin().rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        for kind in Kind::ALL {
            let url = format!("http://{host}:{port}");
            for fault in faults(&models, &endpoint(kind, &url, Reach::Public)).await {
                assert!(is_refusal(&fault), "{kind} {host}: {fault:?}");
            }
        }
    }
    for host in ["169.254.169.254", "100.100.100.200", "10.0.0.1", "[fd00:ec2::254]", "[fe80::1]"] {
        let url = format!("http://{host}/latest/meta-data");
        for fault in faults(&models, &endpoint(Kind::Openai, &url, Reach::Public)).await {
            assert!(is_refusal(&fault), "{host}: {fault:?}");
        }
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn case_48_a_name_that_leads_into_the_own_network_is_refused_and_not_connected_to() {
    let fake = Fake::start(Does::answer("200 OK", "application/json", "{}")).await;
    let url = fake.origin().replace("127.0.0.1", "models.example.org");
    for addresses in [&["127.0.0.1"][..], &["::1"], &[NOBODYS, "127.0.0.1"], &["10.1.2.3"]] {
        let models = asking(Answers::new(&[addresses]), &["other.example.org"]);
        for fault in faults(&models, &endpoint(Kind::Openai, &url, Reach::Public)).await {
            assert!(is_refusal(&fault), "{addresses:?}: {fault:?}");
            let told = format!("{fault:?}");
            assert!(!told.contains("127.0.0.1") && !told.contains("10.1.2.3"), "{told}");
        }
    }
    // Also where it is the system that knows the name.
    let models = Models::new(Limits::default()).unwrap();
    let url = fake.origin().replace("127.0.0.1", "localhost");
    let fault = models.stream(&endpoint(Kind::Openai, &url, Reach::Public), &hello()).await;
    assert!(is_refusal(&fault.unwrap_err()));
    assert!(fake.asked().is_empty());
    models.list(&endpoint(Kind::Openai, &url, Reach::Anywhere)).await.unwrap_err();
    assert_eq!(fake.asked().len(), 1, "a shared one goes there");
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_looked_at_each_time() {
    let fake = Fake::start(Does::answer("200 OK", "application/json", "{}")).await;
    let url = fake.origin().replace("127.0.0.1", "rebind.example.org");
    let models = asking(Answers::new(&[&[NOBODYS], &["127.0.0.1"], &[NOBODYS]]), &[]);
    let own = endpoint(Kind::Openai, &url, Reach::Public);
    let first = models.stream(&own, &hello()).await.unwrap_err();
    assert_eq!(first.kind, FaultKind::Network, "nobody answers there: {first:?}");
    let second = models.stream(&own, &hello()).await.unwrap_err();
    assert!(is_refusal(&second), "{second:?}");
    let third = models.stream(&own, &hello()).await.unwrap_err();
    assert_eq!(third.kind, FaultKind::Network, "{third:?}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn it_is_the_checked_address_that_is_connected_to() {
    let fake = Fake::start(Does::answer("404 Not Found", "application/json", "{}")).await;
    let url = fake.origin().replace("127.0.0.1", "Models.Internal.");
    let models = asking(Answers::new(&[&["127.0.0.1"]]), &["models.internal"]);
    let fault = models.stream(&endpoint(Kind::Openai, &url, Reach::Public), &hello()).await;
    assert_eq!(fault.unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(fake.asked().len(), 1, "the host is allowed, and its name known to nobody else");
}

#[tokio::test]
async fn a_redirect_into_the_own_network_is_not_followed() {
    let inside = Fake::start(Does::answer("200 OK", "application/json", "{}")).await;
    let moved = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        inside.origin()
    );
    let outside = Fake::start(Does::Answer(moved)).await;
    let url = outside.origin().replace("127.0.0.1", "models.internal");
    let models = asking(Answers::new(&[&["127.0.0.1"]]), &["models.internal"]);
    for fault in faults(&models, &endpoint(Kind::Openai, &url, Reach::Public)).await {
        assert!(fault.message.contains("moved"), "{fault:?}");
    }
    assert!(inside.asked().is_empty());
}

#[actix_web::test]
async fn a_members_pages_sessions_and_scripts_are_refused_and_an_admins_are_not() {
    let names = Answers::new(&[&["127.0.0.1"]]);
    let app = TestApp::start_with_names(|_| (), names).await;
    let (alice, root) = (app.person("alice").await, app.admin("root").await);
    let model = ScriptedModel::start().await;
    let url = model.url().replace("127.0.0.1", "inside.example.org");
    let form = [("name", "Mine"), ("kind", "openai"), ("url", &url), ("key", ScriptedModel::KEY)];
    let made = alice.post("/account/providers", &form).await.assert_status(303);
    let path = made.headers["location"].to_str().unwrap().to_owned();
    let tested = alice.htmx_post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(tested.body.contains("own network"), "{}", tested.body);
    let read = alice.htmx_post(&format!("{path}/refresh"), &[]).await.assert_ok();
    assert!(read.body.contains("own network"), "{}", read.body);
    // Not even with what is entered and not saved.
    let literal = [("name", "Mine"), ("kind", "openai"), ("url", &model.url()), ("key", "k")];
    let tested = alice.htmx_post(&format!("{path}/test"), &literal).await.assert_ok();
    assert!(tested.body.contains("own network"), "{}", tested.body);

    alice.post(&format!("{path}/models"), &[("more", "scripted-small")]).await.assert_status(303);
    let project = app.project(&alice, "atlas").await;
    let session = app.session(&alice, &project).await;
    app.prompt(&alice, &session, "Hello").await;
    app.until(&session, SessionStatus::Error).await;
    let error = app.messages(&session).await.pop().unwrap().message.error.unwrap();
    assert!(error["message"].as_str().unwrap().contains("own network"), "{error}");
    assert_eq!(model.connections(), 0);

    let form =
        [("name", "Ours"), ("kind", "openai"), ("url", &model.url()), ("key", ScriptedModel::KEY)];
    let made = root.post("/providers", &form).await.assert_status(303);
    let path = made.headers["location"].to_str().unwrap().to_owned();
    let tested = root.htmx_post(&format!("{path}/test"), &form).await.assert_ok();
    assert!(tested.body.contains("The key works"), "{}", tested.body);
    // An admin's own one is a personal one like any other.
    let own = json!({"name": "Mine", "kind": "openai", "url": model.url(), "key": "k"});
    let api = "/api/v1/me/providers";
    let made = root.api.json(reqwest::Method::POST, api, &own).await.assert_status(201).value();
    let test = format!("{api}/{}/test", made["id"].as_str().unwrap());
    let tested = root.api.send(reqwest::Method::POST, &test).await.assert_ok().value();
    assert!(tested["detail"].as_str().unwrap().contains("own network"), "{tested}");
    model.push(Script::text("unused"));
    assert_eq!(store::providers::personal(&app.app.db, root.user.id).await.unwrap().len(), 1);
}
