//! What a person or a model wrote in Markdown, as HTML that is safe to show.
//!
//! Markup in the text stays text, links lead to http, https and mail only, and nothing is loaded
//! from elsewhere. Text that still grows is split into blocks, so that those that are finished are
//! drawn once.

use std::{borrow::Cow, collections::HashSet, ops::Range, sync::LazyLock};

use ammonia::{Builder, UrlRelative};
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};

use super::highlight::{self, Language};
use crate::domain::text::cut;

/// The longest text that is drawn, in bytes.
pub const LONGEST: usize = 256 << 10;
/// The longest block of code that is coloured, in bytes.
const COLOURED: usize = 16 << 10;
/// Blocks and emphasis may lie in each other so deep.
const DEEPEST: usize = 40;

/// A text as HTML.
pub fn html(text: &str) -> String {
    draw(text, Breaks::Soft)
}

/// The same with coloured code, for a text that does not grow any more.
pub async fn coloured(text: &str) -> String {
    const BEGIN: &str = "<pre tabindex=\"0\"><code";
    let html = html(text);
    let mut rest = html.as_str();
    let mut out = String::with_capacity(html.len() * 2);
    // Blocks come in the order of the text. In text, `<` is never bare.
    for (language, code) in code_blocks(cut(text, LONGEST)) {
        let Some((before, from)) = rest.split_once(BEGIN) else { break };
        let Some((attributes, from)) = from.split_once('>') else { break };
        let Some((plain, after)) = from.split_once("</code>") else { break };
        out.extend([before, BEGIN, attributes, ">"]);
        if language.is_empty() || code.len() > COLOURED {
            out.push_str(plain);
        } else {
            for line in highlight::lines(&code, Language::Named(&language)).await.iter() {
                out.push_str(line);
                out.push('\n');
            }
        }
        out.push_str("</code>");
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The same for what a person typed: the end of a line is one.
pub fn typed(text: &str) -> String {
    draw(text, Breaks::Hard)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Soft,
    Hard,
}

fn draw(text: &str, breaks: Breaks) -> String {
    let shown = cut(text, LONGEST);
    let mut unsafe_html = String::with_capacity(shown.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut unsafe_html, events(shown, breaks));
    // What scrolls sideways can be reached with the keyboard. In text, `<` is never bare.
    let mut html = CLEANER.clean(&unsafe_html).to_string().replace("<pre>", "<pre tabindex=\"0\">");
    if shown.len() < text.len() {
        let left = (text.len() - shown.len()).div_ceil(1 << 10);
        html.push_str(&format!("<p class=\"faint\">{left} KB more are not drawn here.</p>"));
    }
    html
}

/// The events of a text, without markup, images and depths that no page shows.
fn events(text: &str, breaks: Breaks) -> impl Iterator<Item = Event<'_>> {
    let mut depth = 0;
    let mut links = 0;
    let mut images = Vec::new();
    Parser::new_ext(text, options()).filter_map(move |event| {
        let event = match event {
            Event::Html(markup) | Event::InlineHtml(markup) => Event::Text(markup),
            Event::SoftBreak if breaks == Breaks::Hard => Event::HardBreak,
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            // A page has a heading of its own above what is in it.
            Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
                level: lowered(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            }),
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lowered(level))),
            Event::Start(Tag::Image { dest_url, .. }) => {
                images.push(links == 0);
                if links > 0 {
                    return None;
                }
                link(dest_url)
            }
            Event::End(TagEnd::Image) => match images.pop() {
                Some(true) => Event::End(TagEnd::Link),
                _ => return None,
            },
            event => event,
        };
        match &event {
            Event::Start(tag) => {
                links += usize::from(matches!(tag, Tag::Link { .. }));
                depth += 1;
                (depth <= DEEPEST).then_some(event)
            }
            Event::End(tag) => {
                links -= usize::from(matches!(tag, TagEnd::Link));
                depth -= 1;
                (depth < DEEPEST).then_some(event)
            }
            _ => Some(event),
        }
    })
}

/// The language and the text of each block of code.
fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut inside = false;
    for event in events(text, Breaks::Soft) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                inside = true;
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split(' ').next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                blocks.push((language.to_owned(), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => {
                if let Some((_, code)) = blocks.last_mut() {
                    code.push_str(&text);
                }
            }
            _ => {}
        }
    }
    blocks
}

fn link(dest_url: CowStr<'_>) -> Event<'_> {
    let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
    Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id })
}

fn lowered(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        _ => HeadingLevel::H4,
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h3",
            "h4",
            "hr",
            "input",
            "li",
            "ol",
            "p",
            "pre",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .add_tag_attributes("a", ["href", "title"])
        .add_tag_attributes("ol", ["start"])
        .add_tag_attributes("code", ["class"])
        .add_tag_attributes("input", ["type", "checked", "disabled"])
        .attribute_filter(|tag, name, value| match (tag, name) {
            ("code", "class") => {
                let named =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#');
                value.starts_with("language-").then_some(())?;
                value.chars().all(named).then_some(Cow::Borrowed(value))
            }
            ("input", "type") => Some(Cow::Borrowed("checkbox")),
            _ => Some(Cow::Borrowed(value)),
        })
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        // A path of the project is no address of this site.
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener nofollow"));
    builder
});

/// Where the blocks of a text begin and end that do not lie in another.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut depth = 0usize;
    let mut blocks = Vec::new();
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    blocks.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => blocks.push(range),
            _ => {}
        }
    }
    blocks
}

/// A text that still grows.
#[derive(Clone, Debug, Default)]
pub struct Growing {
    text: String,
    /// So many bytes of it will not be drawn differently any more.
    settled: usize,
}

impl Growing {
    pub fn new(text: String) -> Self {
        let mut growing = Self { text, settled: 0 };
        growing.settle();
        growing
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// How much of it is still open, in bytes.
    pub fn open_len(&self) -> usize {
        self.text.len() - self.settled
    }

    /// Draws what has been settled since it was asked last.
    pub fn newly_settled(&mut self) -> Option<String> {
        if self.settled >= LONGEST {
            return None;
        }
        let from = self.settled;
        self.settle();
        (self.settled > from).then(|| html(&self.text[from..self.settled]))
    }

    /// Draws all that is settled.
    pub fn settled(&self) -> String {
        html(&self.text[..self.settled])
    }

    /// Draws what is still open.
    pub fn open(&self) -> String {
        html(&self.text[self.settled..])
    }

    /// A block is settled when the next one has begun with a whole line: half a line can still
    /// turn out to belong to the block before it.
    fn settle(&mut self) {
        let open = &self.text[self.settled..];
        let blocks = blocks(open);
        let Some(last) = blocks.last().filter(|_| blocks.len() > 1) else { return };
        let line = open[..last.start].rfind('\n').map_or(0, |at| at + 1);
        if open[last.start..].contains('\n') {
            self.settled += line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_the_text_stays_text() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "a <svg/onload=alert(1)> b",
            "<iframe srcdoc=\"<script>x</script>\"></iframe>",
            "<i hx-get=/x hx-swap-oob=true>",
            "```\n<script>\n```",
            "`<script>`",
            "| <b onclick=x> |\n|---|\n| <script> |",
        ] {
            let html = html(hostile);
            let bare = html.replace("&lt;", "");
            for bad in ["<script", "<img", "<svg", "<iframe", "<i ", "<b "] {
                assert!(!bare.contains(bad), "{hostile}: {html}");
            }
        }
    }

    #[test]
    fn links_lead_to_the_web_and_to_mail() {
        let good = html("[x](https://example.org) <a@example.org>");
        assert!(good.contains(r#"href="https://example.org""#), "{good}");
        assert!(good.contains(r#"rel="noopener nofollow""#), "{good}");
        assert!(good.contains("mailto:a@example.org"), "{good}");
        for bad in ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "/sign-out", "a.rs"]
        {
            let html = html(&format!("[x]({bad})"));
            assert!(!html.contains("href"), "{bad}: {html}");
        }
        assert!(!html("[x](<java\tscript:alert(1)>)").contains("href"));
    }

    #[test]
    fn an_image_is_its_words_and_a_link() {
        let html =
            html("![a plan](https://example.org/x.png) [![in](https://a.b/c.png)](https://d.e)");
        assert!(!html.contains("<img"), "{html}");
        assert!(
            html.contains(
                r#"<a href="https://example.org/x.png" rel="noopener nofollow">a plan</a>"#
            ),
            "{html}"
        );
        assert!(html.contains(r#"<a href="https://d.e" rel="noopener nofollow">in</a>"#), "{html}");
    }

    #[test]
    fn tables_tasks_and_code_are_drawn() {
        let html = html(
            "# Top\n\n|a|b|\n|-|:-:|\n|1|2|\n\n- [x] done\n- [ ] open\n\n```rust x\nfn\n```\n~~old~~",
        );
        for part in [
            "<h3>Top</h3>",
            "<td>1</td>",
            r#"<input disabled="" type="checkbox" checked="">"#,
            r#"<pre tabindex="0"><code class="language-rust">fn"#,
            "<del>old</del>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("style="), "{html}");
        assert!(!super::html("```a\tbtn\nx\n```").contains("btn\""));
    }

    #[tokio::test]
    async fn code_is_coloured_and_stays_text() {
        let text = "```rust\nfn a() {}\n```\n\n    <b>plain\n\n> ```html\n> <script>x</script>\n> ```\n\n```\nlast\n```";
        let html = coloured(text).await;
        assert!(
            html.contains(r#"<code class="language-rust"><span class="hl-k">fn</span>"#),
            "{html}"
        );
        assert!(html.contains("&lt;b&gt;plain"), "{html}");
        assert!(html.contains("<code>last\n</code>"), "{html}");
        assert!(html.contains("script") && !html.contains("<script"), "{html}");
        assert_eq!(coloured("no `code`").await, super::html("no `code`"));
    }

    #[test]
    fn what_a_person_typed_keeps_its_lines() {
        assert_eq!(typed("a\nb"), "<p>a<br>\nb</p>\n");
        assert_eq!(html("a\nb"), "<p>a\nb</p>\n");
    }

    #[test]
    fn long_and_deep_texts_are_bounded() {
        let long = html(&"word ".repeat(LONGEST));
        assert!(long.len() < LONGEST + 1_000 && long.contains("not drawn"));
        for piece in ["> ", "- ", "**a *b ", "[", "![", "1. "] {
            let deep = html(&piece.repeat(20_000));
            assert!(deep.len() < 2_000_000, "{piece}: {}", deep.len());
        }
    }

    /// What a reader sees at the end is the same, however the text came.
    #[test]
    fn blocks_are_settled_only_when_they_stay_as_they_are() {
        let text = "Intro line\n``` x`\nstill intro\n\n- a\n- b\n\n  more of b\n\n# Head\nText\n---\n\n```rust\nfn a() {}\n\n\nfn b() {}\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\n    code\n\n<div>\nraw\n</div>\n\nFoo\n- - -\nEnd";
        let whole = html(text);
        let mut growing = Growing::default();
        let mut drawn = String::new();
        for piece in text.split_inclusive(|_: char| true) {
            growing.push(piece);
            drawn.extend(growing.newly_settled());
        }
        drawn.push_str(&growing.open());
        assert_eq!(drawn, whole);
        assert!(growing.open_len() < text.len() / 4, "{}", growing.open_len());
        let again = Growing::new(text.to_owned());
        assert_eq!(again.settled() + &again.open(), whole);
    }
}
