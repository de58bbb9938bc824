//! Noticing that an agent goes in circles: the same calls, with the same results, again and again.

use std::collections::VecDeque;

/// The longest circle that is noticed, in calls.
const LONGEST: usize = 3;
/// Calls that have to be remembered: two whole rounds, and the newest call.
const REMEMBERED: usize = 2 * LONGEST + 1;

/// The newest calls of a turn.
#[derive(Debug, Default)]
pub(super) struct Circles {
    made: VecDeque<Made>,
    /// The number of the first call that is remembered.
    first: usize,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    /// A hash of the tool and its input.
    call: u64,
    /// A hash of what came of it, once that is known.
    result: Option<u64>,
}

impl Made {
    fn same(self, other: Self) -> bool {
        let differs = self.result.zip(other.result).is_some_and(|(one, two)| one != two);
        self.call == other.call && !differs
    }
}

impl Circles {
    /// Notes a call. Answers its number, and whether a third round begins with it.
    pub fn note(&mut self, call: u64) -> (usize, bool) {
        self.made.push_back(Made { call, result: None });
        if self.made.len() > REMEMBERED {
            self.made.pop_front();
            self.first += 1;
        }
        let number = self.first + self.made.len() - 1;
        let found = (1..=LONGEST).any(|length| self.begins_third_round(length));
        if found {
            // If it goes on all the same, it is noticed again only after as many more.
            self.first += self.made.len();
            self.made.clear();
        }
        (number, found)
    }

    /// Notes what came of a call.
    pub fn came_of(&mut self, number: usize, result: u64) {
        let at = number.checked_sub(self.first);
        if let Some(made) = at.and_then(|at| self.made.get_mut(at)) {
            made.result = Some(result);
        }
    }

    fn begins_third_round(&self, length: usize) -> bool {
        let Some(newest) = self.made.len().checked_sub(1) else { return false };
        if newest < 2 * length {
            return false;
        }
        let (round, before) = (newest - length, newest - 2 * length);
        self.made[newest].call == self.made[round].call
            && (0..length).all(|at| self.made[round + at].same(self.made[before + at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of the calls, each with its result, a circle is noticed.
    fn noticed(calls: &[(u64, u64)]) -> Vec<usize> {
        let mut circles = Circles::default();
        let mut noticed = Vec::new();
        for (at, (call, result)) in calls.iter().enumerate() {
            let (number, found) = circles.note(*call);
            circles.came_of(number, *result);
            noticed.extend(found.then_some(at));
        }
        noticed
    }

    #[test]
    fn rounds_of_one_to_three_calls_are_noticed_when_the_third_begins() {
        assert_eq!(noticed(&[(1, 0), (1, 0), (1, 0)]), [2]);
        assert_eq!(noticed(&[(9, 0), (1, 0), (2, 0), (1, 0), (2, 0), (1, 0)]), [5]);
        let three = [(1, 0), (2, 0), (3, 0)];
        assert_eq!(noticed(&[three, three, three].concat()), [6]);
        let four = [(1, 0), (2, 0), (3, 0), (4, 0)];
        assert_eq!(noticed(&[four, four, four].concat()), Vec::<usize>::new());
    }

    #[test]
    fn another_result_is_progress() {
        assert_eq!(noticed(&[(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)]), Vec::<usize>::new());
        assert_eq!(noticed(&[(1, 0), (2, 0), (1, 0), (2, 1), (1, 0), (2, 2)]), Vec::<usize>::new());
        assert_eq!(noticed(&[(1, 5), (1, 0), (1, 0), (1, 0)]), [3]);
    }

    #[test]
    fn what_has_no_result_yet_counts_as_the_same() {
        let mut circles = Circles::default();
        assert!(!circles.note(1).1 && !circles.note(1).1 && circles.note(1).1);
    }

    #[test]
    fn it_is_noticed_again_after_as_many_more() {
        assert_eq!(noticed(&[(1, 0); 9]), [2, 5, 8]);
    }
}
