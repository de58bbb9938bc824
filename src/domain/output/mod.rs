//! What a program printed, bounded: its beginning, its end, and how much is between them.

mod screen;

/// How much of an output is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub lines: usize,
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { lines: 2_000, bytes: 50 << 10 }
    }
}

/// Raw bytes that are kept of each end. More than is shown, because a progress bar of many
/// kilobytes comes down to one line.
const KEPT: usize = 256 << 10;

/// Collects output as it comes, in any pieces, in bounded memory.
///
/// Text is made of it only when it is asked for, so a character whose bytes came in two pieces is
/// one character, and an output of gigabytes costs little more than counting it.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
    newlines: u64,
    bounds: Bounds,
}

impl Transcript {
    pub fn within(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.newlines += count_newlines(piece);
        let (head, rest) = piece.split_at(piece.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(KEPT)..]);
        // Cut seldom, so that cutting costs nothing to speak of.
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// Bytes so far, all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lines so far, all of them; the last need not be ended.
    pub fn lines(&self) -> u64 {
        let last = self.tail.last().or(self.head.last());
        self.newlines + u64::from(last.is_some_and(|byte| *byte != b'\n'))
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether [`Transcript::text`] leaves something out.
    pub fn is_cut(&self) -> bool {
        self.shown().left_out.is_some()
    }

    /// The output within its bounds, as a terminal would show it, without colours. `whole` names
    /// where all of it can be read, for the line that says how much is missing.
    pub fn text(&self, whole: Option<&str>) -> String {
        let Shown { head, left_out, tail } = self.shown();
        let Some(left_out) = left_out else { return head };
        let whole = whole.map(|name| format!(", the whole output is in {name}"));
        let whole = whole.unwrap_or_default();
        let marker = match left_out {
            LeftOut::Lines(1) => format!("… 1 line left out{whole} …"),
            LeftOut::Lines(lines) => format!("… {lines} lines left out{whole} …"),
            LeftOut::Bytes(bytes) => format!("… {bytes} bytes left out{whole} …"),
        };
        let parts = [head, marker, tail];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// The last lines so far, as a terminal would show them: a glance at what goes on.
    pub fn glance(&self, bounds: Bounds) -> String {
        let last = if self.tail.is_empty() { &self.head } else { &self.tail };
        // Colours take room and are not shown, and a progress bar is many lines in one.
        let from = last.len().saturating_sub(4 * bounds.bytes);
        let raw = if from == 0 { last } else { whole_lines_after(&last[from..]) };
        last_lines(&screen::render(&String::from_utf8_lossy(raw)), bounds).0
    }

    fn shown(&self) -> Shown {
        // Room for the line in the middle.
        let half = Bounds { lines: self.bounds.lines / 2, bytes: self.bounds.bytes / 2 };
        let stored = (self.head.len() + self.tail.len()) as u64;
        if stored == self.bytes {
            let raw = [self.head.as_slice(), &self.tail].concat();
            let lines = screen::render(&String::from_utf8_lossy(&raw));
            let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
            if lines.len() <= self.bounds.lines && bytes <= self.bounds.bytes + 1 {
                return Shown { head: lines.join("\n"), left_out: None, tail: String::new() };
            }
            let (head, first) = first_lines(&lines, half);
            let (tail, last) = last_lines(&lines[first..], half);
            let missing = lines.len() - first - last;
            let left_out = match missing {
                0 => LeftOut::Bytes(bytes.saturating_sub(head.len() + tail.len() + 1) as u64),
                lines => LeftOut::Lines(lines as u64),
            };
            return Shown { head, left_out: Some(left_out), tail };
        }
        let head = screen::render(&String::from_utf8_lossy(whole_lines_before(&self.head)));
        let tail = screen::render(&String::from_utf8_lossy(whole_lines_after(&self.tail)));
        let (head, first) = first_lines(&head, half);
        let (tail, last) = last_lines(&tail, half);
        let missing = self.lines().saturating_sub((first + last) as u64);
        let left_out = if missing > 0 {
            LeftOut::Lines(missing)
        } else {
            LeftOut::Bytes(self.bytes - (head.len() + tail.len()) as u64)
        };
        Shown { head, left_out: Some(left_out), tail }
    }
}

struct Shown {
    head: String,
    left_out: Option<LeftOut>,
    tail: String,
}

enum LeftOut {
    Lines(u64),
    /// Only inside of lines.
    Bytes(u64),
}

/// As many lines from the start as fit, and their number. Of a line that would not even fit alone
/// its beginning is taken; it does not count as shown in full.
fn first_lines(lines: &[String], bounds: Bounds) -> (String, usize) {
    let mut text = String::new();
    for (count, line) in lines.iter().take(bounds.lines).enumerate() {
        let room = bounds.bytes.saturating_sub(text.len() + 1);
        let separator = if count == 0 { "" } else { "\n" };
        if line.len() > room {
            if line.len() > bounds.bytes {
                text += separator;
                text += &line[..line.floor_char_boundary(room)];
            }
            return (text, count);
        }
        text += separator;
        text += line;
    }
    (text, lines.len().min(bounds.lines))
}

/// As many lines from the end as fit, and their number; like [`first_lines`].
fn last_lines(lines: &[String], bounds: Bounds) -> (String, usize) {
    let mut picked: Vec<&str> = Vec::new();
    let mut size = 0;
    let mut count = 0;
    for line in lines.iter().rev().take(bounds.lines) {
        let room = bounds.bytes.saturating_sub(size + 1);
        if line.len() > room {
            if line.len() > bounds.bytes {
                picked.push(&line[line.ceil_char_boundary(line.len() - room)..]);
            }
            break;
        }
        picked.push(line);
        size += line.len() + 1;
        count += 1;
    }
    picked.reverse();
    (picked.join("\n"), count)
}

/// Up to the last line that is whole; all of it where there is only one.
fn whole_lines_before(raw: &[u8]) -> &[u8] {
    match raw.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &raw[..=end],
        None => {
            // Not half a character, either.
            let text = raw.utf8_chunks().last();
            let broken = text.map_or(0, |chunk| chunk.invalid().len());
            &raw[..raw.len() - broken]
        }
    }
}

/// From the first line that is whole; all of it where there is only one.
fn whole_lines_after(raw: &[u8]) -> &[u8] {
    let line = raw.iter().position(|byte| *byte == b'\n').map(|end| &raw[end + 1..]);
    line.filter(|rest| !rest.is_empty()).unwrap_or_else(|| {
        let broken = raw.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        &raw[broken..]
    })
}

/// Eight bytes at a time: a byte of `word` is zero exactly where a newline was.
fn count_newlines(piece: &[u8]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, rest) = piece.as_chunks::<8>();
    let mut count = 0;
    for word in words {
        let word = u64::from_ne_bytes(*word) ^ 0x0a0a_0a0a_0a0a_0a0a;
        let filled = ((word & LOW) + LOW) | word | LOW;
        count += u64::from((!filled).count_ones());
    }
    count + rest.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn transcript(pieces: &[&[u8]]) -> Transcript {
        let mut transcript = Transcript::default();
        pieces.iter().for_each(|piece| transcript.push(piece));
        transcript
    }

    #[test]
    fn a_short_output_is_shown_as_it_is() {
        let it = transcript(&[b"one\ntwo\n"]);
        assert_eq!((it.text(None).as_str(), it.lines(), it.bytes()), ("one\ntwo", 2, 8));
        assert!(!it.is_cut());
    }

    #[test]
    fn case_23_a_character_whose_bytes_came_apart_is_one_character() {
        assert_eq!(transcript(&[b"\xf0\x9f", b"\x98\x80\n"]).text(None), "😀");
    }

    #[test]
    fn case_24_bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(transcript(&[b"\xff\xfe\n\0"]).text(None), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn case_25_progress_that_came_in_pieces_is_its_last_state() {
        assert_eq!(transcript(&[b"10%\r2", b"0%\r100", b"%\n"]).text(None), "100%");
    }

    #[test]
    fn too_many_lines_are_cut_in_the_middle_and_counted() {
        let raw: String = (1..=2_500).map(|number| format!("{number}\n")).collect();
        let text = transcript(&[raw.as_bytes()]).text(Some("output-1"));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[0], lines[999], lines[1001]), ("1", "1000", "1501"));
        assert_eq!(lines[1000], "… 500 lines left out, the whole output is in output-1 …");
        assert_eq!(lines.last(), Some(&"2500"));
    }

    #[test]
    fn case_22_one_long_line_is_cut_between_characters() {
        let text = transcript(&["✓".repeat(40_000).as_bytes()]).text(None);
        assert!(text.len() <= (50 << 10) + 100, "{}", text.len());
        assert!(!text.contains('\u{fffd}'));
        assert!(text.contains("bytes left out") || text.contains("1 line left out"));
    }

    #[test]
    fn a_line_longer_than_what_is_kept_is_cut_between_characters_too() {
        let text = transcript(&["a✓".repeat(400_000).as_bytes()]).text(None);
        assert!(!text.contains('\u{fffd}'));
        assert!(text.starts_with("a✓") && text.ends_with('✓'));
    }

    #[test]
    fn an_endless_output_stays_small_and_is_counted() {
        let piece = b"y\n".repeat(32 << 10);
        let mut it = Transcript::default();
        for _ in 0..200 {
            it.push(&piece);
        }
        assert!(it.head.capacity() + it.tail.capacity() < 2 << 20);
        assert_eq!((it.bytes(), it.lines()), (200 * (64 << 10), 200 * (32 << 10)));
        assert!(it.text(None).contains("… 6551600 lines left out …"));
    }

    #[test]
    fn a_glance_is_the_end_of_it_and_small() {
        let bounds = Bounds { lines: 3, bytes: 60 };
        assert_eq!(transcript(&[b"10%\r20%"]).glance(bounds), "20%");
        let many: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(transcript(&[many.as_bytes()]).glance(bounds), "99997\n99998\n99999");
        let long = transcript(&["✓".repeat(400_000).as_bytes()]).glance(bounds);
        assert!(long.len() <= 60 && !long.contains('\u{fffd}'), "{long}");
    }

    #[test]
    fn a_huge_piece_keeps_its_end() {
        let mut piece = vec![b'x'; 3 << 20];
        piece.extend_from_slice(b"\nthe end\n");
        assert!(transcript(&[&piece]).text(None).ends_with("the end"));
    }

    #[test]
    fn megabytes_of_progress_are_one_line() {
        let it = transcript(&["50%\r".repeat(100_000).as_bytes(), b"\x1b[Kdone\n"]);
        assert_eq!(it.text(None), "done");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_comes_the_text_stays_within_its_bounds(
            pieces in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![any::<u8>(), Just(b'\n'), Just(b'a'), Just(0x1b), Just(b'[')],
                    0..200,
                ),
                0..8,
            ),
        ) {
            let bounds = Bounds { lines: 20, bytes: 300 };
            let mut it = Transcript::within(bounds);
            pieces.iter().for_each(|piece| it.push(piece));
            let text = it.text(Some("x"));
            prop_assert!(text.lines().count() <= bounds.lines + 1);
            prop_assert!(text.len() <= bounds.bytes + 80, "{}", text.len());
            prop_assert!(!text.contains(['\0', '\x1b']));
        }

        #[test]
        fn how_the_output_was_cut_into_pieces_makes_no_difference(
            raw in proptest::collection::vec(any::<u8>(), 0..400),
            at in 0_usize..400,
        ) {
            let (first, second) = raw.split_at(at.min(raw.len()));
            let apart = transcript(&[first, second]);
            let whole = transcript(&[&raw]);
            prop_assert_eq!(apart.text(None), whole.text(None));
            prop_assert_eq!(apart.lines(), whole.lines());
            let newlines = raw.iter().filter(|byte| **byte == b'\n').count() as u64;
            prop_assert_eq!(count_newlines(&raw), newlines);
        }
    }
}
