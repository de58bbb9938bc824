//! How often a failed call of a model is tried again, and how long to wait before.

use std::time::Duration;

/// How many times a call is tried in all.
pub const TRIES: u32 = 5;

/// The longest wait; who asks for a longer one is not waited for.
pub const LONGEST: Duration = Duration::from_secs(60);

const FIRST: Duration = Duration::from_secs(2);
const SHORTEST: Duration = Duration::from_millis(500);

/// What to do after a failure that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Wait(Duration),
    /// With the reason, in a sentence for the person.
    GiveUp(String),
}

/// Decides after `attempt` failed tries (1 after the first), with what the provider asked for.
///
/// Waits grow 2, 4, 8, 16 seconds. `jitter` is a random number from 0 to 1 that spreads them by a
/// quarter, so that many sessions that failed together do not all come back together. A wait that
/// the provider asked for is kept to, and never shortened.
pub fn delay(attempt: u32, retry_after: Option<Duration>, jitter: f64) -> Decision {
    if attempt >= TRIES {
        return Decision::GiveUp(format!("It failed {TRIES} times in a row."));
    }
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    match retry_after {
        Some(asked) if asked > LONGEST => Decision::GiveUp(format!(
            "The provider asks to wait {}, which is longer than Forge waits by itself. Send the \
             prompt again later.",
            in_words(asked)
        )),
        Some(asked) => Decision::Wait(asked.max(SHORTEST).mul_f64(1.0 + jitter / 10.0)),
        None => {
            let growth = FIRST * 2_u32.pow(attempt.saturating_sub(1));
            Decision::Wait(growth.mul_f64(1.0 + jitter / 4.0))
        }
    }
}

fn in_words(wait: Duration) -> String {
    let seconds = wait.as_secs();
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7_200 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_the_fifth_failure_is_the_last() {
        let waits: Vec<_> = (1..=4).map(|attempt| delay(attempt, None, 0.0)).collect();
        let seconds = [2, 4, 8, 16].map(|it| Decision::Wait(Duration::from_secs(it)));
        assert_eq!(waits, seconds);
        assert!(matches!(delay(5, None, 0.0), Decision::GiveUp(_)));
    }

    #[test]
    fn jitter_only_lengthens_a_wait() {
        assert_eq!(delay(1, None, 1.0), Decision::Wait(Duration::from_millis(2_500)));
        assert_eq!(delay(1, None, f64::NAN), Decision::Wait(Duration::from_secs(2)));
    }

    #[test]
    fn what_the_provider_asks_for_is_obeyed() {
        let asked = Some(Duration::from_secs(20));
        assert_eq!(delay(1, asked, 0.0), Decision::Wait(Duration::from_secs(20)));
        assert_eq!(delay(4, asked, 1.0), Decision::Wait(Duration::from_secs(22)));
    }

    #[test]
    fn a_provider_that_asks_for_no_wait_is_not_hammered() {
        assert_eq!(delay(1, Some(Duration::ZERO), 0.0), Decision::Wait(SHORTEST));
    }

    #[test]
    fn a_wait_of_a_day_gives_up_with_its_reason() {
        let Decision::GiveUp(reason) = delay(1, Some(Duration::from_secs(86_400)), 0.0) else {
            panic!("it waits a day");
        };
        assert!(reason.contains("24 hours"), "{reason}");
        assert!(matches!(delay(1, Some(LONGEST), 1.0), Decision::Wait(_)));
    }
}
