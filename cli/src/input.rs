//! IDs, or other words, from the arguments or from standard input.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};

use crate::{Out, Verdict, complain};

/// The longest line that is read, in bytes; the rest of a longer one, which is invalid, is skipped.
const LINE_LIMIT: u64 = 1024;

/// Calls a function with each argument or, if there are none, with each line of standard input that is not empty. If it
/// returns a message, the word is named on standard error; `what` says what it should have been.
pub(crate) fn for_each(
    words: &[OsString],
    what: &str,
    out: &mut Out,
    mut each: impl FnMut(&[u8], &mut Out) -> io::Result<Result<(), String>>,
) -> io::Result<Verdict> {
    let mut verdict = Verdict::Valid;
    let mut judge = |result: Result<(), String>, word: &[u8], place: fmt::Arguments<'_>| {
        if let Err(error) = result {
            verdict = Verdict::Invalid;
            complain(format_args!("{place}invalid {what} \"{}\": {error}", shown(word)));
        }
    };
    if !words.is_empty() {
        for word in words.iter().map(|word| word.as_encoded_bytes()) {
            judge(each(word, out)?, word, format_args!(""));
        }
        return Ok(verdict);
    }
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut line = Vec::new();
    for number in 1.. {
        // A program that writes single lines to this one waits for the answer to each.
        if input.buffer().is_empty() {
            out.flush()?;
        }
        line.clear();
        if input.by_ref().take(LINE_LIMIT + 1).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let word = line.trim_ascii();
        let result = if line.len() as u64 > LINE_LIMIT && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            Err("the line is too long".into())
        } else if word.is_empty() {
            continue;
        } else {
            each(word, out)?
        };
        judge(result, word, format_args!("line {number}: "));
    }
    Ok(verdict)
}

/// A text for a message: on one line, with at most 40 characters of it.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let start: String = text.chars().take(40).collect();
    let rest = if start.len() < text.len() { "..." } else { "" };
    format!("{}{rest}", start.escape_debug())
}
