//! `sno mask` and `sno unmask`

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use sno_core::mask::Key;

use crate::{Out, Verdict, input, inspect};

/// The environment variable with the key.
const VARIABLE: &str = "SNO_MASK_KEY";

/// Encrypts IDs as 16 other characters of the same alphabet, which tell neither time nor order
///
/// They are what sno_mask gives in SQL with the same key and context. The key is 32, 48 or 64 hexadecimal digits, for
/// 16, 24 or 32 bytes, in a file or in the environment variable SNO_MASK_KEY: arguments can be seen by all who list the
/// processes of the machine. An ID is written as 16 characters of 2-9 and a-x, or as \x and 20 hexadecimal digits. One
/// that is invalid is named on standard error, with its line, and the exit status is 1.
#[derive(Args)]
pub(crate) struct Mask {
    #[command(flatten)]
    options: Options,
    /// The IDs; without any, the lines of standard input that are not empty
    #[arg(value_name = "ID")]
    ids: Vec<OsString>,
}

/// Gets back the IDs that were masked with the same key and context
///
/// They are what sno_unmask gives in SQL. The key is the one of sno mask, in a file or in the environment variable
/// SNO_MASK_KEY. With another key or another context the result is another ID: nothing in a mask tells that it is
/// wrong.
#[derive(Args)]
pub(crate) struct Unmask {
    #[command(flatten)]
    options: Options,
    /// The masked IDs; without any, the lines of standard input that are not empty
    #[arg(value_name = "MASKED")]
    masked: Vec<OsString>,
}

#[derive(Args)]
struct Options {
    /// A file with the key in hexadecimal digits; without it, the environment variable SNO_MASK_KEY has them
    #[arg(short, long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// What the IDs are of, such as the name of their table: the same ID has other masks in other contexts
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    context: String,
}

impl Options {
    fn key(&self) -> io::Result<Key> {
        let (place, digits) = match &self.key_file {
            Some(path) => {
                let place = path.display().to_string();
                let digits = fs::read(path)
                    .map_err(|error| io::Error::new(error.kind(), format!("{place}: {error}")))?;
                (place, digits)
            }
            None => {
                let digits = env::var_os(VARIABLE).ok_or_else(|| {
                    io::Error::other(format!(
                        "no key: say --key-file, or set the environment variable {VARIABLE}"
                    ))
                })?;
                (VARIABLE.to_owned(), digits.into_encoded_bytes())
            }
        };
        // The key itself is in no message.
        let bytes = bytes(digits.trim_ascii()).ok_or_else(|| {
            io::Error::other(format!("{place}: a key is written in pairs of hexadecimal digits"))
        })?;
        Key::new(&bytes).map_err(|error| io::Error::other(format!("{place}: {error}")))
    }
}

fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| (digit as char).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(*pair.get(1)?)?) as u8);
    digits.chunks(2).map(pair).collect()
}

pub(crate) fn mask(arguments: &Mask, out: &mut Out) -> io::Result<Verdict> {
    let (key, context) = (arguments.options.key()?, arguments.options.context.as_bytes());
    input::for_each(&arguments.ids, "ID", out, |text, out| match inspect::parse(text) {
        Ok(id) => write(out, &key.mask(id, context)).map(Ok),
        Err(error) => Ok(Err(error)),
    })
}

pub(crate) fn unmask(arguments: &Unmask, out: &mut Out) -> io::Result<Verdict> {
    let (key, context) = (arguments.options.key()?, arguments.options.context.as_bytes());
    input::for_each(&arguments.masked, "masked ID", out, |text, out| match key.unmask(text, context) {
        Ok(id) => write(out, &id.to_text()).map(Ok),
        Err(error) => Ok(Err(error.to_string())),
    })
}

fn write(out: &mut Out, text: &[u8; 16]) -> io::Result<()> {
    out.write_all(text)?;
    out.write_all(b"\n")
}
