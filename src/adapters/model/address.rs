//! The addresses that requests go to, from the one that a person entered.

use url::Url;

/// The base of an entered address: without a fragment, without a slash at the end, and without the
/// first of `tails` that it ends in, which people copy along from examples.
pub(super) fn base(entered: &str, tails: &[&str]) -> Result<Url, String> {
    let mut url = Url::parse(entered.trim())
        .ok()
        .filter(|it| matches!(it.scheme(), "http" | "https") && it.has_host())
        .ok_or("The address of the provider must begin with http:// or https://.")?;
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/');
    let tail = tails.iter().find_map(|tail| path.strip_suffix(tail)?.strip_suffix('/'));
    let path = tail.unwrap_or(path).trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// The address of `path` below a base that names a version, or gets this one.
pub(super) fn versioned(mut base: Url, version: &str, path: &str) -> Url {
    let below = base.path().trim_end_matches('/');
    let below = match below.split('/').any(is_version) {
        true => below.to_owned(),
        // Where the version stands below a folder, the folder may have been entered.
        false => match version.split_once('/') {
            Some((folder, _)) => {
                format!(
                    "{}/{version}",
                    below.strip_suffix(folder).unwrap_or(below).trim_end_matches('/')
                )
            }
            None => format!("{below}/{version}"),
        },
    };
    base.set_path(&format!("{below}/{path}"));
    base
}

/// Whether a piece of a path is a version: `v1`, `v1beta`.
fn is_version(piece: &str) -> bool {
    piece.strip_prefix('v').is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
}
