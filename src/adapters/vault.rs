//! Keys at rest: sealed with AES-256-GCM under the application secret, each bound to its row.
//!
//! A sealed text is `v1.<fingerprint>.<base64 of nonce and ciphertext>`. The row is associated
//! data, so that a text that is copied into another row does not open there. The fingerprint tells
//! which secret sealed it, and nothing else of the secret.

pub mod rotation;

use std::{
    fmt, fs, io,
    io::Write,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use aes_gcm::{
    Aes256Gcm, Key,
    aead::{Aead, KeyInit, Nonce, Payload},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::system;
use crate::domain::secret::Secret;

const VERSION: &str = "v1";
const NONCE: usize = 12;

/// Seals texts under one application secret, and opens them under it or the one before.
#[derive(Clone)]
pub struct Vault {
    secret: Zeroizing<[u8; 32]>,
    cipher: Aes256Gcm,
    fingerprint: String,
    /// The one before, under which texts may still be sealed.
    previous: Option<Box<Vault>>,
}

/// Why a text could not be sealed or opened.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    #[error(
        "This was sealed under another application secret. Restore that secret, or enter the key again."
    )]
    OtherSecret,
    #[error("This was sealed by a newer Forge. Update Forge.")]
    Newer,
    #[error("This is damaged, or was sealed for another row. Enter the key again.")]
    Damaged,
    #[error("This is too long to be sealed.")]
    TooLong,
}

/// Why there is no application secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("The application secret must be 32 bytes as base64 or as 64 hexadecimal digits.")]
    Malformed,
    #[error(
        "{0} must hold 32 bytes as base64 or as 64 hexadecimal digits. Restore it from a backup; \
         without it no stored key can be opened."
    )]
    MalformedFile(PathBuf),
    #[error("{0} holds the application secret, and others may read it. Run: chmod 600 {0}")]
    Exposed(PathBuf),
    #[error("The application secret in {0} cannot be used: {1}")]
    File(PathBuf, io::Error),
}

impl Vault {
    pub fn new(secret: &[u8; 32]) -> Self {
        let key = derived(secret, "vault");
        let print = derived(secret, "fingerprint");
        Self {
            secret: Zeroizing::new(*secret),
            cipher: Aes256Gcm::new(&Key::<Aes256Gcm>::from(*key)),
            fingerprint: print.iter().take(4).map(|it| format!("{it:02x}")).collect(),
            previous: None,
        }
    }

    /// The same, which also opens what was sealed under the secret before.
    pub fn with_previous(mut self, previous: Self) -> Self {
        self.previous = Some(Box::new(previous));
        self
    }

    /// A key of its own for another purpose, such as signing cookies.
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        derived(&self.secret, purpose)
    }

    /// The vault of a configured secret: 32 bytes as base64 or hexadecimal digits.
    pub fn from_text(text: &str) -> Result<Self, SecretError> {
        decode(text).map(|it| Self::new(&it)).ok_or(SecretError::Malformed)
    }

    /// The vault of the secret in this file, which is made with fresh random bytes where there is
    /// none. It must be readable by its owner alone.
    pub fn load_or_create(path: &Path) -> Result<Self, SecretError> {
        let failed = |err| SecretError::File(path.to_owned(), err);
        let mut options = fs::OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let mut bytes = Zeroizing::new([0; 32]);
                system::fill(bytes.as_mut_slice());
                let text = Zeroizing::new(format!("{}\n", STANDARD.encode(bytes.as_slice())));
                file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
                return Ok(Self::new(&bytes));
            }
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            Err(err) => return Err(failed(err)),
        }
        Self::load(path)
    }

    /// The vault of the secret in this file, which must be there.
    pub fn load(path: &Path) -> Result<Self, SecretError> {
        let failed = |err| SecretError::File(path.to_owned(), err);
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(SecretError::Exposed(path.to_owned()));
        }
        let bytes = Zeroizing::new(fs::read(path).map_err(failed)?);
        std::str::from_utf8(&bytes)
            .ok()
            .and_then(decode)
            .map(|it| Self::new(&it))
            .ok_or_else(|| SecretError::MalformedFile(path.to_owned()))
    }

    /// Whether a text is sealed under the present secret, not under the one before.
    pub fn is_current(&self, sealed: &str) -> bool {
        sealed.split('.').nth(1) == Some(self.fingerprint())
    }

    /// Names the secret without telling anything of it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Seals a text for one row, named by purpose and id: `provider:01J…`.
    pub fn seal(&self, row: &str, plain: &str) -> Result<String, VaultError> {
        let mut sealed = vec![0; NONCE];
        system::fill(&mut sealed);
        let nonce = nonce(&sealed).ok_or(VaultError::Damaged)?;
        let aad = associated(row);
        let payload = Payload { msg: plain.as_bytes(), aad: aad.as_bytes() };
        let text = self.cipher.encrypt(&nonce, payload).map_err(|_| VaultError::TooLong)?;
        sealed.extend_from_slice(&text);
        Ok(format!("{VERSION}.{}.{}", self.fingerprint, STANDARD.encode(sealed)))
    }

    /// Opens what was sealed for this row.
    pub fn open(&self, row: &str, sealed: &str) -> Result<Secret, VaultError> {
        let mut pieces = sealed.splitn(3, '.');
        let (version, fingerprint, data) = (pieces.next(), pieces.next(), pieces.next());
        match version {
            Some(VERSION) => {}
            Some(other) if other.starts_with('v') => return Err(VaultError::Newer),
            _ => return Err(VaultError::Damaged),
        }
        if fingerprint != Some(self.fingerprint()) {
            let previous = self.previous.as_deref();
            if let Some(previous) = previous.filter(|it| fingerprint == Some(it.fingerprint())) {
                return previous.open(row, sealed);
            }
            return Err(VaultError::OtherSecret);
        }
        let data = STANDARD.decode(data.unwrap_or_default()).map_err(|_| VaultError::Damaged)?;
        let nonce = nonce(&data).ok_or(VaultError::Damaged)?;
        let aad = associated(row);
        let payload = Payload { msg: &data[NONCE..], aad: aad.as_bytes() };
        let plain = self.cipher.decrypt(&nonce, payload).map_err(|_| VaultError::Damaged)?;
        let plain = Zeroizing::new(plain);
        std::str::from_utf8(&plain).map(Secret::new).map_err(|_| VaultError::Damaged)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

fn derived(secret: &[u8; 32], purpose: &str) -> Zeroizing<[u8; 32]> {
    let digest = Sha256::new().chain_update(format!("forge {purpose}\0")).chain_update(secret);
    Zeroizing::new(digest.finalize().into())
}

fn associated(row: &str) -> String {
    format!("forge:{row}")
}

fn nonce(bytes: &[u8]) -> Option<Nonce<Aes256Gcm>> {
    Nonce::<Aes256Gcm>::try_from(bytes.get(..NONCE)?).ok()
}

/// 32 bytes from base64 or hexadecimal digits.
fn decode(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let text = text.trim();
    let bytes = Zeroizing::new(if text.len() == 64 {
        let digit = |it: u8| (it as char).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let pairs = text.as_bytes().chunks_exact(2);
        pairs
            .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
            .collect::<Option<Vec<_>>>()?
    } else {
        STANDARD.decode(text).ok()?
    });
    bytes.as_slice().try_into().ok().map(Zeroizing::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_in_its_row_only() {
        let vault = Vault::new(&[7; 32]);
        let sealed = vault.seal("provider:1", "sk-key é").unwrap();
        assert_eq!(vault.open("provider:1", &sealed).unwrap().expose(), "sk-key é");
        assert_eq!(vault.open("provider:2", &sealed).unwrap_err(), VaultError::Damaged);
        assert_eq!(vault.open("mail:1", &sealed).unwrap_err(), VaultError::Damaged);
        assert!(!sealed.contains("sk-key"));
    }

    #[test]
    fn no_two_seals_are_the_same() {
        let vault = Vault::new(&[7; 32]);
        assert_ne!(vault.seal("a", "x").unwrap(), vault.seal("a", "x").unwrap());
    }

    #[test]
    fn another_secret_is_told_from_damage() {
        let sealed = Vault::new(&[7; 32]).seal("a", "x").unwrap();
        let vault = Vault::new(&[8; 32]);
        assert_eq!(vault.open("a", &sealed).unwrap_err(), VaultError::OtherSecret);
        assert_eq!(vault.open("a", "v2.x.y").unwrap_err(), VaultError::Newer);
        for damaged in ["", "sk-plain", &sealed[..sealed.len() - 4]] {
            let err = Vault::new(&[7; 32]).open("a", damaged).unwrap_err();
            assert_eq!(err, VaultError::Damaged, "{damaged}");
        }
    }

    #[test]
    fn a_flipped_byte_does_not_open() {
        let vault = Vault::new(&[7; 32]);
        let sealed = vault.seal("a", "x").unwrap();
        let (head, data) = sealed.rsplit_once('.').unwrap();
        let data = STANDARD.decode(data).unwrap();
        for at in 0..data.len() {
            let mut data = data.clone();
            data[at] ^= 1;
            let sealed = format!("{head}.{}", STANDARD.encode(data));
            assert_eq!(vault.open("a", &sealed).unwrap_err(), VaultError::Damaged);
        }
    }

    #[test]
    fn a_configured_secret_is_base64_or_hexadecimal() {
        let base64 = Vault::from_text(&STANDARD.encode([0xab; 32])).unwrap();
        let hexadecimal = Vault::from_text(&"aB".repeat(32)).unwrap();
        assert_eq!(base64.fingerprint(), hexadecimal.fingerprint());
        for bad in ["", "secret", &"zz".repeat(32), &STANDARD.encode([1; 31])] {
            assert!(matches!(Vault::from_text(bad), Err(SecretError::Malformed)), "{bad}");
        }
    }

    #[test]
    fn the_secret_is_made_once_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let made = Vault::load_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Vault::load_or_create(&path).unwrap().fingerprint(), made.fingerprint());

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let err = Vault::load_or_create(&path).unwrap_err();
        assert!(err.to_string().contains("chmod 600"), "{err}");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "too short").unwrap();
        assert!(matches!(Vault::load_or_create(&path), Err(SecretError::MalformedFile(_))));
    }

    #[test]
    fn keys_for_different_purposes_differ() {
        let vault = Vault::new(&[7; 32]);
        assert_ne!(vault.derive("cookies"), vault.derive("tokens"));
        assert_eq!(vault.derive("cookies"), Vault::new(&[7; 32]).derive("cookies"));
    }

    #[test]
    fn a_vault_prints_no_secret() {
        let printed = format!("{:?}", Vault::new(&[7; 32]));
        assert!(printed.contains("fingerprint") && !printed.contains("[7, 7"));
    }
}
