//! Which of Anthropic's models a name is, for what these take differs.
//!
//! From the public page on thinking by model: up to 4.5 a model thinks with a budget of tokens,
//! from 4.6 on it decides itself and is given an effort, from 4.7 on a budget is refused and so is
//! a temperature. The newest always think.

use super::wire::Thinking;
use crate::domain::conversation::Effort;

/// The display of a thought that is shown to people.
const SUMMARIZED: &str = "summarized";

/// The smallest budget that is taken.
const SMALLEST_BUDGET: u64 = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claude {
    /// Major and minor; `None` for a name that says none, as of another maker's model.
    version: Option<(u32, u32)>,
    /// Of a family that always thinks.
    always_thinks: bool,
}

impl Claude {
    pub fn of(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let name = model.rsplit('/').next().unwrap_or(&model);
        let Some(rest) = name.strip_prefix("claude-") else {
            return Self { version: None, always_thinks: false };
        };
        // `claude-opus-4-5-20251101`, `claude-sonnet-4-20250514`, `claude-3-7-sonnet-20250219`.
        let numbers: Vec<u32> = rest
            .split(['-', '.', '@'])
            .filter(|it| it.len() <= 2)
            .filter_map(|it| it.parse().ok())
            .collect();
        let version = numbers.first().map(|it| (*it, numbers.get(1).copied().unwrap_or(0)));
        let of_family = |family: &str| rest.starts_with(family);
        let newest_opus = of_family("opus") && version >= Some((5, 5));
        let always_thinks = of_family("fable") || of_family("mythos") || newest_opus;
        Self { version, always_thinks }
    }

    /// How a request asks for thought; `None` where it says nothing about it.
    pub fn thinking(self, effort: Effort, max_tokens: u64) -> Option<Thinking> {
        let version = self.version?;
        if self.decides_itself() {
            return match effort {
                // What cannot be switched off, or not surely, is only given the least effort.
                Effort::Off if self.always_thinks || version >= (5, 5) => None,
                Effort::Off => Some(Thinking::Disabled),
                Effort::Low | Effort::Medium | Effort::High => {
                    Some(Thinking::Adaptive { display: SUMMARIZED })
                }
            };
        }
        let budget = match effort {
            Effort::Off => return Some(Thinking::Disabled).filter(|_| version >= (3, 7)),
            Effort::Low => 4_096,
            Effort::Medium => 10_240,
            Effort::High => 20_480,
        };
        // The budget is part of what the answer may have; half of that stays for words and calls.
        let budget_tokens = budget.min(max_tokens / 2);
        (version >= (3, 7) && budget_tokens >= SMALLEST_BUDGET)
            .then_some(Thinking::Enabled { budget_tokens })
    }

    /// The effort that a request names.
    pub fn effort(self, effort: Effort) -> Option<&'static str> {
        self.decides_itself().then_some(match effort {
            Effort::Off | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        })
    }

    pub fn takes_temperature(self) -> bool {
        self.version.is_none_or(|it| it < (4, 7)) && !self.always_thinks
    }

    fn decides_itself(self) -> bool {
        self.always_thinks || self.version >= Some((4, 6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_version() {
        for (model, version) in [
            ("claude-opus-4-5-20251101", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-sonnet-5-5", Some((5, 5))),
            ("claude-opus-5", Some((5, 0))),
            ("anthropic/claude-haiku-4.5", Some((4, 5))),
            ("claude-instant", None),
            ("minimax-m3", None),
        ] {
            assert_eq!(Claude::of(model).version, version, "{model}");
        }
    }

    #[test]
    fn effort_becomes_what_the_model_takes() {
        let asked = |model: &str, effort| {
            let claude = Claude::of(model);
            let thinking = claude.thinking(effort, 32_000);
            (serde_json::to_value(thinking).unwrap(), claude.effort(effort))
        };
        use serde_json::json;
        let adaptive = json!({"type": "adaptive", "display": "summarized"});
        let disabled = json!({"type": "disabled"});
        for (model, effort, expected) in [
            ("claude-opus-4-6", Effort::High, (adaptive.clone(), Some("high"))),
            ("claude-sonnet-5", Effort::Off, (disabled.clone(), Some("low"))),
            ("claude-opus-5-5", Effort::Off, (json!(null), Some("low"))),
            ("claude-fable-5-1", Effort::Medium, (adaptive, Some("medium"))),
            (
                "claude-haiku-4-5",
                Effort::Low,
                (json!({"type": "enabled", "budget_tokens": 4_096}), None),
            ),
            ("claude-haiku-4-5", Effort::Off, (disabled, None)),
            ("claude-3-5-haiku-20241022", Effort::High, (json!(null), None)),
            ("another", Effort::High, (json!(null), None)),
        ] {
            assert_eq!(asked(model, effort), expected, "{model} {effort}");
        }
        let tight = Claude::of("claude-haiku-4-5").thinking(Effort::High, 1_500);
        assert!(tight.is_none(), "a budget that leaves no room for the answer is not asked for");
    }
}
