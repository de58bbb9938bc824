//! File names as text that can be turned back into exactly the same bytes.
//!
//! A name is nearly always UTF-8 and stays as it is, with all its spaces, quotes and newlines. A
//! byte that is not part of UTF-8 becomes `%` and two capital hexadecimal digits. So that this
//! can be told from a name that has these three characters, a `%` that two hexadecimal digits
//! follow becomes `%25`. Every other `%` stays: `100%.txt` is written as it is.

use std::fmt::Write as _;

/// A path, relative to the project, as text.
pub fn encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            match c {
                '%' if hex(valid.as_bytes(), at).is_some() => text.push_str("%25"),
                _ => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The bytes that [`encode`] made the text of.
pub fn decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut path = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match hex(bytes, at).filter(|_| *byte == b'%') {
            Some(escaped) => {
                path.push(escaped);
                at += 3;
            }
            None => {
                path.push(*byte);
                at += 1;
            }
        }
    }
    path
}

/// The folders that a path lies in, outer ones first; none for a path at the top.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The byte that the two characters after a place stand for.
fn hex(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["src/公共.cpp", "a\"b.txt", "sp ace", "line\n", "100%.txt", "%", "50%_x"] {
            assert_eq!(encode(name.as_bytes()), name);
            assert_eq!(decode(name), name.as_bytes());
        }
        assert_eq!(encode(b"caf\xE9.txt"), "caf%E9.txt");
        assert_eq!(encode(b"caf%E9.txt"), "caf%25E9.txt");
    }

    #[test]
    fn a_path_lies_in_the_folders_above_it() {
        assert_eq!(ancestors("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(ancestors("a").count(), 0);
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in "(%|[0-9a-fA-F]|é|\\PC){0,12}", raw: Vec<u8>, at: usize) {
            let mut bytes = name.into_bytes();
            let at = at % (bytes.len() + 1);
            bytes.splice(at..at, raw);
            prop_assert_eq!(decode(&encode(&bytes)), bytes);
        }
    }
}
