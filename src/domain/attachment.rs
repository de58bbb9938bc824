//! What a file is that somebody gives to a session: judged by its content, never by its name.

use super::message::FileKind;

/// The longest edge of an image, in pixels: what is larger is refused by some provider, and with
/// it the whole conversation.
pub const EDGE_MAX: usize = 8_000;
/// The most bytes of a text, for all of it is read by the model.
pub const TEXT_MAX: usize = 200_000;
/// The longest name that is kept, in characters.
const NAME_MAX: usize = 120;

/// What a file was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognized {
    pub kind: FileKind,
    pub mime: &'static str,
}

/// Says what a file is. The error is the rest of a sentence that begins with its name.
pub fn recognize(content: &[u8]) -> Result<Recognized, String> {
    use imagesize::ImageType::{Gif, Jpeg, Png, Webp};
    let (mime, whole) = match imagesize::image_type(content) {
        Ok(Png) => ("image/png", ends_with_chunk(content)),
        Ok(Jpeg) => ("image/jpeg", tail(content).windows(2).any(|it| it == [0xff, 0xd9])),
        Ok(Gif) => ("image/gif", tail(content).contains(&0x3b)),
        Ok(Webp) => ("image/webp", is_as_long_as_it_says(content)),
        Ok(_) | Err(_) => return text(content),
    };
    let size = imagesize::blob_size(content).ok().filter(|it| it.width > 0 && it.height > 0);
    let Some(size) = size.filter(|_| whole) else {
        return Err("is damaged. Save it again, then attach it.".into());
    };
    if size.width.max(size.height) > EDGE_MAX {
        return Err(format!(
            "is {} × {} pixels. Make it smaller: at most {EDGE_MAX} on each side.",
            size.width, size.height
        ));
    }
    Ok(Recognized { kind: FileKind::Image, mime })
}

fn text(content: &[u8]) -> Result<Recognized, String> {
    let is_text = |it: char| !it.is_control() || matches!(it, '\n' | '\r' | '\t' | '\u{c}');
    match std::str::from_utf8(content) {
        Ok(text) if text.trim().is_empty() => Err("is empty.".into()),
        Ok(text) if !text.chars().all(is_text) => Err(NOT_READ.into()),
        Ok(text) if text.len() > TEXT_MAX => {
            Err(format!("is too long for a text. Attach at most {} KB.", TEXT_MAX / 1_000))
        }
        Ok(_) => Ok(Recognized { kind: FileKind::Text, mime: "text/plain" }),
        Err(_) => Err(NOT_READ.into()),
    }
}

const NOT_READ: &str = "is no PNG, JPEG, GIF or WebP image and no text. Attach one of these.";

/// The name of a file without folders and without what cannot be seen.
pub fn name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|it| !it.is_control()).take(NAME_MAX).collect();
    let name = name.trim();
    if name.is_empty() { "file".to_owned() } else { name.to_owned() }
}

/// Writers may leave a little behind the end of an image.
fn tail(content: &[u8]) -> &[u8] {
    &content[content.len().saturating_sub(1_024)..]
}

fn ends_with_chunk(content: &[u8]) -> bool {
    tail(content).windows(4).any(|it| it == b"IEND")
}

fn is_as_long_as_it_says(content: &[u8]) -> bool {
    let length = content.get(4..8).and_then(|it| it.try_into().ok()).map(u32::from_le_bytes);
    length.is_some_and(|it| content.len() >= 8 + it as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0\0\0\0\0\
        \0\0\0\0IEND\xaeB`\x82";

    #[test]
    fn an_image_is_known_by_its_content() {
        let png = Recognized { kind: FileKind::Image, mime: "image/png" };
        assert_eq!(recognize(PNG), Ok(png));
        let gif = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
        assert_eq!(recognize(gif).unwrap().mime, "image/gif");
    }

    #[test]
    fn half_an_image_and_a_huge_one_are_refused() {
        let cut = &PNG[..PNG.len() - 8];
        assert!(recognize(cut).unwrap_err().contains("damaged"));
        let mut huge = PNG.to_vec();
        huge[16..20].copy_from_slice(&9_000_u32.to_be_bytes());
        assert!(recognize(&huge).unwrap_err().contains("9000 × 3"));
    }

    #[test]
    fn what_could_run_in_a_browser_is_only_text() {
        for page in ["<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "<html><script>1</script>"] {
            assert_eq!(recognize(page.as_bytes()).unwrap().mime, "text/plain");
        }
    }

    #[test]
    fn what_no_model_reads_is_refused() {
        for (content, says) in [
            (&b"\x7fELF\x02\x01\x01\0\0"[..], "no text"),
            (b"%PDF-1.7\n%\xe2\xe3", "no text"),
            (b"a\0b", "no text"),
            (b" \n", "empty"),
            (b"", "empty"),
        ] {
            assert!(recognize(content).unwrap_err().contains(says), "{content:?}");
        }
        assert!(recognize(&vec![b'a'; TEXT_MAX + 1]).unwrap_err().contains("too long"));
    }

    #[test]
    fn a_name_is_no_path() {
        for (given, kept) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\fakepath\\a.png", "a.png"),
            ("a\r\nb.png", "ab.png"),
            ("  ", "file"),
            ("dir/", "file"),
        ] {
            assert_eq!(name(given), kept, "{given:?}");
        }
        assert_eq!(name(&"ä".repeat(500)).chars().count(), NAME_MAX);
    }
}
