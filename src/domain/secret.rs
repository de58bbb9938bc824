//! A text that nobody may see: a key, a token, a password.

use std::{collections::HashSet, fmt};

use zeroize::Zeroizing;

/// A text that prints as `***`, and whose memory is wiped when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Keys shorter than this are place-holders such as `none`; they are not looked for in texts.
    const SCRUBBED_FROM: usize = 6;
    /// So many bytes of a key are looked for, where not all of it is quoted.
    const SCRUBBED_PIECE: usize = 16;
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

    /// The text without this secret, for what somebody else wrote and may have quoted it in: whole,
    /// or so much of it that it is more than a hint.
    pub fn scrub(&self, text: &str) -> String {
        let length = self.0.len().min(Self::SCRUBBED_PIECE);
        if length < Self::SCRUBBED_FROM {
            return text.to_owned();
        }
        let pieces: HashSet<&[u8]> = self.0.as_bytes().windows(length).collect();
        let mut scrubbed = String::with_capacity(text.len());
        // What is kept begins here, and what is not goes on to there.
        let (mut kept, mut hidden) = (0, None::<usize>);
        for (at, piece) in text.as_bytes().windows(length).enumerate() {
            if hidden.is_some_and(|end| at > end) {
                kept = text.ceil_char_boundary(hidden.take().unwrap_or(at));
            }
            if pieces.contains(piece) {
                if hidden.is_none() {
                    scrubbed.push_str(&text[kept..text.floor_char_boundary(at).max(kept)]);
                    scrubbed.push_str("***");
                }
                hidden = Some(at + length);
            }
        }
        let kept = hidden.map_or(kept, |end| text.ceil_char_boundary(end));
        scrubbed.push_str(&text[kept..]);
        scrubbed
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
        assert_eq!(secret.scrub("sk-1234567890abcd"), "***");
        let twice = "sk-1234567890abcd sk-1234567890abcd";
        assert_eq!(secret.scrub(twice), "*** ***");
        assert_eq!(secret.scrub("as it was"), "as it was");
        assert_eq!(Secret::new("").scrub("as it was"), "as it was");
    }

    #[test]
    fn a_secret_that_is_quoted_in_part_is_scrubbed_and_a_hint_stays() {
        let secret = Secret::new("sk-proj-0123456789abcdefghijklmnopqrstuvwxyz");
        let whole = secret.expose();
        assert_eq!(secret.scrub(&format!("é {}… é", &whole[..30])), "é ***… é");
        assert_eq!(secret.scrub(&format!("é{}é", &whole[10..])), "é***é");
        assert_eq!(secret.scrub(&format!("{whole}{whole}")), "***");
        assert_eq!(secret.scrub("sk-proj-****wxyz"), "sk-proj-****wxyz");
        let secret = Secret::new("ключ-который-никто-не-знает");
        assert_eq!(secret.scrub("до ключ-который-никто после"), "до *** после");
        assert_eq!(secret.scrub("ключ-который-никто-не-знает"), "***");
    }
}
