//! Files that were sent with a prompt, as a model is given them.

use super::{Image, Item, joined, text_of};
use crate::domain::message::Part;

/// A file with what the model gets to see of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    Image(Image),
    Text {
        name: String,
        text: String,
    },
    /// With the reason, as the rest of a sentence: `it cannot be read any more`.
    LeftOut {
        name: String,
        why: &'static str,
    },
}

/// What a person said with the files beside it, or `None` where that is nothing.
pub fn prompt_item(parts: &[Part], files: Vec<Attached>) -> Option<Item> {
    let mut text = joined(parts.iter().filter_map(text_of));
    let mut images = Vec::new();
    for file in files {
        let note = match file {
            Attached::Image(image) => {
                images.push(image);
                continue;
            }
            // A name has no line break; a quote would end it too early.
            Attached::Text { name, text } => {
                let (name, text) = (name.replace('"', "'"), text.trim_end());
                format!("<file name=\"{name}\">\n{text}\n</file>")
            }
            Attached::LeftOut { name, why } => format!("[{name} was left out: {why}.]"),
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&note);
    }
    Item::user(text, images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{conversation::ImageType, message::Text};

    #[test]
    fn files_follow_the_words_and_images_need_none() {
        let image = Image { mime: ImageType::Png, data: "AAAA".into() };
        let words = [Part::Text(Text { text: "Look".into() })];
        let files = vec![
            Attached::Text { name: "a\".txt".into(), text: "one\n".into() },
            Attached::Image(image.clone()),
            Attached::LeftOut { name: "b.png".into(), why: "it cannot be read any more" },
        ];
        let text = "Look\n\n<file name=\"a'.txt\">\none\n</file>\n\n\
                    [b.png was left out: it cannot be read any more.]";
        let item = Item::User { text: text.into(), images: vec![image.clone()] };
        assert_eq!(prompt_item(&words, files), Some(item));
        let alone = prompt_item(&[], vec![Attached::Image(image.clone())]);
        assert_eq!(alone, Some(Item::User { text: String::new(), images: vec![image] }));
        assert_eq!(prompt_item(&[], Vec::new()), None);
    }
}
