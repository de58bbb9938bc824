//! What the bytes of a file are as text, and cuts that never split a character.

use std::borrow::Cow;

/// The three bytes that some editors put in front of UTF-8.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes of a file's start are looked at to tell text from anything else.
pub const HEAD: usize = 8 << 10;

/// What the start of a file says about the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8, or in an encoding with one byte per character, such as Latin-1.
    Text,
    Utf16(Endian),
    /// No text; in words what it is: `a PNG image`.
    Binary(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    Little,
    Big,
}

/// The first bytes of formats that hold no text.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
];

/// Tells text from anything else by the first [`HEAD`] bytes.
///
/// A NUL byte, or more than three control characters in ten, is no text. Bytes above 127 are no
/// evidence, because a file in Latin-1 has them too.
pub fn kind(head: &[u8]) -> Kind {
    let head = &head[..head.len().min(HEAD)];
    match head {
        [0xFF, 0xFE, ..] => return Kind::Utf16(Endian::Little),
        [0xFE, 0xFF, ..] => return Kind::Utf16(Endian::Big),
        _ => {}
    }
    if let Some((_, name)) = SIGNATURES.iter().find(|(start, _)| head.starts_with(start)) {
        return Kind::Binary(name);
    }
    if head.contains(&0) {
        return Kind::Binary("a binary file");
    }
    let control =
        |byte: &&u8| byte.is_ascii_control() && !byte.is_ascii_whitespace() && **byte != 27;
    match head.iter().filter(control).count() * 10 > head.len() * 3 {
        true => Kind::Binary("a binary file"),
        false => Kind::Text,
    }
}

/// UTF-16 as text, without its byte order mark; what is invalid becomes U+FFFD.
pub fn from_utf16(bytes: &[u8], endian: Endian) -> String {
    let units = bytes.chunks(2).map(|pair| match (pair, endian) {
        ([a, b], Endian::Little) => u16::from_le_bytes([*a, *b]),
        ([a, b], Endian::Big) => u16::from_be_bytes([*a, *b]),
        _ => 0xFFFD,
    });
    let units = units.skip_while(|unit| *unit == 0xFEFF);
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The byte order mark, or nothing, and the rest.
pub fn split_bom(content: &[u8]) -> (&[u8], &[u8]) {
    content.split_at(if content.starts_with(BOM) { BOM.len() } else { 0 })
}

/// Whether every line break, and there is at least one, is CRLF.
pub fn is_crlf(content: &[u8]) -> bool {
    let mut breaks = memchr::memchr_iter(b'\n', content).peekable();
    breaks.peek().is_some() && breaks.all(|at| at > 0 && content[at - 1] == b'\r')
}

/// Where JSON says that a text of it has a NUL, which is the one character that not every database
/// keeps.
pub fn nul_in_json(json: &[u8]) -> Option<usize> {
    let mut at = 0;
    // Backslashes are in texts alone. Each belongs to what follows, which may be another.
    while let Some(next) = memchr::memchr(b'\\', json.get(at..)?) {
        at += next;
        if json[at + 1..].starts_with(b"u0000") {
            return Some(at);
        }
        at += 2;
    }
    None
}

/// JSON with U+FFFD in place of each NUL of its texts.
pub fn json_without_nul(json: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = json;
    while let Some(at) = nul_in_json(rest.as_bytes()) {
        clean.push_str(&rest[..at]);
        clean.push_str("\\ufffd");
        rest = &rest[at + "\\u0000".len()..];
    }
    if clean.is_empty() { rest.into() } else { (clean + rest).into() }
}

/// At most `max` bytes of the text, cut between two characters.
pub fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// A path or file name on one line that cannot be mistaken: as it stands where it can be, else in
/// double quotes with the escapes of C.
pub fn printable(name: &[u8]) -> Cow<'_, str> {
    let plain = std::str::from_utf8(name)
        .ok()
        .filter(|text| !text.contains(|c: char| c.is_control() || c == '"' || c == '\\'));
    if let Some(text) = plain.filter(|text| text.trim() == *text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::from('"');
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => shown.push_str("\\n"),
                '\t' => shown.push_str("\\t"),
                '"' | '\\' => shown.extend(['\\', c]),
                c if c.is_ascii_control() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
                c if c.is_control() => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown.push('"');
    Cow::Owned(shown)
}

/// A number of bytes for people: `812 bytes`, `3.4 KB`, `1.9 MB`.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// A number with its noun: `1 line`, `3 lines`.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ if noun.ends_with("ch") => format!("{count} {noun}es"),
        _ => match noun.strip_suffix('y') {
            Some(stem) => format!("{count} {stem}ies"),
            None => format!("{count} {noun}s"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_found_in_json_and_what_looks_like_one_is_not() {
        for (json, clean) in [
            (r#"{"a":"\u0000"}"#, r#"{"a":"\ufffd"}"#),
            (r#"["\\\u0000","b\u0000\u0000"]"#, r#"["\\\ufffd","b\ufffd\ufffd"]"#),
            (r#"["\"\u0000✓"]"#, r#"["\"\ufffd✓"]"#),
            (r#"{"\u0000":1}"#, r#"{"\ufffd":1}"#),
        ] {
            assert!(nul_in_json(json.as_bytes()).is_some(), "{json}");
            assert_eq!(json_without_nul(json), clean);
        }
        for json in [r#"{"a":"\\u0000"}"#, r#"["\\\\u0000"]"#, r#"["\u0001\n"]"#, "\\", "", "{}"] {
            assert_eq!(nul_in_json(json.as_bytes()), None, "{json}");
            assert_eq!(json_without_nul(json), json);
        }
    }

    #[test]
    fn latin_1_is_text_and_a_nul_byte_is_not() {
        assert_eq!(kind(b"caf\xE9\nx=1\n"), Kind::Text);
        assert_eq!(kind(b""), Kind::Text);
        assert_eq!(kind(b"a\0b"), Kind::Binary("a binary file"));
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n..."), Kind::Binary("a PNG image"));
        assert_eq!(kind(b"\xFF\xFEa\0"), Kind::Utf16(Endian::Little));
    }

    #[test]
    fn utf_16_loses_its_mark_and_keeps_its_characters() {
        assert_eq!(from_utf16(b"\xFF\xFEa\0\x13\x27", Endian::Little), "a✓");
        assert_eq!(from_utf16(b"\xFE\xFF\0a\x27\x13\xD8", Endian::Big), "a✓\u{FFFD}");
    }

    #[test]
    fn a_cut_inside_a_character_is_moved_in_front_of_it() {
        assert_eq!(cut("a✓b", 2), "a");
        assert_eq!(cut("a✓b", 4), "a✓");
        assert_eq!(cut("a", 9), "a");
    }

    #[test]
    fn names_stay_on_one_line() {
        assert_eq!(printable("公共.cpp".as_bytes()), "公共.cpp");
        assert_eq!(printable(b"sp ace"), "sp ace");
        assert_eq!(printable(b"end\n"), "\"end\\n\"");
        assert_eq!(printable(b"a\"b"), "\"a\\\"b\"");
        assert_eq!(printable(b"\xE9t\xE9"), "\"\\xe9t\\xe9\"");
    }

    #[test]
    fn crlf_is_only_said_of_files_that_have_nothing_else() {
        assert!(is_crlf(b"a\r\nb\r\n"));
        assert!(!is_crlf(b"a\r\nb\n"));
        assert!(!is_crlf(b"a"));
    }

    #[test]
    fn counts_and_sizes_read_like_words() {
        assert_eq!(counted(1, "entry"), "1 entry");
        assert_eq!(counted(2, "entry"), "2 entries");
        assert_eq!(counted(2, "match"), "2 matches");
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1_900_000), "1.9 MB");
    }
}
