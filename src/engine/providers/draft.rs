//! What somebody enters about a provider, and what is wrong with it.

use std::collections::{BTreeMap, HashSet};

use url::Url;

use crate::{
    domain::{
        name::Name,
        provider::{Kind, ModelMeta},
        secret::Secret,
    },
    engine::refused::Fields,
};

/// The most models that one provider may have.
pub const MAX_MODELS: usize = 5_000;
/// The longest id of a model, in bytes.
pub const MAX_MODEL: usize = 200;
/// The longest address, in characters.
pub const MAX_URL: usize = 500;
/// The longest key, in characters.
pub const MAX_KEY: usize = 4_096;

/// More tokens than any model reads, and more dollars than any asks for.
const MAX_TOKENS: u64 = 1_000_000_000;
const MAX_PRICE: i64 = 1_000_000_000_000;

/// What people put where a key is already known: dots and stars, with or without its end.
const MASK: &[char] = &['•', '●', '*', '·', '…'];

/// A change as it was entered. What is absent stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub url: Option<String>,
    /// Empty removes the key.
    pub key: Option<Secret>,
    /// The ids that sessions can use.
    pub models: Option<Vec<String>>,
    /// What is known of these models; the others stay as they are.
    pub meta: Option<BTreeMap<String, ModelMeta>>,
    pub disabled: Option<bool>,
}

/// A draft in which nothing is wrong.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub name: Option<String>,
    pub kind: Option<Kind>,
    pub url: Option<String>,
    pub key: KeyChange,
    pub models: Option<Vec<String>>,
    pub meta: Option<BTreeMap<String, ModelMeta>>,
    pub disabled: Option<bool>,
}

#[derive(Clone, Debug)]
pub(super) enum KeyChange {
    Keep,
    Remove,
    Set(Secret),
}

impl Draft {
    /// The same for a provider that is new, in which name, kind and address must be said.
    pub(super) fn complete(mut self) -> Self {
        for field in [&mut self.name, &mut self.kind, &mut self.url] {
            field.get_or_insert_default();
        }
        self
    }

    /// Checks all fields at once. `hint` is how the present key ends.
    pub(super) fn check(self, hint: Option<&str>) -> Result<Change, Fields> {
        let mut wrong = Fields::new();
        let kind = noted(&mut wrong, "kind", self.kind.map(|it| kind(&it)));
        let change = Change {
            name: noted(&mut wrong, "name", self.name.map(|it| name(&it))),
            kind,
            url: noted(&mut wrong, "url", self.url.map(|it| url(&it, kind))),
            key: noted(&mut wrong, "key", self.key.map(|it| key(&it, hint)))
                .unwrap_or(KeyChange::Keep),
            models: noted(&mut wrong, "models", self.models.map(models)),
            meta: noted(&mut wrong, "meta", self.meta.map(meta)),
            disabled: self.disabled,
        };
        if wrong.is_empty() { Ok(change) } else { Err(wrong) }
    }
}

fn noted<T>(
    wrong: &mut Fields,
    field: &'static str,
    checked: Option<Result<T, String>>,
) -> Option<T> {
    match checked? {
        Ok(value) => Some(value),
        Err(message) => {
            wrong.insert(field, message);
            None
        }
    }
}

fn name(entered: &str) -> Result<String, String> {
    if entered.trim().chars().any(char::is_control) {
        return Err("The name has a line break or another invisible character. Take it out.".into());
    }
    Name::parse(entered).map(String::from).map_err(|err| err.to_string())
}

fn kind(entered: &str) -> Result<Kind, String> {
    entered.trim().parse().map_err(|_| {
        let words = Kind::ALL.map(|it| it.to_string());
        format!("Choose a kind: {}.", words.join(", "))
    })
}

/// An address as it was entered; nothing stands for the usual one of the kind. The adapter joins it
/// with its paths, with or without a slash or `/v1` at the end.
fn url(entered: &str, kind: Option<Kind>) -> Result<String, String> {
    let entered = entered.trim();
    if entered.is_empty() {
        return kind
            .map(|kind| kind.default_url().to_owned())
            .ok_or("Give the address, such as https://api.openai.com/v1.".into());
    }
    if entered.chars().count() > MAX_URL {
        return Err(format!("Keep the address under {} characters.", MAX_URL + 1));
    }
    if entered.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return Err("The address has a space or an invisible character. Take it out.".into());
    }
    let url = Url::parse(entered)
        .ok()
        .filter(|it| matches!(it.scheme(), "http" | "https") && it.has_host())
        .ok_or("The address must begin with http:// or https://, then name a host.")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "Take the name and password out of the address. The key has its own field.".into()
        );
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("Give the address without ? and #.".into());
    }
    Ok(entered.to_owned())
}

fn key(entered: &Secret, hint: Option<&str>) -> Result<KeyChange, String> {
    let text = entered.expose().trim();
    if text.is_empty() {
        return Ok(KeyChange::Remove);
    }
    let end = text.trim_start_matches(MASK);
    if end.len() < text.len() && (end.is_empty() || Some(end) == hint) {
        return Ok(KeyChange::Keep);
    }
    if text.len() > MAX_KEY {
        return Err(format!("Keep the key under {} characters.", MAX_KEY + 1));
    }
    if !text.chars().all(|it| it.is_ascii_graphic()) {
        return Err("The key has a space or a character that no key has. Copy it again.".into());
    }
    Ok(KeyChange::Set(Secret::new(text)))
}

fn models(entered: Vec<String>) -> Result<Vec<String>, String> {
    if entered.len() > MAX_MODELS {
        return Err(format!("Choose at most {MAX_MODELS} models."));
    }
    let mut seen = HashSet::with_capacity(entered.len());
    let mut models = Vec::with_capacity(entered.len());
    for id in entered {
        let id = model_id(&id)?;
        if seen.insert(id.clone()) {
            models.push(id);
        }
    }
    Ok(models)
}

fn model_id(entered: &str) -> Result<String, String> {
    let id = entered.trim();
    if id.is_empty() {
        return Err("A model has no name.".into());
    }
    if id.len() > MAX_MODEL {
        return Err(format!("Keep the name of a model under {} characters.", MAX_MODEL + 1));
    }
    if id.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return Err("The name of a model has a space or an invisible character.".into());
    }
    Ok(id.to_owned())
}

fn meta(entered: BTreeMap<String, ModelMeta>) -> Result<BTreeMap<String, ModelMeta>, String> {
    if entered.len() > MAX_MODELS {
        return Err(format!("Describe at most {MAX_MODELS} models."));
    }
    let mut checked = BTreeMap::new();
    for (id, meta) in entered {
        let id = model_id(&id)?;
        let tokens = [meta.context, meta.output_limit];
        if tokens.into_iter().flatten().any(|it| it == 0 || it > MAX_TOKENS) {
            return Err(format!("{id}: give limits as a number of tokens, or null for unknown."));
        }
        let prices =
            [meta.price_input, meta.price_output, meta.price_cache_read, meta.price_cache_write];
        if prices.into_iter().flatten().any(|it| !(0..=MAX_PRICE).contains(&it)) {
            return Err(format!("{id}: a price is not below zero; null stands for unknown."));
        }
        checked.insert(id, meta);
    }
    Ok(checked)
}

/// The word for each field that a change touches, for the audit log.
impl Change {
    pub(super) fn fields(&self) -> Vec<&'static str> {
        [
            ("name", self.name.is_some()),
            ("kind", self.kind.is_some()),
            ("url", self.url.is_some()),
            ("key", !matches!(self.key, KeyChange::Keep)),
            ("models", self.models.is_some()),
            ("meta", self.meta.is_some()),
            ("disabled", self.disabled.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, touched)| touched.then_some(name))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_and_without_slash_and_version() {
        for good in [
            "https://api.openai.com",
            "https://api.openai.com/v1/",
            " http://127.0.0.1:11434/v1 ",
            "http://[::1]:8080",
        ] {
            assert_eq!(url(good, None), Ok(good.trim().to_owned()));
        }
    }

    #[test]
    fn an_address_with_anything_else_is_refused_with_the_reason() {
        for (bad, says) in [
            ("", "Give the address"),
            ("api.openai.com", "http://"),
            ("ftp://x.example", "http://"),
            ("file:///etc/passwd", "http://"),
            ("javascript:alert(1)", "http://"),
            ("http://", "http://"),
            ("https://ada:secret@x.example", "password"),
            ("https://x.example/v1?key=1", "without ?"),
            ("https://x.example/#a", "without ?"),
            ("https://x.exa\nmple", "invisible"),
            (&format!("https://{}.example", "x".repeat(MAX_URL)), "under"),
        ] {
            let err = url(bad, None).unwrap_err();
            assert!(err.contains(says), "{bad:?}: {err}");
            assert!(!err.contains("secret"), "{err}");
        }
    }

    #[test]
    fn no_address_is_the_usual_one_of_the_kind() {
        for kind in Kind::ALL {
            let usual = url(" ", Some(kind)).unwrap();
            assert_eq!(url(&usual, None), Ok(usual), "{kind}");
        }
    }

    #[test]
    fn a_masked_key_changes_nothing() {
        for masked in ["••••••••4f2c", "********4f2c", "***", "••••"] {
            let change = key(&Secret::new(masked), Some("4f2c"));
            assert!(matches!(change, Ok(KeyChange::Keep)), "{masked}");
        }
        assert!(matches!(key(&Secret::new("***abcd"), Some("4f2c")), Ok(KeyChange::Set(_))));
    }

    #[test]
    fn an_empty_key_is_removed_and_a_strange_one_refused() {
        assert!(matches!(key(&Secret::new("  "), None), Ok(KeyChange::Remove)));
        assert!(
            matches!(key(&Secret::new(" sk-1 "), None), Ok(KeyChange::Set(it)) if it.expose() == "sk-1")
        );
        for bad in ["sk 1", "sk\n1", "sk-é", &"x".repeat(MAX_KEY + 1)] {
            assert!(key(&Secret::new(bad), None).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let draft = Draft { key: Some(Secret::new("a b")), ..Draft::default() }.complete();
        let wrong = draft.check(None).unwrap_err();
        assert_eq!(wrong.keys().copied().collect::<Vec<_>>(), ["key", "kind", "name", "url"]);
    }

    #[test]
    fn models_are_kept_in_order_and_once() {
        let entered = ["b", " a ", "b"].map(str::to_owned).to_vec();
        assert_eq!(models(entered), Ok(vec!["b".to_owned(), "a".to_owned()]));
        assert!(models(vec!["a\u{0}".into()]).is_err());
        assert!(models(vec!["x".repeat(MAX_MODEL + 1)]).is_err());
        assert!(models(vec!["a".into(); MAX_MODELS + 1]).is_err());
    }

    #[test]
    fn a_price_below_zero_and_a_window_of_nothing_are_refused() {
        let of = |meta| meta_of(meta).is_err();
        assert!(of(ModelMeta { price_input: Some(-1), ..ModelMeta::default() }));
        assert!(of(ModelMeta { context: Some(0), ..ModelMeta::default() }));
        assert!(!of(ModelMeta { price_input: Some(0), ..ModelMeta::default() }));
    }

    fn meta_of(one: ModelMeta) -> Result<BTreeMap<String, ModelMeta>, String> {
        meta(BTreeMap::from([("m".to_owned(), one)]))
    }
}
