//! A new application secret.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use forge::{
    adapters::{
        system::SystemEntropy,
        vault::{Vault, rotation},
    },
    domain::{
        clock::{Clock as _, SystemClock},
        ids::ProviderId,
        provider::Kind,
    },
    store::{self, Db, entity::provider::Model as Provider},
};
use serde_json::json;

use super::{Server, forge, run, text};

const ROTATE: &[&str] = &["secret", "rotate"];
const KEYS: [&str; 3] = ["sk-first-0123456789", "sk-second-0123456789", "sk-third-0123456789"];

async fn open(folder: &Path) -> Db {
    let file = folder.join("data").join("forge.db");
    Db::open(&format!("sqlite:{}", file.display())).await.unwrap()
}

/// A data folder with three keys that are sealed under a secret.
async fn with_keys(folder: &Path, vault: &Vault) {
    let migrated = run(folder, &["migrate"]);
    assert!(migrated.status.success(), "{}", text(&migrated.stderr));
    let db = open(folder).await;
    for key in KEYS {
        let now = SystemClock.now();
        let id = ProviderId::mint(now, &SystemEntropy);
        let provider = Provider {
            id,
            owner_id: None,
            name: key.into(),
            url: "http://127.0.0.1:9".into(),
            kind: Kind::Openai,
            key: Some(vault.seal(&format!("provider:{id}"), key).unwrap()),
            key_hint: None,
            models: json!([]),
            meta: json!({}),
            disabled_at: None,
            created_at: now,
            updated_at: now,
        };
        store::providers::create(&db, provider).await.unwrap();
    }
    db.close().await.unwrap();
}

/// The keys as a secret opens them.
async fn opened(folder: &Path, vault: &Vault) -> Vec<Option<String>> {
    let db = open(folder).await;
    let sealed = store::providers::shared(&db).await.unwrap();
    db.close().await.unwrap();
    let opened = sealed.iter().map(|it| {
        let opened = vault.open(&format!("provider:{}", it.id), it.key.as_deref().unwrap()).ok()?;
        assert_eq!(opened.expose(), it.name, "each in its own row");
        Some(opened.expose().to_owned())
    });
    opened.collect()
}

fn all() -> Vec<Option<String>> {
    let mut all = KEYS.map(|it| Some(it.to_owned())).to_vec();
    all.sort();
    all
}

fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("data").join("secret")
}

#[tokio::test]
async fn all_keys_are_sealed_anew_and_the_old_secret_opens_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["migrate"]);
    let old = Vault::load(&file(folder)).unwrap();
    with_keys(folder, &old).await;

    let output = run(folder, ROTATE);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("3 re-encrypted, 0 already"), "{said}");
    assert!(!said.contains("sk-"), "{said}");
    let new = Vault::load(&file(folder)).unwrap();
    assert_ne!(new.fingerprint(), old.fingerprint());
    assert_eq!(opened(folder, &new).await, all());
    assert_eq!(opened(folder, &old).await, [None, None, None]);
    assert!(!rotation::previous_of(&file(folder)).exists());
    let mode = std::fs::metadata(file(folder)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Once more is one more rotation, and harmless.
    let output = run(folder, ROTATE);
    assert!(text(&output.stdout).contains("3 re-encrypted, 0 already"));
    assert_eq!(opened(folder, &Vault::load(&file(folder)).unwrap()).await, all());
}

#[tokio::test]
async fn cut_off_in_the_middle_all_stays_readable_and_the_next_attempt_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["migrate"]);
    let old = Vault::load(&file(folder)).unwrap();
    with_keys(folder, &old).await;
    // As it is when the power fails after the first key.
    rotation::begin(&file(folder)).unwrap();
    let new = Vault::load(&file(folder)).unwrap();
    let db = open(folder).await;
    let (id, sealed) = store::providers::sealed(&db).await.unwrap().remove(0);
    let row = format!("provider:{id}");
    let again = new.seal(&row, old.open(&row, &sealed).unwrap().expose()).unwrap();
    store::providers::reseal(&db, id, &sealed, again).await.unwrap();
    db.close().await.unwrap();

    let both = Vault::load(&file(folder)).unwrap();
    let both = both.with_previous(Vault::load(&rotation::previous_of(&file(folder))).unwrap());
    assert_eq!(opened(folder, &both).await, all());
    assert_eq!(opened(folder, &old).await.iter().flatten().count(), 2);
    // A server reads both too.
    drop(Server::start(folder));

    let output = run(folder, ROTATE);
    assert!(text(&output.stdout).contains("2 re-encrypted, 1 already"), "{output:?}");
    assert_eq!(Vault::load(&file(folder)).unwrap().fingerprint(), new.fingerprint());
    assert_eq!(opened(folder, &new).await, all());
}

#[tokio::test]
async fn a_configured_secret_is_changed_by_whoever_configures() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (old, new) = ("ab".repeat(32), "cd".repeat(32));
    let vault = |text: &str| Vault::from_text(text).unwrap();
    with_keys(folder, &vault(&old)).await;
    let rotate = |previous: Option<&str>| {
        let mut command = forge(folder, ROTATE);
        command.env("FORGE_SECRET__KEY", format!("\"{new}\""));
        if let Some(previous) = previous {
            command.env("FORGE_SECRET__PREVIOUS", format!("\"{previous}\""));
        }
        command.output().unwrap()
    };
    let refused = rotate(None);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("secret.previous"), "{refused:?}");
    assert_eq!(opened(folder, &vault(&old)).await, all(), "nothing was changed");

    // A secret that is neither: the keys are lost, and said to be.
    let other = "ef".repeat(32);
    let output = rotate(Some(&other));
    assert!(text(&output.stdout).contains("3 opened by neither"), "{output:?}");
    assert_eq!(opened(folder, &vault(&old)).await, all());

    for counts in ["3 re-encrypted, 0 already", "0 re-encrypted, 3 already"] {
        let output = rotate(Some(&old));
        let said = text(&output.stdout);
        assert!(said.contains(counts), "{said} {}", text(&output.stderr));
        assert!(!said.contains("sk-") && !said.contains(&old) && !said.contains(&new), "{said}");
        assert_eq!(opened(folder, &vault(&new)).await, all());
    }
}

#[tokio::test]
async fn a_key_that_was_moved_to_another_row_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["migrate"]);
    let vault = Vault::load(&file(folder)).unwrap();
    with_keys(folder, &vault).await;
    let db = open(folder).await;
    let keys = store::providers::sealed(&db).await.unwrap();
    store::providers::reseal(&db, keys[0].0, &keys[0].1, keys[1].1.clone()).await.unwrap();
    db.close().await.unwrap();
    assert_eq!(opened(folder, &vault).await.iter().flatten().count(), 2);
    // It is not made openable by a rotation.
    let output = run(folder, ROTATE);
    assert!(text(&output.stdout).contains("2 re-encrypted, 0 already"), "{output:?}");
    assert!(text(&output.stdout).contains("1 opened by neither"), "{output:?}");
    let new = Vault::load(&file(folder)).unwrap();
    assert_eq!(opened(folder, &new).await.iter().flatten().count(), 2);
}

#[tokio::test]
async fn while_a_server_runs_nothing_is_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let before = std::fs::read(file(folder.path())).unwrap();
    let output = run(folder.path(), ROTATE);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("Stop it first"), "{output:?}");
    assert_eq!(std::fs::read(file(folder.path())).unwrap(), before);
    drop(server);
    assert!(run(folder.path(), ROTATE).status.success());
}
