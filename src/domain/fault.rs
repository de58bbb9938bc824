//! What went wrong at a provider, sorted by what can be done about it.

use std::time::Duration;

use chrono::DateTime;
use serde_json::Value;

use super::secret::Secret;

/// The kinds of fault that differ in what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account is out of credit.
    Quota,
    /// Too many requests; it passes.
    Rate,
    /// The provider is overloaded or broken; it passes.
    Overload,
    /// The conversation is longer than the model's window.
    Overflow,
    /// The provider refuses the request as it is.
    BadRequest,
    /// No such model, or nothing at this address.
    NotFound,
    /// Not reached, or the connection was cut.
    Network,
    /// The stream was no reply: empty, broken, or an error in the middle.
    Stream,
}

impl FaultKind {
    /// A word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Rate => "rate",
            Self::Overload => "overload",
            Self::Overflow => "overflow",
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::Network => "network",
            Self::Stream => "stream",
        }
    }
}

/// A failed call of a model, in words for the person. No field ever contains the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    /// The HTTP status, where it was the status that said so.
    pub status: Option<u16>,
    /// What happened, and what to do.
    pub message: String,
    /// What the provider itself said, at most [`Fault::QUOTED`] bytes.
    pub provider_message: Option<String>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Whom was asked for what: what a fault is told with.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The name that the provider has here.
    pub provider: &'a str,
    pub model: Option<&'a str>,
    /// Removed from everything that is quoted.
    pub key: Option<&'a Secret>,
}

/// An answer that is an error.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Absent where the error came in the middle of a reply that had begun well.
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
    pub body: &'a str,
}

impl Fault {
    /// The most bytes of a provider's own words that are kept.
    pub const QUOTED: usize = 2_048;

    /// A fault with the words that belong to its kind.
    pub fn new(kind: FaultKind, asked: &Asked<'_>) -> Self {
        let message = words_for(kind, asked);
        Self { kind, status: None, message, provider_message: None, retry_after: None }
    }

    /// The same fault, told more exactly.
    pub fn told(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The same fault with what the other side said, without the key and bounded.
    pub fn quoting(mut self, words: &str, asked: &Asked<'_>) -> Self {
        let words = asked.key.map_or_else(|| words.to_owned(), |key| key.scrub(words));
        let words = words.trim().replace('\0', "\u{FFFD}");
        self.provider_message = (!words.is_empty())
            .then(|| words[..words.floor_char_boundary(Self::QUOTED)].to_owned());
        self
    }

    /// Whether the same request may succeed a little later.
    pub fn retryable(&self) -> bool {
        use FaultKind::{Network, Overload, Rate, Stream};
        matches!(self.kind, Rate | Overload | Network | Stream)
    }
}

/// Sorts an error that a provider answered with.
pub fn classify(answer: &Answer<'_>, asked: &Asked<'_>) -> Fault {
    let said = Said::read(answer.body);
    let status = answer.status.or(said.status);
    let kind = kind_of(status, &said);
    let retry_after = answer.retry_after.or(said.retry_after);
    let fault = Fault { status, retry_after, ..Fault::new(kind, asked) };
    let fault = fault.quoting(&said.message, asked);
    match (kind, status) {
        (FaultKind::NotFound, _) if !said.is_about_the_model() => fault.told(format!(
            "{} has nothing at this address. Check the kind and the address of the provider; for \
             OpenAI's format it usually ends in /v1.",
            asked.provider
        )),
        (FaultKind::Auth, Some(403)) => fault.told(format!(
            "{} does not allow this with the given key. Check what the key may be used for.",
            asked.provider
        )),
        (FaultKind::Auth, _) if asked.key.is_none() => {
            fault.told(format!("{} needs a key. Enter one for this provider.", asked.provider))
        }
        (FaultKind::BadRequest, Some(300..400)) => fault.told(format!(
            "{} answers that it has moved. Enter the address that it moved to; the key is not sent \
             after a redirect.",
            asked.provider
        )),
        _ => fault,
    }
}

/// The wait that an answer asks for: `Retry-After-Ms`, or `Retry-After` in seconds or as a date,
/// which is compared with the answer's own `Date`.
pub fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    let number = |name| header(name)?.trim().parse::<f64>().ok();
    if let Some(millis) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(millis / 1_000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name| DateTime::parse_from_rfc2822(header(name)?.trim()).ok();
    (date("retry-after")? - date("date")?).to_std().ok()
}

/// What an error body says, whichever of the usual shapes it has.
struct Said {
    message: String,
    /// Code and type, lower case.
    code: String,
    /// Message, code and type, lower case.
    all: String,
    /// A number that stands for an HTTP status.
    status: Option<u16>,
    /// The wait that Google asks for, among the details.
    retry_after: Option<Duration>,
}

impl Said {
    fn read(body: &str) -> Self {
        let json = serde_json::from_str::<Value>(body).ok();
        let json = match json {
            Some(Value::Array(mut list)) if !list.is_empty() => Some(list.swap_remove(0)),
            other => other,
        };
        let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
        let field = |name: &str| error.and_then(|it| it.get(name));
        let message = match error {
            Some(Value::String(text)) => text.clone(),
            Some(_) => ["message", "detail", "error_description"]
                .iter()
                .find_map(|name| field(name))
                .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
                .unwrap_or_default(),
            // A page of a proxy says nothing to a person.
            None if body.trim_start().starts_with('<') => String::new(),
            None => body.to_owned(),
        };
        let status = ["code", "status", "status_code"]
            .iter()
            .find_map(|name| field(name)?.as_u64())
            .and_then(|it| u16::try_from(it).ok())
            .filter(|it| (400..600).contains(it));
        let word = |name| field(name).and_then(Value::as_str).unwrap_or_default();
        let code = format!("{} {} {}", word("code"), word("type"), word("status")).to_lowercase();
        let all = format!("{code} {}", message.to_lowercase());
        let details = field("details").and_then(Value::as_array).into_iter().flatten();
        let retry_after = details
            .filter_map(|it| it.get("retryDelay")?.as_str()?.strip_suffix('s')?.parse().ok())
            .find_map(|seconds: f64| Duration::try_from_secs_f64(seconds).ok());
        Self { message, code, all, status, retry_after }
    }

    fn has(&self, patterns: &[&str]) -> bool {
        patterns.iter().any(|it| self.all.contains(it))
    }

    fn is_about_the_model(&self) -> bool {
        self.has(&["model_not_found", "model"])
    }
}

const QUOTA: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit",
    "billing_not_active",
    "insufficient balance",
    "credit balance is too low",
    "insufficient credits",
];
/// Of providers that answer a wrong key with 400.
const NO_KEY: &[&str] = &["api_key_invalid", "api key not valid", "api key expired"];
const RATE: &[&str] =
    &["rate_limit", "rate limit", "too many requests", "tokens per min", "resource_exhausted"];
const OVERFLOW: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "too many input tokens",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
];
const OVERLOAD: &[&str] =
    &["overloaded", "server_error", "internal_error", "unavailable", "api_error"];
const NO_MODEL: &[&str] =
    &["model_not_found", "is not a valid model", "model not found", "no such model"];

fn kind_of(status: Option<u16>, said: &Said) -> FaultKind {
    // The order decides: a full account and a rate limit also speak of tokens.
    match status {
        _ if said.has(QUOTA) => FaultKind::Quota,
        Some(402) => FaultKind::Quota,
        Some(429) => FaultKind::Rate,
        Some(401 | 403) => FaultKind::Auth,
        _ if said.has(NO_KEY) => FaultKind::Auth,
        _ if said.has(RATE) => FaultKind::Rate,
        _ if said.has(OVERFLOW) => FaultKind::Overflow,
        Some(413) => FaultKind::Overflow,
        _ if said.has(NO_MODEL) => FaultKind::NotFound,
        Some(404 | 410) => FaultKind::NotFound,
        Some(408 | 425 | 500..) => FaultKind::Overload,
        Some(_) => FaultKind::BadRequest,
        None if said.has(OVERLOAD) => FaultKind::Overload,
        None if said.code.contains("invalid_request") => FaultKind::BadRequest,
        None if said.code.contains("authentication") => FaultKind::Auth,
        None => FaultKind::Stream,
    }
}

fn words_for(kind: FaultKind, Asked { provider, model, .. }: &Asked<'_>) -> String {
    match kind {
        FaultKind::Auth => {
            format!("{provider} did not accept the key. Check the key of this provider.")
        }
        FaultKind::Quota => format!(
            "The account at {provider} is out of credit. Add credit there, or choose a model of \
             another provider."
        ),
        FaultKind::Rate => format!(
            "{provider} takes no more requests for the moment. Wait a little, then send the prompt \
             again."
        ),
        FaultKind::Overload => format!(
            "{provider} is overloaded or has a fault of its own. Wait a little, then send the \
             prompt again."
        ),
        FaultKind::Overflow => {
            "The conversation is longer than the model can read. Compact it, or choose a model \
             with a larger window."
                .to_owned()
        }
        FaultKind::BadRequest => format!(
            "{provider} refused the request. Its own words say why; another model may accept it."
        ),
        FaultKind::NotFound => match model {
            Some(model) => format!(
                "{provider} has no model named “{model}”. Choose another model, or refresh the \
                 list of models."
            ),
            None => format!("{provider} has nothing at this address. Check its address."),
        },
        FaultKind::Network => format!(
            "The connection to {provider} failed. Check the address and the network, then send the \
             prompt again."
        ),
        FaultKind::Stream => format!(
            "{provider} broke off its reply or sent none. Send the prompt again; if it stays so, \
             choose another model."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_kind() {
        for (status, body, kind) in [
            (400, r#"{"error":{"message":"bad field"}}"#, FaultKind::BadRequest),
            (401, r#"{"error":{"message":"Incorrect API key"}}"#, FaultKind::Auth),
            (402, "", FaultKind::Quota),
            (403, "<html>", FaultKind::Auth),
            (404, "", FaultKind::NotFound),
            (408, "", FaultKind::Overload),
            (413, "", FaultKind::Overflow),
            (422, r#"{"detail":[{"msg":"field required"}]}"#, FaultKind::BadRequest),
            (429, "slow down", FaultKind::Rate),
            (500, "", FaultKind::Overload),
            (529, r#"{"error":{"type":"overloaded_error"}}"#, FaultKind::Overload),
            (302, "", FaultKind::BadRequest),
        ] {
            assert_eq!(fault(status, body).kind, kind, "{status} {body}");
        }
    }

    #[test]
    fn a_rate_limit_that_speaks_of_tokens_is_no_overflow() {
        let body = r#"{"error":{"message":"Rate limit: too many tokens per min, context length"}}"#;
        assert_eq!(fault(429, body).kind, FaultKind::Rate);
        assert_eq!(fault(400, body).kind, FaultKind::Rate);
    }

    #[test]
    fn an_empty_account_is_quota_and_not_retried() {
        let body = r#"{"error":{"message":"You exceeded your current quota",
            "type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let fault = fault(429, body);
        assert_eq!(fault.kind, FaultKind::Quota);
        assert!(!fault.retryable());
        assert!(fault.message.contains("out of credit"));
    }

    #[test]
    fn a_long_conversation_is_overflow_whatever_the_server() {
        for body in [
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
            r#"{"error":{"code":500,"type":"exceed_context_size_error","message":"x"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 8192 tokens"}"#,
        ] {
            assert_eq!(fault(400, body).kind, FaultKind::Overflow, "{body}");
        }
    }

    #[test]
    fn what_each_provider_says_in_its_own_way_has_its_kind() {
        for (status, body, kind) in [
            (
                400,
                r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
                FaultKind::Auth,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}"#,
                FaultKind::Overflow,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 9 + 8 > 10"}}"#,
                FaultKind::Overflow,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                FaultKind::Quota,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                FaultKind::Overflow,
            ),
            (500, r#"{"error":"model runner has unexpectedly stopped"}"#, FaultKind::Overload),
        ] {
            assert_eq!(fault(status, body).kind, kind, "{body}");
        }
        let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded",
            "details":[{"@type":"x"},{"@type":"RetryInfo","retryDelay":"20.5s"}]}}"#;
        let fault = fault(429, body);
        assert_eq!(
            (fault.kind, fault.retry_after),
            (FaultKind::Rate, Some(Duration::from_millis(20_500)))
        );
    }

    #[test]
    fn an_unknown_model_is_told_from_a_wrong_address() {
        let body =
            r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#;
        assert!(fault(404, body).message.contains("has no model named “gpt-x”"));
        assert!(fault(404, "<h1>Not found</h1>").message.contains("nothing at this address"));
        let body = r#"{"error":{"message":"gpt-x is not a valid model ID","code":400}}"#;
        assert_eq!(fault(400, body).kind, FaultKind::NotFound);
    }

    #[test]
    fn an_error_in_the_stream_is_sorted_by_its_words_or_its_number() {
        for (body, kind) in [
            (
                r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#,
                FaultKind::Overload,
            ),
            (r#"{"error":{"message":"slow down","code":429}}"#, FaultKind::Rate),
            (r#"{"error":"the cat sat on the cable"}"#, FaultKind::Stream),
            (r#"{"error":{"message":"x","type":"invalid_request_error"}}"#, FaultKind::BadRequest),
        ] {
            let answer = Answer { status: None, retry_after: None, body };
            assert_eq!(classify(&answer, &asked(None)).kind, kind, "{body}");
        }
    }

    #[test]
    fn a_quoted_key_never_comes_through() {
        let key = Secret::new("sk-very-secret-123");
        for pad in [0, Fault::QUOTED - 8, 3 * Fault::QUOTED] {
            let body = format!("{}key sk-very-secret-123 is wrong", "é".repeat(pad / 2));
            let answer = Answer { status: Some(401), retry_after: None, body: &body };
            let fault = classify(&answer, &asked(Some(&key)));
            assert!(!format!("{fault:?} {fault}").contains("sk-very"), "{pad}");
            assert!(fault.provider_message.unwrap().len() <= Fault::QUOTED);
        }
    }

    #[test]
    fn retry_after_is_read_in_each_of_its_forms() {
        let read = |pairs: &[(&str, &'static str)]| {
            retry_after(|name| pairs.iter().find(|(it, _)| *it == name).map(|(_, value)| *value))
        };
        assert_eq!(read(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
        assert_eq!(read(&[("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        let now = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
        let then = ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT");
        assert_eq!(read(&[now, then]), Some(Duration::from_secs(30)));
        assert_eq!(read(&[("retry-after", "-1")]), None);
        assert_eq!(read(&[("retry-after", "soon")]), None);
        assert_eq!(read(&[]), None);
    }

    fn fault(status: u16, body: &str) -> Fault {
        classify(&Answer { status: Some(status), retry_after: None, body }, &asked(None))
    }

    fn asked(key: Option<&Secret>) -> Asked<'_> {
        Asked { provider: "Acme", model: Some("gpt-x"), key }
    }
}
