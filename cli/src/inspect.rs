//! `sno inspect`

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::Args;
use serde::Serialize;
use sno_core::Sno;

use crate::{Out, Verdict, input, time, write_json};

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

struct Inspector {
    json: bool,
    shown: bool,
}

impl Inspector {
    fn show(&mut self, inspection: &Inspection, out: &mut Out) -> io::Result<()> {
        if self.json {
            return write_json(out, inspection);
        }
        let Inspection { id, time, tick_tock, metabyte, partition, sequence, bytes } = inspection;
        if self.shown {
            writeln!(out)?;
        }
        self.shown = true;
        writeln!(out, "{id}")?;
        writeln!(out, "  time       {time}")?;
        writeln!(out, "  tick-tock  {}", u8::from(*tick_tock))?;
        writeln!(out, "  metabyte   {metabyte}")?;
        writeln!(out, "  partition  {partition}")?;
        writeln!(out, "  sequence   {sequence}")?;
        writeln!(out, "  bytes      {bytes}")
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut Out) -> io::Result<Verdict> {
    let mut inspector = Inspector { json: arguments.json, shown: false };
    input::for_each(&arguments.ids, "ID", out, |text, out| match parse(text) {
        Ok(id) => inspector.show(&id.into(), out).map(Ok),
        Err(error) => Ok(Err(error)),
    })
}

/// Parses the two forms that PostgreSQL's type accepts.
pub(crate) fn parse(text: &[u8]) -> Result<Sno, String> {
    let Some(digits) = text.strip_prefix(b"\\x") else {
        return Sno::parse_bytes(text).map_err(|error| error.to_string());
    };
    Sno::parse_hex(digits).ok_or_else(|| "after \\x there have to be 20 hexadecimal digits".into())
}
