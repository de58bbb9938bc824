//! API tokens: how they look and what they may do.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    ids::Entropy,
    message::{UnknownWord, words},
};

/// What a token may do. Each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Read,
    Write,
    /// What admins may do, where the token's owner is one.
    Admin,
}

words! { Scope { Read => "read", Write => "write", Admin => "admin" } }

/// Makes the text of a new token: a recognisable prefix and 256 bits in hexadecimal.
pub fn mint(entropy: &dyn Entropy) -> String {
    let mut text = String::from("forge_");
    for byte in entropy.bytes() {
        use fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What is stored of a token or of a cookie's key: enough to find it, not to use it.
pub fn hash(token: &str) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(token.as_bytes()) {
        use fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
    }
    text
}
