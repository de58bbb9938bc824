//! What the formats cost: reading a long stream, and building the request of a long conversation.
//!
//! `cargo bench --bench providers` prints a table; with `-- --check` a missed limit is a failure.
//! What is measured is the time on the processor, so that others on the machine count little.

#[path = "main_job/report.rs"]
mod report;

use std::hint::black_box;

use anyhow::{Context as _, ensure};
use forge::{
    adapters::model::{
        Kind,
        recorded::{body, hear},
    },
    domain::{
        conversation::{Exchange, Item, Request, ToolSpec, items},
        message::{Part, Reasoning, Role, Text, ToolCall, ToolStatus},
        provider::ModelMeta,
    },
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use self::report::{Report, median, percentile};

/// Pieces of a stream, and messages of a conversation.
const CHUNKS: usize = 20_000;
const MESSAGES: usize = 2_000;
/// How often each is measured; the median counts.
const TIMES: usize = 15;
/// Milliseconds that each may take.
const DECODING: f64 = 60.0;
const BUILDING: f64 = 15.0;
/// What a network hands over at once.
const PIECE: usize = 1_400;

/// The names of the rows.
const NAMES: [(Kind, &str, &str); 5] = [
    (Kind::Openai, "decode, openai", "build, openai"),
    (Kind::Openrouter, "decode, openrouter", "build, openrouter"),
    (Kind::Ollama, "decode, ollama", "build, ollama"),
    (Kind::Anthropic, "decode, anthropic", "build, anthropic"),
    (Kind::Gemini, "decode, gemini", "build, gemini"),
];

fn main() -> anyhow::Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let is_set = |option: &str| options.iter().any(|it| it == option);
    if is_set("--test") || is_set("--list") {
        // The runner of tests starts benchmarks too; this one is not quick enough to be a test.
        return Ok(());
    }
    let mut report = Report::default();
    let (mut decoding, mut building) = (Vec::new(), Vec::new());
    for (kind, name, _) in NAMES {
        let stream = stream(kind);
        let heard = hear(kind, stream.chunks(PIECE));
        let reply = heard.result.context("a stream that is measured is whole")?;
        ensure!(heard.deltas.len() >= CHUNKS && reply.usage.is_some(), "{kind}: it is not heard");
        let spent = measured(|| drop(black_box(hear(kind, stream.chunks(PIECE)))));
        report.at_most(name, median(&spent), DECODING, "ms");
        decoding.extend(spent);
    }
    let parts = conversation();
    for (kind, _, name) in NAMES {
        let spent = measured(|| drop(black_box(body(kind, &request(&parts)))));
        report.at_most(name, median(&spent), BUILDING, "ms");
        building.extend(spent);
    }
    report.noted("decode, slowest of all", percentile(&decoding, 1.0), "ms");
    report.noted("build, slowest of all", percentile(&building, 1.0), "ms");
    let built = body(Kind::Openai, &request(&parts))?.len();
    report.counted(CHUNKS, "chunks a stream");
    report.counted(MESSAGES, &format!("messages a conversation of {} kB", built / 1_000));
    report.counted(TIMES, "times each, of which the median is shown");
    report.print();
    ensure!(!is_set("--check") || report.is_met(), "a limit was missed");
    Ok(())
}

/// The milliseconds that something spends on the processor, each time.
fn measured(mut work: impl FnMut()) -> Vec<f64> {
    let mut spent = Vec::new();
    for _ in 0..TIMES {
        let before = on_processor();
        work();
        spent.push(on_processor() - before);
    }
    spent
}

/// Milliseconds that this thread has been on the processor.
fn on_processor() -> f64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as f64 * 1e3 + spent.tv_nsec as f64 / 1e6
}

/// A stream as the provider sends it: a word a chunk.
fn stream(kind: Kind) -> Vec<u8> {
    let mut body = String::new();
    let mut event = |chunk: &Value| match kind {
        Kind::Ollama => body.push_str(&format!("{chunk}\n")),
        Kind::Anthropic => {
            let name = chunk["type"].as_str().unwrap_or_default();
            body.push_str(&format!("event: {name}\ndata: {chunk}\n\n"));
        }
        _ => body.push_str(&format!("data: {chunk}\n\n")),
    };
    let words = ["The ", "quick ", "brown ", "\"fox\" ", "jumps\n", "über "];
    if kind == Kind::Anthropic {
        event(&json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant",
            "usage": {"input_tokens": 9, "output_tokens": 1}}}));
        event(&json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}));
    }
    for at in 0..CHUNKS {
        event(&piece(kind, words[at % words.len()]));
    }
    for last in end(kind) {
        event(&last);
    }
    if matches!(kind, Kind::Openai | Kind::Openrouter) {
        body.push_str("data: [DONE]\n\n");
    }
    body.into_bytes()
}

fn piece(kind: Kind, word: &str) -> Value {
    match kind {
        Kind::Openai | Kind::Openrouter => json!({
            "id": "chatcmpl-9x8y7z", "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": "gpt-5.1", "system_fingerprint": "fp_1", "service_tier": "default",
            "choices": [{"index": 0, "delta": {"content": word}, "logprobs": null,
                "finish_reason": null}], "usage": null}),
        Kind::Ollama => json!({"model": "qwen3", "created_at": "2026-01-01T00:00:00.000000Z",
            "message": {"role": "assistant", "content": word}, "done": false}),
        Kind::Anthropic => json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": word}}),
        Kind::Gemini => json!({"candidates": [{"content": {"parts": [{"text": word}],
            "role": "model"}, "index": 0}], "usageMetadata": {"promptTokenCount": 9,
            "totalTokenCount": 9}, "modelVersion": "gemini-3-pro", "responseId": "r-1"}),
    }
}

fn end(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Openai | Kind::Openrouter => vec![
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": CHUNKS,
                "total_tokens": CHUNKS + 9}}),
        ],
        Kind::Ollama => vec![json!({"model": "qwen3", "message": {"role": "assistant",
            "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 9,
            "eval_count": CHUNKS})],
        Kind::Anthropic => vec![
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": CHUNKS}}),
            json!({"type": "message_stop"}),
        ],
        Kind::Gemini => vec![json!({"candidates": [{"content": {"parts": [{"text": ""}],
            "role": "model"}, "finishReason": "STOP", "index": 0}], "usageMetadata":
            {"promptTokenCount": 9, "candidatesTokenCount": CHUNKS,
                "totalTokenCount": CHUNKS + 9}})],
    }
}

/// The parts of a conversation: prompts, and answers with a thought, a call and a result.
fn conversation() -> Vec<(Role, Vec<Part>)> {
    let text = |text: &str, times: usize| Part::Text(Text { text: text.repeat(times) });
    let messages = (0..MESSAGES).map(|at| {
        if at % 2 == 0 {
            return (Role::User, vec![text("Look at the file and say what it does. ", 4)]);
        }
        let call = ToolCall {
            call_id: format!("call_{at}"),
            tool: "read".into(),
            status: ToolStatus::Done,
            input: json!({"path": format!("src/file_{at}.rs"), "offset": 0, "limit": 200}),
            output: "    let text = \"a line of code\";\n".repeat(30),
            ..ToolCall::default()
        };
        let thought = Reasoning { text: "First I read it. ".repeat(8), signature: None };
        let answer = text("It reads the settings, then starts. ", 6);
        (Role::Assistant, vec![Part::Reasoning(thought), answer, Part::Tool(Box::new(call))])
    });
    messages.collect()
}

/// The request of the whole conversation, from what is stored of it.
fn request(parts: &[(Role, Vec<Part>)]) -> Request {
    let exchanges: Vec<_> = parts
        .iter()
        .map(|(role, parts)| Exchange {
            role: *role,
            model: if *role == Role::User { "" } else { "m" },
            parts,
        })
        .collect();
    let mut items = items(&exchanges);
    items.extend(Item::user("Go on", Vec::new()));
    let tools = (0..12).map(|at| ToolSpec {
        name: format!("tool_{at}"),
        description: "Does something with a file. ".repeat(10),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}},
            "required": ["path"]}),
    });
    Request {
        model: "m".into(),
        meta: ModelMeta { tools: Some(true), reasoning: Some(true), ..ModelMeta::default() },
        system: "You are an agent. ".repeat(200),
        items,
        tools: tools.collect(),
        ..Request::default()
    }
}
