//! A proxy of the environment, which resolves names by itself.

use reqwest::Method;
use serde_json::{Value, json};

use super::{CREATE_ADMIN, Server, run, run_with_input, text};
use crate::{
    providers::fake::{Does, Fake},
    support::PASSWORD,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_members_provider_is_not_asked_by_way_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = run_with_input(folder.path(), CREATE_ADMIN, &format!("{PASSWORD}\n"));
    assert!(made.status.success(), "{}", text(&made.stderr));
    let arguments = ["token", "create", "--login", "ada", "--name", "x", "--scope", "admin"];
    let token = text(&run(folder.path(), &arguments).stdout).trim().to_owned();

    let list = r#"{"data": [{"id": "by-proxy"}]}"#;
    let proxy = Fake::start(Does::answer("200 OK", "application/json", list)).await;
    let address = proxy.origin();
    let environment = [("HTTP_PROXY", address.as_str()), ("http_proxy", address.as_str())];
    let server = Server::start_with(folder.path(), &environment);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |method: Method, path: String, body: Value| {
        let url = format!("{}{path}", server.address);
        let asked = http.request(method, url).bearer_auth(&token).json(&body).send().await.unwrap();
        serde_json::from_str::<Value>(&asked.text().await.unwrap()).unwrap()
    };
    // A name that nobody has: only the proxy can answer for it.
    let body = json!({"name": "x", "kind": "openai", "url": "http://inside.invalid/v1"});
    for (list, by_proxy) in [("/api/v1/me/providers", false), ("/api/v1/providers", true)] {
        let made = ask(Method::POST, list.to_owned(), body.clone()).await;
        let test = format!("{list}/{}/test", made["id"].as_str().unwrap());
        let tested = ask(Method::POST, test, json!({})).await;
        assert_eq!(tested["ok"], by_proxy, "{list}: {tested}");
        assert_eq!(!proxy.asked().is_empty(), by_proxy, "{list}: {:?}", proxy.asked());
    }
}
