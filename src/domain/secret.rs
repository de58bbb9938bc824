//! A text that nobody may see: a key, a token, a password.

use std::fmt;

use zeroize::Zeroizing;

/// A text that prints as `***`, and whose memory is wiped when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keys shorter than this are place-holders such as `none`; they are not looked for in texts.
    const SCRUBBED_FROM: usize = 6;
    /// How long a key must be before four of its characters may be shown.
    const HINTED_FROM: usize = 12;

    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, for the one call that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The last four characters, by which a person tells their keys apart. Nothing for a short one.
    pub fn hint(&self) -> String {
        let length = self.0.chars().count();
        if length < Self::HINTED_FROM {
            return String::new();
        }
        self.0.chars().skip(length - 4).collect()
    }

    /// The text without this secret, for what somebody else wrote and may have quoted it in.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.len() < Self::SCRUBBED_FROM {
            return text.to_owned();
        }
        text.replace(self.0.as_str(), "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_as_stars() {
        let secret = Secret::new("sk-1234567890abcd");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
    }

    #[test]
    fn only_a_long_secret_shows_its_end() {
        assert_eq!(Secret::new("sk-1234567890abcd").hint(), "abcd");
        assert_eq!(Secret::new("short").hint(), "");
        assert_eq!(Secret::new("ééééééééééééé").hint(), "éééé");
    }

    #[test]
    fn a_quoted_secret_is_scrubbed() {
        let secret = Secret::new("sk-1234567890abcd");
        assert_eq!(secret.scrub("wrong key sk-1234567890abcd."), "wrong key ***.");
        assert_eq!(Secret::new("").scrub("as it was"), "as it was");
    }
}
