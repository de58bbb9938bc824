//! How a piece of a page says where it belongs: htmx takes it out of what it came with and puts it
//! there.

use std::fmt::{self, Write as _};

use super::view::Article;

/// A message of the event stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// What has been seen once this has come; only stored changes have it.
    pub id: Option<i64>,
    /// A name, for what is no piece of the page.
    pub event: Option<&'static str>,
    pub html: String,
}

impl Message {
    pub fn html(html: String) -> Self {
        Self { id: None, event: None, html }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = self.id {
            writeln!(f, "id: {id}")?;
        }
        if let Some(event) = self.event {
            writeln!(f, "event: {event}")?;
        }
        // A carriage return ends a line too, and what it ends could pose as a field of ours.
        for line in self.html.split(['\n', '\r']) {
            writeln!(f, "data: {line}")?;
        }
        f.write_char('\n')
    }
}

/// Lets an element become what the one with its id is now to be. `html` is one element of our own
/// templates with attributes.
pub fn morph(html: &str) -> String {
    let html = html.trim_start();
    match html.split_once(' ') {
        Some((tag, rest)) => format!("{tag} hx-swap-oob=\"outerMorph\" {rest}"),
        None => html.to_owned(),
    }
}

/// An empty element at the end of another, unless it is there already. What it is to be comes in
/// the next message, so that coming twice does no harm.
pub fn place(parent: &str, empty: &str, id: &str) -> String {
    format!(
        r#"<div hx-swap-oob="beforeend target:'#{parent}:not(:has(#{id}))'"><{empty} id="{id}"></{empty}></div>"#
    )
}

/// A place for a message.
pub fn place_article(article: &Article) -> String {
    place("timeline", "article", &format!("message-{}", article.id()))
}

/// Further blocks before an element.
pub fn before(id: &str, html: &str) -> String {
    format!(r#"<div hx-swap-oob="beforebegin:#{id}">{html}</div>"#)
}

/// Another text in an element.
pub fn text(id: &str, text: &str) -> String {
    use askama::filters::{Escaper as _, Html};
    let mut escaped = String::with_capacity(text.len());
    // Writing to a string does not fail.
    let _ = Html.write_escaped_str(&mut escaped, text);
    format!(r#"<div hx-swap-oob="innerHTML:#{id}">{escaped}</div>"#)
}

/// An element goes away, if it is there.
pub fn remove(id: &str) -> String {
    format!(r#"<div hx-swap-oob="delete:#{id}"></div>"#)
}

/// All parts go away that are drawn as growing, but those.
pub fn remove_live(but: &[String]) -> String {
    let but: String = but.iter().fold(String::new(), |text, id| text + ":not(#" + id + ")");
    format!(r#"<div hx-swap-oob="delete target:'#timeline [data-live]{but}'"></div>"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ends_a_line_starts_another_of_data() {
        let html = "<p>one\ntwo\revent: ended</p>".to_owned();
        let message = Message { id: Some(7), event: None, html };
        insta::assert_snapshot!(message.to_string(), @r"
        id: 7
        data: <p>one
        data: two
        data: event: ended</p>
        ");
    }

    #[test]
    fn a_root_is_marked_and_nothing_in_it() {
        let html = "\n<li class=\"a\" id=\"b\"><p id=\"c\">x</p></li>";
        let marked = "<li hx-swap-oob=\"outerMorph\" class=\"a\" id=\"b\"><p id=\"c\">x</p></li>";
        assert_eq!(morph(html), marked);
    }

    #[test]
    fn what_is_said_stays_text() {
        assert!(text("x", "<b>").contains("&#60;b&#62;"));
    }
}
