//! Images in a conversation.

use std::{fmt, str::FromStr, sync::Arc};

use super::{UnknownWord, words};

/// The image formats that models read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageType {
    Png,
    Jpeg,
    Gif,
    Webp,
}

words! {
    ImageType {
        Png => "image/png", Jpeg => "image/jpeg", Gif => "image/gif", Webp => "image/webp",
    }
}

/// An image as it is sent. The data is shared, so that a step costs no copy of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    pub mime: ImageType,
    /// Base64, with padding.
    pub data: Arc<str>,
}

impl Image {
    /// How many bytes of text an image counts as where tokens are estimated: about what a large
    /// one costs, at four bytes a token.
    pub const AS_TEXT: usize = 6_000;
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}, {} bytes)", self.mime, self.data.len())
    }
}
