//! A running Forge with nothing in it, and people to use it.

pub mod log;
pub mod model;
pub mod session;
pub mod stream;

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use actix_web::cookie::Key;
use argon2::{Algorithm, Argon2, Params, Version, password_hash::PasswordHasher as _};
use forge::{
    adapters::model::{Names, SystemNames},
    app::App,
    config::Config,
    domain::{
        clock::ManualClock,
        ids::{ApiTokenId, Entropy, ProjectId, ProviderId, UserId},
        provider::Kind,
        token::{self, Scope},
        trust::Trust,
    },
    store::{
        self, Db,
        entity::{
            api_token::Model as ApiToken, project::Model as Project, provider::Model as Provider,
            user::Model as User,
        },
    },
    web,
};
use reqwest::{Method, StatusCode, header::LOCATION, redirect::Policy};
use serde_json::Value;

/// A Forge on a real port, with its own folder, database and clock.
pub struct TestApp {
    pub app: App,
    pub base: String,
    pub clock: Arc<ManualClock>,
    /// Holds the data, the workspaces and the roots; gone with the test.
    pub folder: tempfile::TempDir,
}

impl TestApp {
    pub async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// The same, with a configuration of its own.
    pub async fn start_with(configure: impl FnOnce(&mut Config)) -> Self {
        Self::start_with_names(configure, Arc::new(SystemNames)).await
    }

    /// The same, with somebody else who knows the addresses of names.
    pub async fn start_with_names(
        configure: impl FnOnce(&mut Config),
        names: Arc<dyn Names>,
    ) -> Self {
        // Every client asks for one, even where it never speaks TLS. The second time is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.data.dir = folder.path().join("data");
        config.projects.workspaces = Some(folder.path().join("workspaces"));
        config.projects.roots = vec![folder.path().join("roots")];
        config.server.workers = 1;
        (config.accounts.argon2_memory_kib, config.accounts.argon2_passes) = (8, 1);
        configure(&mut config);
        std::fs::create_dir_all(folder.path().join("roots")).unwrap();
        std::fs::create_dir_all(&config.data.dir).unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-01T09:00:00Z".parse().unwrap()));
        let url = format!("sqlite:{}", config.data.dir.join("forge.db").display());
        let db = Db::open(&url).await.unwrap();
        let entropy = Arc::new(Counting::default());
        let helper = env!("CARGO_BIN_EXE_forge").into();
        let app = App::with_names(config, db, clock.clone(), entropy, helper, names).await.unwrap();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}{}", listener.local_addr().unwrap(), app.config.base_path());
        let server = web::serve(listener, app.clone(), Key::from(&[7; 64])).unwrap();
        actix_web::rt::spawn(server);
        Self { app, base, clock, folder }
    }

    /// Somebody with an account, signed in the way anyone signs in.
    pub async fn person(&self, name: &str) -> Person {
        self.account(name, Rights::Member).await
    }

    /// The same, with the rights of an admin.
    pub async fn admin(&self, name: &str) -> Person {
        self.account(name, Rights::Admin).await
    }

    /// A browser that nobody has signed in with.
    pub fn stranger(&self) -> Browser {
        let http =
            reqwest::Client::builder().cookie_store(true).redirect(Policy::none()).build().unwrap();
        Browser { http, base: self.base.clone(), token: None }
    }

    async fn account(&self, name: &str, rights: Rights) -> Person {
        let now = self.app.clock.now();
        let user = User {
            id: UserId::mint(now, self.app.entropy.as_ref()),
            name: name.to_owned(),
            login: name.to_owned(),
            login_key: name.to_lowercase(),
            email: Some(format!("{name}@example.org")),
            email_key: Some(format!("{name}@example.org")),
            password_hash: cheap_hash(PASSWORD),
            admin: matches!(rights, Rights::Admin),
            disabled_at: None,
            time_zone: None,
            kept_windows: None,
            last_login_at: None,
            created_at: now,
            updated_at: now,
        };
        let user = store::users::create(&self.app.db, user).await.unwrap().unwrap();
        let token = self.token(&user, Scope::Admin).await;
        let browser = self.stranger();
        let form = [("login", user.login.as_str()), ("password", PASSWORD)];
        let home = format!("{}/", self.app.config.base_path());
        browser.post("/sign-in", &form).await.assert_redirect(&home);
        let api = Browser { token: Some(token), ..self.stranger() };
        Person { user, browser, api }
    }

    /// A project of somebody, as a row alone: its folder is empty.
    pub async fn project_row(&self, owner: &User, name: &str) -> Project {
        let now = self.app.clock.now();
        let path = self.folder.path().join("roots").join(owner.login.as_str()).join(name);
        std::fs::create_dir_all(&path).unwrap();
        let row = Project {
            id: ProjectId::mint(now, self.app.entropy.as_ref()),
            owner_id: owner.id,
            name: name.into(),
            path: path.display().to_string(),
            default_branch: None,
            instructions: serde_json::json!([]),
            trust_status: Trust::Untrusted,
            created_at: now,
            updated_at: now,
            opened_at: None,
        };
        store::projects::create(&self.app.db, row).await.unwrap()
    }

    /// A provider as a row alone: nothing answers at its address.
    pub async fn provider_row(&self) -> Provider {
        self.provider_row_of(None).await
    }

    /// The same, of one person or of everybody.
    pub async fn provider_row_of(&self, owner: Option<&Person>) -> Provider {
        let now = self.app.clock.now();
        let row = Provider {
            id: ProviderId::mint(now, self.app.entropy.as_ref()),
            owner_id: owner.map(|it| it.user.id),
            name: "Silent".into(),
            url: "http://127.0.0.1:9/v1".into(),
            kind: Kind::Openai,
            key: None,
            key_hint: None,
            models: serde_json::json!(["model"]),
            meta: serde_json::json!({}),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        store::providers::create(&self.app.db, row).await.unwrap()
    }

    /// A new API token of somebody.
    pub async fn token(&self, user: &User, scope: Scope) -> String {
        let now = self.app.clock.now();
        let text = token::mint(self.app.entropy.as_ref());
        let row = ApiToken {
            id: ApiTokenId::mint(now, self.app.entropy.as_ref()),
            user_id: user.id,
            name: "test".into(),
            token_hash: web::token_hash(&text),
            scope,
            last_used_at: None,
            expires_at: None,
            created_at: now,
        };
        store::api_tokens::create(&self.app.db, row).await.unwrap();
        text
    }
}

enum Rights {
    Member,
    Admin,
}

pub const PASSWORD: &str = "correct horse";

/// Real argon2, at a fraction of the real price.
fn cheap_hash(password: &str) -> String {
    let params = Params::new(8, 1, 1, None).unwrap();
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    hash.hash_password(password.as_bytes()).unwrap().to_string()
}

/// Hands out 1, 2, 3 and so on, so that ids are the same on every run.
#[derive(Default)]
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn bits(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Somebody who uses Forge: in a browser, and by scripts through the API.
pub struct Person {
    pub user: User,
    pub browser: Browser,
    /// Sends the token instead of the cookie.
    pub api: Browser,
}

impl std::ops::Deref for Person {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}

pub struct Browser {
    pub http: reqwest::Client,
    pub base: String,
    pub token: Option<String>,
}

impl Browser {
    pub async fn get(&self, path: &str) -> Answer {
        Answer::to(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        Answer::to(self.request(Method::POST, path).form(form)).await
    }

    /// Posts the way htmx does, and gets a fragment back.
    pub async fn htmx_post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        Answer::to(self.request(Method::POST, path).form(form).header("hx-request", "true")).await
    }

    /// Sends JSON, as a script does.
    pub async fn json(&self, method: Method, path: &str, body: &Value) -> Answer {
        Answer::to(self.request(method, path).json(body)).await
    }

    /// Posts a form with files, each a field, a name and its content.
    pub async fn upload(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> Answer {
        Answer::to(self.uploading(path, fields, files)).await
    }

    /// The same, as a request that the caller goes on building.
    pub fn uploading(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> reqwest::RequestBuilder {
        let mut body = Vec::new();
        for (name, value) in fields {
            body.extend(
                format!(
                    "--XX\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                )
                .bytes(),
            );
        }
        for (field, name, content) in files {
            body.extend(
                format!(
                    "--XX\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
                     content-type: text/html\r\n\r\n"
                )
                .bytes(),
            );
            body.extend(*content);
            body.extend(b"\r\n");
        }
        body.extend(b"--XX--\r\n");
        let request = self.request(Method::POST, path);
        request.header("content-type", "multipart/form-data; boundary=XX").body(body)
    }

    pub async fn send(&self, method: Method, path: &str) -> Answer {
        Answer::to(self.request(method, path)).await
    }

    /// A request that the caller goes on building.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Answer {
    pub async fn to(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        // A stream of events does not end by itself.
        let endless = headers.get("content-type").is_some_and(|it| it == "text/event-stream");
        let body = if endless { String::new() } else { response.text().await.unwrap() };
        Self { status, headers, body }
    }

    /// The body as JSON.
    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|err| panic!("{err}: {}", self.body))
    }

    #[track_caller]
    pub fn assert_ok(self) -> Self {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        self
    }

    #[track_caller]
    pub fn assert_status(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self
    }

    #[track_caller]
    pub fn assert_redirect(self, to: &str) -> Self {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        assert_eq!(self.headers[LOCATION], to);
        self
    }
}
