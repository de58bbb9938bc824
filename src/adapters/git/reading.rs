//! Reading what git prints: its output bounded, its messages in words.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::{Answer, address::without_passwords};
use crate::adapters::sandbox::Stopper;

/// What is kept of git's messages.
const MOST_WORDS: usize = 4 << 10;

/// Reads the output up to a bound, and stops git there.
pub(super) async fn read_answer(
    output: Option<impl AsyncRead + Unpin>,
    most: usize,
    stopper: Stopper,
) -> io::Result<Answer> {
    let mut answer = Answer { output: Vec::new(), is_cut: false };
    if let Some(mut from) = output {
        (&mut from).take(most as u64).read_to_end(&mut answer.output).await?;
        answer.is_cut = answer.output.len() == most && from.read(&mut [0]).await? > 0;
        if answer.is_cut {
            stopper.kill();
        }
    }
    Ok(answer)
}

/// Reads git's messages to the end, and keeps the last of them.
pub(super) async fn read_words(
    errors: Option<impl AsyncRead + Unpin>,
    progress: &mut impl FnMut(&str),
) -> io::Result<String> {
    let Some(mut from) = errors else { return Ok(String::new()) };
    let mut buffer = [0; 4096];
    let mut line = Vec::new();
    let mut kept = String::new();
    loop {
        let length = from.read(&mut buffer).await?;
        for byte in &buffer[..length] {
            match byte {
                b'\n' | b'\r' => {
                    let said = without_passwords(String::from_utf8_lossy(&line).trim());
                    line.clear();
                    if said.is_empty() {
                        continue;
                    }
                    progress(&said);
                    if *byte == b'\n' {
                        kept += &said;
                        kept.push('\n');
                    }
                }
                byte if line.len() < MOST_WORDS => line.push(*byte),
                _ => {}
            }
        }
        if kept.len() > MOST_WORDS {
            kept.drain(..kept.ceil_char_boundary(kept.len() - MOST_WORDS));
        }
        if length == 0 {
            kept += &without_passwords(&String::from_utf8_lossy(&line));
            return Ok(kept);
        }
    }
}

/// What git said about its failure, without its prefixes and without progress.
pub(super) fn explain(words: &str, code: i32) -> String {
    let prefixes = ["fatal: ", "error: ", "ssh: "];
    let said: Vec<_> = words
        .lines()
        .filter_map(|line| prefixes.iter().find_map(|prefix| line.strip_prefix(prefix)))
        .collect();
    if said.iter().any(|line| line.contains("could not read Username")) {
        return "the repository does not exist, or asks for a name and a password.".to_owned();
    }
    match said.is_empty() {
        false => said.join(" "),
        true if words.trim().is_empty() => format!("it ended with code {code}."),
        true => words.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_gits_words_without_its_progress() {
        let words = "Cloning into '/x'...\nremote: Counting objects: 3\nfatal: it broke\n";
        assert_eq!(explain(words, 128), "it broke");
        assert_eq!(explain("", 1), "it ended with code 1.");
        assert_eq!(explain("odd\n", 1), "odd");
    }

    #[test]
    fn a_question_for_a_password_is_explained() {
        let words = "fatal: could not read Username for 'https://h': terminal prompts disabled";
        assert!(explain(words, 128).contains("asks for a name and a password"));
    }
}
