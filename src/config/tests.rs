use super::*;

fn read(text: &str) -> Result<Config, String> {
    Config::read(Figment::new().merge(Toml::string(text))).map_err(|err| err.to_string())
}

#[test]
fn an_unknown_key_is_named() {
    let err = read("[server]\nbnid = \"127.0.0.1:1\"").unwrap_err();
    assert!(err.contains("bnid") && err.contains("bind"), "{err}");
}

#[test]
fn a_bad_value_is_named_by_its_key() {
    let err = read("[server]\nbind = \"nonsense\"").unwrap_err();
    assert!(err.contains("server.bind"), "{err}");
    let err = read("[agent]\nmax_steps = 0").unwrap_err();
    assert!(err.contains("agent.max_steps"), "{err}");
}

#[test]
fn the_site_may_lie_below_a_path() {
    let config = read("[server]\npublic_url = \"https://example.org/forge/\"").unwrap();
    assert_eq!(config.base_path(), "/forge");
    assert!(config.cookie_secure());
    assert_eq!(Config::default().base_path(), "");
}

#[test]
fn the_file_in_the_repository_says_the_defaults() {
    let written = read(include_str!("../../config/forge.toml")).unwrap();
    assert_eq!(format!("{written:?}"), format!("{:?}", Config::default()));
}

#[test]
fn hosts_that_members_may_reach_are_names_or_addresses() {
    let hosts = r#"["llm.internal", "10.0.0.7", "[fd00::7]", "fd00::8"]"#;
    assert!(read(&format!("[providers]\nallowed_hosts = {hosts}")).is_ok());
    let err = read("[sandbox]\nprivate_hosts = [\"10.0.0.7:1\"]").unwrap_err();
    assert!(err.contains("sandbox.private_hosts"), "{err}");
    for bad in ["http://llm.internal", "10.0.0.7:8080", "10.0.0.0/8", "*.internal", ""] {
        let err = read(&format!("[providers]\nallowed_hosts = [\"{bad}\"]")).unwrap_err();
        assert!(err.contains("providers.allowed_hosts"), "{bad}: {err}");
    }
}

#[test]
fn caches_are_named_by_their_package_manager_and_absolute() {
    let config = read("[sandbox.package_caches]\ncargo = \"/var/cache/cargo\"").unwrap();
    assert_eq!(config.sandbox.package_caches.cargo.as_deref(), Some("/var/cache/cargo".as_ref()));
    for bad in ["[sandbox]\ncaches = [\"cache\"]", "[sandbox.package_caches]\nnpm = \"npm\""] {
        assert!(read(bad).unwrap_err().contains("absolute"), "{bad}");
    }
    let err = read("[sandbox.package_caches]\nmaven = \"/m\"").unwrap_err();
    assert!(err.contains("maven") && err.contains("cargo"), "{err}");
}

#[test]
fn a_secret_is_not_printed() {
    let config = read("[secret]\nkey = \"topsecret\"\nprevious = \"topsecret\"").unwrap();
    assert!(!format!("{config:?}").contains("topsecret"));
}
