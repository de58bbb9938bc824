//! A new secret in place of the old one, in a file of the data folder.
//!
//! While keys are stored under both, the old secret lies beside the new one in `secret.previous`,
//! and both open. Each step leaves a state from which the next attempt goes on: first the old
//! secret is copied, then the new one takes its place in one rename, then keys are sealed anew, and
//! only then the copy is removed.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{SecretError, Vault, system};

/// Where the secret before the one in this file lies while it is still needed.
pub fn previous_of(secret: &Path) -> PathBuf {
    beside(secret, "previous")
}

/// Puts a new secret in place of the one in this file, unless that was begun before and has not
/// finished.
pub fn begin(secret: &Path) -> Result<(), SecretError> {
    let previous = previous_of(secret);
    let current = Vault::load_or_create(secret)?;
    if previous.exists() {
        if Vault::load(&previous)?.fingerprint() != current.fingerprint() {
            return Ok(());
        }
    } else {
        let text = Zeroizing::new(STANDARD.encode(current.secret.as_slice()));
        put(&previous, &text).map_err(|err| SecretError::File(previous.clone(), err))?;
    }
    let mut bytes = Zeroizing::new([0; 32]);
    system::fill(bytes.as_mut_slice());
    let text = Zeroizing::new(STANDARD.encode(bytes.as_slice()));
    put(secret, &text).map_err(|err| SecretError::File(secret.to_owned(), err))
}

/// Forgets the secret before this one: nothing is sealed under it any more.
pub fn finish(secret: &Path) -> Result<(), SecretError> {
    let previous = previous_of(secret);
    let removed = match fs::remove_file(&previous) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_folder(secret)),
    };
    removed.map_err(|err| SecretError::File(previous, err))
}

/// Writes a file for its owner alone, whole or not at all.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path, "new");
    // What an attempt that was cut off has left there is no secret of anything.
    match fs::remove_file(&new) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_folder(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_old_secret_stays_until_the_end_whatever_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        let first = Vault::load_or_create(&secret).unwrap();
        let sealed = first.seal("row", "key").unwrap();

        begin(&secret).unwrap();
        let both = |secret: &Path| {
            let previous = Vault::load(&previous_of(secret)).unwrap();
            Vault::load_or_create(secret).unwrap().with_previous(previous)
        };
        let second = both(&secret);
        assert_ne!(second.fingerprint(), first.fingerprint());
        assert_eq!(second.open("row", &sealed).unwrap().expose(), "key");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&secret), mode(&previous_of(&secret))), (0o600, 0o600));

        // Begun again before it has finished, it goes on with the same two.
        begin(&secret).unwrap();
        assert_eq!(both(&secret).fingerprint(), second.fingerprint());
        assert_eq!(both(&secret).open("row", &sealed).unwrap().expose(), "key");

        finish(&secret).unwrap();
        finish(&secret).unwrap();
        let alone = Vault::load_or_create(&secret).unwrap();
        assert_eq!(alone.fingerprint(), second.fingerprint());
        assert!(alone.open("row", &sealed).is_err());
    }

    #[test]
    fn cut_off_between_the_copy_and_the_new_secret_it_makes_one() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        let first = Vault::load_or_create(&secret).unwrap();
        fs::copy(&secret, previous_of(&secret)).unwrap();
        fs::write(beside(&secret, "new"), "half").unwrap();
        begin(&secret).unwrap();
        assert_ne!(Vault::load(&secret).unwrap().fingerprint(), first.fingerprint());
        assert_eq!(Vault::load(&previous_of(&secret)).unwrap().fingerprint(), first.fingerprint());
    }
}
