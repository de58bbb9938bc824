//! The shape of the source, held to what its front page promises.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each layer, and the layers it may use besides itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("config", &[]),
    ("store", &["config", "domain"]),
    ("adapters", &["config", "domain"]),
    ("engine", &["adapters", "store", "config", "domain"]),
    ("app", &["engine", "adapters", "store", "config", "domain"]),
    ("web", &["app", "engine", "adapters", "store", "config", "domain"]),
];

/// Which crates only some layers may name.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("actix_web", &["web"]),
    ("actix_session", &["web"]),
    ("askama", &["web"]),
    ("sea_orm", &["store", "app"]),
    ("reqwest", &["adapters"]),
];

/// Crates that reach outside the process, which the domain has no business with.
const OUTSIDE: &[&str] = &["actix_web", "askama", "reqwest", "sea_orm", "tokio"];

const LONGEST_FILE: usize = 500;

#[test]
fn layers_only_use_the_layers_below() {
    for (layer, may_use) in LAYERS {
        for (file, text) in sources(&format!("src/{layer}")) {
            for other in layers_used_by(&text).filter(|other| other != layer) {
                assert!(may_use.contains(&other), "{file:?} must not use `{other}`");
            }
        }
    }
}

#[test]
fn the_domain_stays_inside_the_process() {
    for (file, text) in sources("src/domain") {
        for outside in OUTSIDE {
            assert!(!text.contains(&format!("{outside}::")), "{file:?} uses {outside}");
        }
    }
}

#[test]
fn crates_stay_in_their_layer() {
    for (name, allowed) in ONLY_IN {
        for (layer, _) in LAYERS.iter().filter(|(layer, _)| !allowed.contains(layer)) {
            for (file, text) in sources(&format!("src/{layer}")) {
                assert!(!text.contains(&format!("{name}::")), "{file:?} uses {name}");
            }
        }
    }
}

#[test]
fn files_stay_short_enough_to_read() {
    for (file, text) in sources("src") {
        let lines = text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
        assert!(lines <= LONGEST_FILE, "{file:?} has {lines} lines");
    }
}

/// The layers that a file names, as `crate::layer` or as a branch of `crate::{…}`.
fn layers_used_by(text: &str) -> impl Iterator<Item = &'static str> {
    let dense: String = text.split_whitespace().collect();
    let mut named = Vec::new();
    for path in dense.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            named.push(first_word(path).to_owned());
            continue;
        };
        let mut depth = 0;
        for branch in group.split_inclusive([',', '{', '}']) {
            if depth == 0 {
                named.push(first_word(branch).to_owned());
            }
            depth += branch.matches('{').count();
            match depth.checked_sub(branch.matches('}').count()) {
                Some(left) => depth = left,
                None => break,
            }
        }
    }
    LAYERS.iter().map(|(layer, _)| *layer).filter(move |layer| named.iter().any(|it| it == layer))
}

fn first_word(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut queue = vec![root.clone(), root.with_extension("rs")];
    let mut found = Vec::new();
    while let Some(path) = queue.pop() {
        if path.is_dir() {
            queue.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ext| ext == "rs") && path.exists() {
            found.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

#[test]
fn the_layer_check_reads_every_form_of_use() {
    let used = |text| layers_used_by(text).collect::<Vec<_>>();
    assert_eq!(used("use crate::store::users;"), ["store"]);
    assert_eq!(used("use crate::{app::App, domain::{ids::UserId, store}};"), ["domain", "app"]);
    assert_eq!(used("let x = crate::web::serve();"), ["web"]);
    assert_eq!(used("use other_crate::storehouse;"), [""; 0]);
}
