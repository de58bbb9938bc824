//! Conversations that arbitrary bytes stand for.

use serde_json::json;

use crate::domain::{
    conversation::{
        Call, CallResult, Effort, Image, ImageType, Item, Reasoning, Request, Signature,
        ToolChoice, ToolSpec,
    },
    provider::ModelMeta,
};

const MODELS: [&str; 6] = [
    "m",
    "gpt-5.1",
    "claude-sonnet-5",
    "gemini-3-pro",
    "gemini-2.5-flash",
    "anthropic/claude-opus-4.5",
];
const KINDS: [&str; 5] = ["openai", "openrouter", "ollama", "anthropic", "gemini"];

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()].clone()
    }

    /// Some words, which always say something.
    fn words(&mut self) -> String {
        let length = usize::from(self.byte() % 32).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        let text = String::from_utf8_lossy(taken).into_owned();
        if text.trim().is_empty() { "x".into() } else { text }
    }

    fn model(&mut self) -> String {
        self.one(&MODELS).to_owned()
    }

    fn proof(&mut self) -> String {
        let kind = self.one(&KINDS);
        let text = self.words();
        match self.byte() % 3 {
            0 => format!("{kind}:{text}"),
            1 => format!("{kind}:{}", json!([{"type": "reasoning.encrypted", "data": text}])),
            _ => format!(
                "{kind}:{}",
                json!([{"at": [3, 1], "block": {"type": "thinking", "thinking": "", "signature": text}}])
            ),
        }
    }
}

/// The request that these bytes stand for: one that the stored conversation can become.
pub fn request(bytes: &[u8]) -> Request {
    let mut bytes = Bytes(bytes);
    let from = &mut bytes;
    let known = |from: &mut Bytes<'_>| from.one(&[None, Some(true), Some(false)]);
    let mut request = Request {
        model: from.model(),
        meta: ModelMeta {
            tools: known(from),
            reasoning: known(from),
            images: known(from),
            output_limit: from.flag().then(|| u64::from(from.byte()) * 500 + 1),
            ..ModelMeta::default()
        },
        system: if from.flag() { from.words() } else { String::new() },
        max_output_tokens: from.flag().then(|| u32::from(from.byte()) * 300 + 1),
        effort: from.one(&[
            None,
            Some(Effort::Off),
            Some(Effort::Low),
            Some(Effort::Medium),
            Some(Effort::High),
        ]),
        temperature: from.flag().then_some(0.5),
        tools_allowed: from.one(&[ToolChoice::Auto, ToolChoice::None]),
        ..Request::default()
    };
    for at in 0..from.byte() % 4 {
        request.tools.push(ToolSpec {
            name: format!("tool_{at}"),
            description: from.words(),
            schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        });
    }
    let mut ids = 0;
    while !from.0.is_empty() && request.items.len() < 64 {
        if from.flag() {
            let text = from.words();
            let images = (0..from.byte() % 3)
                .map(|_| Image {
                    mime: from.one(&[ImageType::Png, ImageType::Gif, ImageType::Webp]),
                    data: "AAAA".into(),
                })
                .collect();
            request.items.push(Item::User { text, images });
            continue;
        }
        let mut calls = Vec::new();
        for _ in 0..from.byte() % 4 {
            ids += 1;
            let signature = from.flag().then(|| Signature { text: from.proof(), model: from.model() });
            calls.push(Call {
                id: format!("call_{ids}"),
                name: format!("tool_{}", from.byte() % 4),
                arguments: json!({ "a": from.words() }),
                signature,
            });
        }
        let results: Vec<_> = calls
            .iter()
            .map(|call| CallResult {
                id: call.id.clone(),
                name: call.name.clone(),
                output: from.words(),
                ok: from.flag(),
            })
            .collect();
        let reasoning = from.flag().then(|| Reasoning {
            text: from.words(),
            signature: from.flag().then(|| from.proof()),
            model: from.model(),
        });
        let text = if calls.is_empty() || from.flag() { from.words() } else { String::new() };
        request.items.push(Item::Assistant { text, reasoning, calls });
        if !results.is_empty() {
            request.items.push(Item::Results(results));
        }
    }
    // A person has the last word: otherwise there is nothing to ask.
    request.items.push(Item::User { text: "Go on".into(), images: Vec::new() });
    request
}
