//! How long a request is: what its tokens are estimated from.

use super::{Item, Request};

/// The bytes of a conversation that grows, each of which is counted once.
#[derive(Clone, Debug, Default)]
pub struct Size {
    tools: Option<usize>,
    /// How many items are counted, and their bytes.
    items: usize,
    bytes: usize,
}

impl Size {
    /// How many bytes of text a request has. Its tools are looked at the first time only, and of
    /// its items those that are new.
    pub fn of(&mut self, request: &Request) -> usize {
        if request.items.len() < self.items {
            (self.items, self.bytes) = (0, 0);
        }
        let new = &request.items[self.items..];
        self.bytes += new.iter().map(Item::bytes).sum::<usize>();
        self.items = request.items.len();
        let tools = *self.tools.get_or_insert_with(|| {
            let tools = request.tools.iter();
            tools.map(|it| it.name.len() + it.description.len() + it.schema.to_string().len()).sum()
        });
        request.system.len() + tools + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::ToolSpec, *};

    fn said(text: &str) -> Item {
        Item::User { text: text.into(), images: Vec::new() }
    }

    #[test]
    fn a_conversation_that_grows_is_as_long_as_one_that_is_counted_at_once() {
        let tool = ToolSpec { name: "a".into(), description: "bc".into(), schema: json!({}) };
        let mut request =
            Request { system: "four".into(), tools: vec![tool], ..Request::default() };
        let mut size = Size::default();
        assert_eq!(size.of(&request), 4 + 1 + 2 + 2);
        for count in 1..5 {
            request.items.push(said("12345"));
            assert_eq!(size.of(&request), 9 + 5 * count);
            assert_eq!(size.of(&request), Size::default().of(&request));
        }
        // Where what came before is replaced by less, all is counted anew.
        request.items = vec![said("1")];
        assert_eq!(size.of(&request), 10);
    }

    #[test]
    fn what_is_counted_is_not_looked_at_again() {
        let mut request = Request { items: vec![said("12345")], ..Request::default() };
        let mut size = Size::default();
        assert_eq!(size.of(&request), 5);
        request.items[0] = said("longer than before");
        request.items.push(said("123"));
        assert_eq!(size.of(&request), 8);
    }
}
