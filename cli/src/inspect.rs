//! `sno inspect`

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};

use clap::Args;
use serde::Serialize;
use sno_core::Sno;

use crate::{Out, Verdict, complain, time, write_json};

/// Shows what is in IDs
///
/// An ID is written as 16 characters of 2-9 and a-x, or as \x and 20 hexadecimal digits. One that is invalid is named
/// on standard error, with its line; the others are shown all the same, and the exit status is 1.
#[derive(Args)]
pub(crate) struct Arguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// The IDs; without any, the lines of standard input that are not empty
    #[arg(value_name = "ID")]
    ids: Vec<OsString>,
}

/// The longest line that is read, in bytes; the rest of a longer one, which is invalid, is skipped.
const LINE_LIMIT: u64 = 1024;

#[derive(Serialize)]
struct Inspection {
    id: String,
    time: String,
    tick_tock: bool,
    metabyte: u8,
    partition: u16,
    sequence: u16,
    bytes: String,
}

impl From<Sno> for Inspection {
    fn from(id: Sno) -> Self {
        Self {
            id: id.to_string(),
            time: time::format(id.tick()),
            tick_tock: id.tick_tock(),
            metabyte: id.metabyte(),
            partition: id.partition(),
            sequence: id.sequence(),
            bytes: id.as_bytes().iter().fold("\\x".into(), |hex, byte| format!("{hex}{byte:02x}")),
        }
    }
}

struct Inspector<'a> {
    out: &'a mut Out,
    json: bool,
    shown: bool,
    verdict: Verdict,
}

impl Inspector<'_> {
    fn inspect(&mut self, text: &[u8], line: Option<u64>) -> io::Result<()> {
        match parse(text) {
            Ok(id) => self.show(&id.into()),
            Err(error) => {
                self.verdict = Verdict::Invalid;
                let text = shown(text);
                match line {
                    Some(line) => complain(format_args!("line {line}: invalid ID \"{text}\": {error}")),
                    None => complain(format_args!("invalid ID \"{text}\": {error}")),
                }
                Ok(())
            }
        }
    }

    fn show(&mut self, inspection: &Inspection) -> io::Result<()> {
        if self.json {
            return write_json(self.out, inspection);
        }
        let Inspection { id, time, tick_tock, metabyte, partition, sequence, bytes } = inspection;
        if self.shown {
            writeln!(self.out)?;
        }
        self.shown = true;
        writeln!(self.out, "{id}")?;
        writeln!(self.out, "  time       {time}")?;
        writeln!(self.out, "  tick-tock  {}", u8::from(*tick_tock))?;
        writeln!(self.out, "  metabyte   {metabyte}")?;
        writeln!(self.out, "  partition  {partition}")?;
        writeln!(self.out, "  sequence   {sequence}")?;
        writeln!(self.out, "  bytes      {bytes}")
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut Out) -> io::Result<Verdict> {
    let mut inspector = Inspector { out, json: arguments.json, shown: false, verdict: Verdict::Valid };
    if !arguments.ids.is_empty() {
        for id in &arguments.ids {
            inspector.inspect(id.as_encoded_bytes(), None)?;
        }
        return Ok(inspector.verdict);
    }
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut line = Vec::new();
    for number in 1.. {
        // A program that writes single lines to this one waits for the answer to each.
        if input.buffer().is_empty() {
            inspector.out.flush()?;
        }
        line.clear();
        if input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == LINE_LIMIT && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            inspector.inspect(text, Some(number))?;
        }
    }
    Ok(inspector.verdict)
}

/// Parses the two forms that PostgreSQL's type accepts.
fn parse(text: &[u8]) -> Result<Sno, String> {
    let Some(digits) = text.strip_prefix(b"\\x") else {
        return Sno::parse_bytes(text).map_err(|error| {
            if text.len() as u64 >= LINE_LIMIT { "the line is too long".into() } else { error.to_string() }
        });
    };
    Sno::parse_hex(digits).ok_or_else(|| "after \\x there have to be 20 hexadecimal digits".into())
}

/// A text for a message: on one line, with at most 40 characters of it.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let start: String = text.chars().take(40).collect();
    let rest = if start.len() < text.len() { "..." } else { "" };
    format!("{}{rest}", start.escape_debug())
}
