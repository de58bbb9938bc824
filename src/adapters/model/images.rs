//! Which images of a conversation are sent.
//!
//! A provider refuses a whole request for one image that it does not take, and then the session
//! could not go on. So an image that it would refuse is left out, and a note stands in its place.

use std::collections::{HashMap, HashSet};

use super::Kind;
use crate::domain::conversation::{Image, ImageType, Item, Request};

/// What a provider takes; sizes in bytes of base64.
struct Limits {
    count: usize,
    each: usize,
    all: usize,
    types: &'static [ImageType],
}

const MIB: usize = 1_024 * 1_024;

fn limits(kind: Kind) -> Limits {
    use ImageType::{Gif, Jpeg, Png, Webp};
    match kind {
        Kind::Openai => {
            Limits { count: 50, each: 20 * MIB, all: 40 * MIB, types: &[Png, Jpeg, Gif, Webp] }
        }
        Kind::Openrouter => {
            Limits { count: 20, each: 5 * MIB, all: 20 * MIB, types: &[Png, Jpeg, Gif, Webp] }
        }
        // With more than 20 images each may measure 2000 pixels only.
        Kind::Anthropic => {
            Limits { count: 20, each: 5 * MIB, all: 24 * MIB, types: &[Png, Jpeg, Gif, Webp] }
        }
        // A request may have 20 MB in all.
        Kind::Gemini => {
            Limits { count: 100, each: 14 * MIB, all: 14 * MIB, types: &[Png, Jpeg, Webp] }
        }
        Kind::Ollama => {
            Limits { count: 10, each: 14 * MIB, all: 28 * MIB, types: &[Png, Jpeg, Webp] }
        }
    }
}

/// The images that are sent, by item and place in it, and what is said of the others.
pub(super) struct Chosen {
    sent: HashSet<(usize, usize)>,
    notes: HashMap<usize, String>,
}

impl Chosen {
    /// Of a request to this kind of provider. Where there are too many, the newest are sent.
    pub fn of(kind: Kind, request: &Request) -> Self {
        let limits = limits(kind);
        let (mut count, mut bytes) = (0, 0);
        let mut chosen = Self { sent: HashSet::new(), notes: HashMap::new() };
        for (at, item) in request.items.iter().enumerate().rev() {
            let Item::User { images, .. } = item else { continue };
            let mut left_out: Vec<&str> = Vec::new();
            for (place, image) in images.iter().enumerate().rev() {
                let size = image.data.len();
                let why = if request.meta.images == Some(false) {
                    "this model does not read images"
                } else if !limits.types.contains(&image.mime) {
                    "its format is not read by this provider"
                } else if size > limits.each {
                    "it is too large for this provider"
                } else if count == limits.count || bytes + size > limits.all {
                    "there are newer ones, and no room for more"
                } else {
                    count += 1;
                    bytes += size;
                    chosen.sent.insert((at, place));
                    continue;
                };
                left_out.push(why);
            }
            if !left_out.is_empty() {
                left_out.reverse();
                let note = |why: &&str| format!("[An image was left out: {why}.]");
                let notes: Vec<_> = left_out.iter().map(note).collect();
                chosen.notes.insert(at, notes.join("\n"));
            }
        }
        chosen
    }

    /// The images of an item that are sent, in order.
    pub fn images<'a>(
        &self,
        at: usize,
        images: &'a [Image],
    ) -> impl Iterator<Item = &'a Image> + use<'a, '_> {
        let sent = images.iter().enumerate();
        sent.filter(move |(place, _)| self.sent.contains(&(at, *place))).map(|(_, image)| image)
    }

    /// What is said of the images of an item that are not sent.
    pub fn note(&self, at: usize) -> Option<&str> {
        self.notes.get(&at).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::provider::ModelMeta;

    #[test]
    fn of_too_many_images_the_newest_are_sent_and_the_others_noted() {
        let prompt = |count: usize| Item::User { text: String::new(), images: images(count, 4) };
        let request = Request { items: vec![prompt(8), prompt(7)], ..Request::default() };
        let chosen = Chosen::of(Kind::Ollama, &request);
        assert_eq!(sent(&chosen, &request), [3, 7]);
        let note = chosen.note(0).unwrap();
        assert_eq!(note.lines().count(), 5);
        assert!(note.contains("newer ones"), "{note}");
        assert_eq!(chosen.note(1), None);
        assert_eq!(sent(&Chosen::of(Kind::Openai, &request), &request), [8, 7]);
    }

    #[test]
    fn an_image_that_a_provider_would_refuse_is_left_out() {
        let large = Image { mime: ImageType::Png, data: "A".repeat(5 * MIB + 4).into() };
        let gif = Image { mime: ImageType::Gif, data: "AAAA".into() };
        let images = vec![large, gif];
        let items = vec![Item::User { text: String::new(), images }];
        let request = Request { items, ..Request::default() };
        for (kind, count, says) in [
            (Kind::Anthropic, 1, Some("too large")),
            (Kind::Gemini, 1, Some("format")),
            (Kind::Openai, 2, None),
        ] {
            let chosen = Chosen::of(kind, &request);
            assert_eq!(sent(&chosen, &request), [count], "{kind}");
            assert_eq!(chosen.note(0).is_some(), says.is_some(), "{kind}");
            assert!(says.is_none_or(|it| chosen.note(0).unwrap().contains(it)), "{kind}");
        }
        let meta = ModelMeta { images: Some(false), ..ModelMeta::default() };
        let blind = Request { meta, ..request };
        assert_eq!(sent(&Chosen::of(Kind::Openai, &blind), &blind), [0]);
    }

    #[test]
    fn all_images_together_are_bounded() {
        let items = vec![Item::User { text: String::new(), images: images(9, 4 * MIB) }];
        let request = Request { items, ..Request::default() };
        assert_eq!(sent(&Chosen::of(Kind::Anthropic, &request), &request), [6]);
    }

    fn images(count: usize, size: usize) -> Vec<Image> {
        vec![Image { mime: ImageType::Png, data: "A".repeat(size).into() }; count]
    }

    fn sent(chosen: &Chosen, request: &Request) -> Vec<usize> {
        let count = |(at, item): (usize, &Item)| match item {
            Item::User { images, .. } => chosen.images(at, images).count(),
            _ => 0,
        };
        request.items.iter().enumerate().map(count).collect()
    }
}
