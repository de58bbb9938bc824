//! Output as a terminal would show it: the last state of each line, without codes.
//!
//! The screen has no edges. It grows downwards, nothing scrolls away, and no line wraps, so that a
//! progress bar ends as one line and everything else stays as it was written. The codes are those
//! of ECMA-48; what only colours or announces is dropped.

use std::str::Chars;

/// Spaces that may be made by moving the cursor beyond the end of a line, in all.
const MOST_PADDING: usize = 64 << 10;

/// The lines that are left on the screen once all of `text` was written to it.
pub(super) fn render(text: &str) -> Vec<String> {
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0, padding: MOST_PADDING };
    screen.write(text);
    // A newline ends a line; it does not begin another.
    if screen.lines.last().is_some_and(Vec::is_empty) {
        screen.lines.pop();
    }
    screen.lines.into_iter().map(String::from_iter).collect()
}

struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    padding: usize,
}

impl Screen {
    fn write(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(char) = rest.next() {
            match char {
                '\n' => self.new_line(),
                '\r' => self.column = 0,
                '\u{8}' => self.column = self.column.saturating_sub(1),
                '\u{1b}' => self.escape(&mut rest),
                '\t' => self.put(char),
                char if char.is_control() => {}
                char => self.put(char),
            }
        }
    }

    fn put(&mut self, char: char) {
        let line = &mut self.lines[self.row];
        while line.len() < self.column && self.padding > 0 {
            line.push(' ');
            self.padding -= 1;
        }
        self.column = self.column.min(line.len());
        match line.get_mut(self.column) {
            Some(place) => *place = char,
            None => line.push(char),
        }
        self.column += 1;
    }

    fn new_line(&mut self) {
        self.row += 1;
        self.column = 0;
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
    }

    /// What follows an escape character.
    fn escape(&mut self, rest: &mut Chars<'_>) {
        match rest.next() {
            Some('[') => self.control_sequence(rest),
            Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
            // A designation has one more character.
            Some(' '..='/') => drop(rest.next()),
            _ => {}
        }
    }

    fn control_sequence(&mut self, rest: &mut Chars<'_>) {
        let mut number: Option<usize> = None;
        let mut first = true;
        let end = loop {
            // A sequence that breaks off must not take the lines after it along.
            match rest.clone().next() {
                Some(char @ ' '..='~') => {
                    rest.next();
                    match char {
                        '0'..='9' if first => {
                            let digit = char as usize - '0' as usize;
                            let so_far = number.unwrap_or(0);
                            number = Some(so_far.saturating_mul(10).saturating_add(digit));
                        }
                        ' '..='?' => first = false,
                        end => break end,
                    }
                }
                _ => return,
            }
        };
        let by = number.unwrap_or(1).max(1);
        match end {
            'A' => self.row = self.row.saturating_sub(by),
            'B' => self.row = self.row.saturating_add(by).min(self.lines.len() - 1),
            'C' => self.column = self.column.saturating_add(by),
            'D' => self.column = self.column.saturating_sub(by),
            'E' => (self.row, self.column) = (self.row.saturating_add(by), 0),
            'F' => (self.row, self.column) = (self.row.saturating_sub(by), 0),
            'G' | '`' => self.column = by - 1,
            'K' => self.erase_in_line(number.unwrap_or(0)),
            'J' => self.erase_below(number.unwrap_or(0)),
            // There is no corner to go to, so what comes next starts on a line of its own.
            'H' | 'f' => self.start_afresh(),
            _ => {}
        }
        self.row = self.row.min(self.lines.len() - 1);
    }

    fn erase_in_line(&mut self, how: usize) {
        let line = &mut self.lines[self.row];
        match how {
            0 => line.truncate(self.column),
            1 => line.iter_mut().take(self.column + 1).for_each(|char| *char = ' '),
            _ => line.clear(),
        }
    }

    /// Clearing the whole screen keeps what was on it: it has been said.
    fn erase_below(&mut self, how: usize) {
        match how {
            0 => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            1 => {}
            _ => self.start_afresh(),
        }
    }

    fn start_afresh(&mut self) {
        self.row = self.lines.len() - 1;
        self.column = 0;
        if !self.lines[self.row].is_empty() {
            self.new_line();
        }
    }
}

/// Skips a string such as a window title, up to its terminator or the end of the line.
fn skip_string(rest: &mut Chars<'_>) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            None | Some('\n') => return,
            Some('\u{1b}') => {
                if ahead.next() == Some('\\') {
                    *rest = ahead;
                }
                return;
            }
            Some(char) => {
                *rest = ahead;
                if char == '\u{7}' {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        render(text).join("\n")
    }

    #[test]
    fn progress_ends_as_its_last_state() {
        assert_eq!(shown("10%\r20%\r100%\n"), "100%");
    }

    #[test]
    fn a_shorter_text_leaves_the_end_of_a_longer_one_unless_it_is_erased() {
        assert_eq!(shown("loading\rdone\n"), "doneing");
        assert_eq!(shown("loading\r\u{1b}[Kdone\n"), "done");
        assert_eq!(shown("loading\u{1b}[2K\rdone\n"), "done");
    }

    #[test]
    fn colours_titles_and_modes_leave_no_trace() {
        assert_eq!(shown("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{1b}[?25l"), "red x");
        assert_eq!(shown("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(shown("\u{1b}(Ba\u{1b}=b"), "ab");
    }

    #[test]
    fn lines_above_can_be_written_again() {
        assert_eq!(shown("a: 1\nb: 1\n\u{1b}[2Aa: 2\nb: 2\n"), "a: 2\nb: 2");
    }

    #[test]
    fn clearing_the_screen_keeps_what_was_said() {
        assert_eq!(shown("first\u{1b}[2J\u{1b}[Hsecond"), "first\nsecond");
    }

    #[test]
    fn windows_line_ends_are_line_ends() {
        assert_eq!(shown("a\r\nb\r\n"), "a\nb");
    }

    #[test]
    fn backspaces_bells_and_nul_characters_act_or_vanish() {
        assert_eq!(shown("ab\u{8}c\u{7}\0d"), "acd");
    }

    #[test]
    fn an_empty_line_in_the_middle_stays() {
        assert_eq!(render("a\n\nb\n"), ["a", "", "b"]);
        assert!(render("").is_empty());
    }

    #[test]
    fn a_code_that_breaks_off_takes_nothing_along() {
        assert_eq!(shown("\u{1b}[12\nnext"), "\nnext");
        assert_eq!(shown("\u{1b}]0;never ended\nnext"), "\nnext");
        assert_eq!(shown("end\u{1b}"), "end");
    }

    #[test]
    fn far_away_columns_do_not_take_memory() {
        let text = "\u{1b}[99999999999999999999Cx\n".repeat(1_000);
        let bytes: usize = render(&text).iter().map(String::len).sum();
        assert!(bytes <= MOST_PADDING + 1_000);
    }
}
