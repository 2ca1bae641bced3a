//! `sno`: generates IDs, shows what is in them, and masks them. What it knows about IDs is in `sno-core`.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufWriter, ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args, Parser};
use jiff::Timestamp;
use sno_cli::moving;
use sno_core::{Generator, Prefix, SequenceRange, Sno, mask::Key};

/// The environment variable with the key.
const VARIABLE: &str = "SNO_MASK_KEY";

/// Generates sno IDs, shows what is in them and where a time begins and ends among them, and masks them
#[derive(Parser)]
#[command(
    name = "sno",
    version,
    after_help = "Exit status: 0, 1 if an ID was invalid or something failed, 2 for wrong usage."
)]
enum Command {
    /// Generates IDs, one a line
    ///
    /// An ID is as unique as its partition, so there is no default: say --prefix or --partition, and never one that a
    /// server generates with. Two processes at the same time need different partitions; one after another they may
    /// have the same. Clocks that step are noticed within one process only.
    #[command(group(ArgGroup::new("who").required(true).args(["prefix", "partition"])))]
    Generate {
        /// The upper bits of the partition and how many these are, 8 to 16: 42/8, or just 42. The process ID picks the
        /// rest
        #[arg(short, long)]
        prefix: Option<Prefix>,
        /// The whole partition, 0 to 65535
        #[arg(long)]
        partition: Option<u16>,
        /// Your own byte, 0 to 255
        #[arg(short, long, default_value_t = 0)]
        metabyte: u8,
        /// How many
        #[arg(short = 'n', long, default_value_t = 1)]
        count: u64,
        /// The sequence numbers to use in each 4 ms, first and last, at least 4 of them
        #[arg(long, value_name = "FIRST-LAST", default_value_t)]
        sequence_range: SequenceRange,
    },
    /// Shows what is in IDs
    ///
    /// An ID is written as 16 characters of 2-9 and a-x, or as \x and 20 hexadecimal digits. One that is invalid is
    /// named on standard error; the others are shown all the same, and the exit status is 1.
    Inspect {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// The IDs; without any, the lines of standard input that are not empty
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Shows the smallest ID that was not generated before a time, and the largest that was not generated after
    ///
    /// They are what sno_lower and sno_upper give in SQL. A time before 2010 counts as the first moment, one after 2079
    /// as the last.
    Bounds {
        /// Times with their zone, like 2026-11-21T09:30:15.372Z or 2026-11-21T10:30+01:00
        #[arg(value_name = "TIME", required = true)]
        times: Vec<Timestamp>,
    },
    /// Encrypts IDs as 16 other characters of the same alphabet, which tell neither time nor order
    ///
    /// They are what sno_mask gives in SQL with the same key and context.
    Mask {
        #[command(flatten)]
        options: MaskOptions,
        /// The IDs; without any, the lines of standard input that are not empty
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Gets back the IDs that were masked with the same key and context
    ///
    /// With another key or another context the result is another ID: nothing in a mask tells that it is wrong.
    Unmask {
        #[command(flatten)]
        options: MaskOptions,
        /// The masked IDs; without any, the lines of standard input that are not empty
        #[arg(value_name = "MASKED")]
        masked: Vec<String>,
    },
    /// Moves the keys of tables to sno, or back, while the tables are in use
    ///
    /// The steps are columns, fill, indexes, switch and end. Until end, undo goes back.
    Move(moving::Move),
}

#[derive(Args)]
struct MaskOptions {
    /// A file with the key, 32, 48 or 64 hexadecimal digits; without it, the environment variable SNO_MASK_KEY has them.
    /// Arguments can be seen by all who list the processes of the machine
    #[arg(short, long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// What the IDs are of, such as the name of their table: the same ID has other masks in other contexts
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    context: String,
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Whether all input was valid.
fn run(command: Command) -> io::Result<bool> {
    match command {
        Command::Generate { prefix, partition, metabyte, count, sequence_range } => {
            // clap requires one of the two.
            let partition =
                partition.unwrap_or_else(|| prefix.unwrap_or_default().partition(std::process::id()));
            // Another process with the same partition may have ended in the present tick: it starts after that.
            let generator = Generator::new(partition, sequence_range);
            let mut out = BufWriter::new(io::stdout().lock());
            for _ in 0..count {
                writeln!(out, "{}", generator.generate(metabyte).map_err(io::Error::other)?)?;
            }
            out.flush().map(|()| true)
        }
        Command::Inspect { json, ids } => for_each(&ids, |text| parse(text).map(|id| inspect(id, json))),
        Command::Bounds { times } => {
            let mut out = io::stdout().lock();
            for time in times {
                let nanos = time.as_nanosecond();
                let lower = Sno::lower_bound(-(-nanos).div_euclid(1000) as i64);
                writeln!(out, "{lower} {}", Sno::upper_bound(nanos.div_euclid(1000) as i64))?;
            }
            Ok(true)
        }
        Command::Mask { options, ids } => {
            let key = options.key()?;
            let mask = |id| key.mask(id, options.context.as_bytes()).map(char::from).iter().collect();
            for_each(&ids, |text| parse(text).map(mask))
        }
        Command::Unmask { options, masked } => {
            let key = options.key()?;
            let unmask = |text: &str| key.unmask(text.as_bytes(), options.context.as_bytes());
            for_each(&masked, |text| Ok(unmask(text).map_err(|error| error.to_string())?.to_string()))
        }
        Command::Move(what) => moving::run(&what, &mut io::stdout().lock()).map_err(io::Error::other),
    }
}

/// Answers each argument or, if there are none, each line of standard input that is not empty. One that is invalid is
/// named on standard error; then the result is `false`.
fn for_each(words: &[String], answer: impl Fn(&str) -> Result<String, String>) -> io::Result<bool> {
    // Written line by line: a program that writes single lines to this one waits for the answer to each.
    let mut out = io::stdout().lock();
    let mut are_valid = true;
    let mut judge = |place: &str, word: &str| match answer(word) {
        Ok(text) => writeln!(out, "{text}"),
        Err(error) => {
            are_valid = false;
            complain(&format!("{place}invalid ID {word:?}: {error}"));
            Ok(())
        }
    };
    for word in words {
        judge("", word)?;
    }
    if words.is_empty() {
        for (number, line) in io::stdin().lock().split(b'\n').enumerate() {
            let line = line?;
            let word = String::from_utf8_lossy(line.trim_ascii());
            if !word.is_empty() {
                judge(&format!("line {}: ", number + 1), &word)?;
            }
        }
    }
    Ok(are_valid)
}

/// Writes a line to standard error, and ignores if that is closed.
fn complain(message: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "sno: {message}");
}

/// Parses the two forms that PostgreSQL's type accepts.
fn parse(text: &str) -> Result<Sno, String> {
    match text.strip_prefix("\\x") {
        None => text.parse().map_err(|error: sno_core::ParseError| error.to_string()),
        Some(digits) => Sno::parse_hex(digits.as_bytes())
            .ok_or_else(|| "after \\x there have to be 20 hexadecimal digits".into()),
    }
}

fn inspect(id: Sno, json: bool) -> String {
    let time = Timestamp::from_microsecond(id.tick().unix_micros()).expect("a tick is in its range");
    let bytes = id.as_bytes().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let (metabyte, partition, sequence) = (id.metabyte(), id.partition(), id.sequence());
    if json {
        return format!(
            r#"{{"id":"{id}","time":"{time:.3}","tick_tock":{},"metabyte":{metabyte},"partition":{partition},"sequence":{sequence},"bytes":"\\x{bytes}"}}"#,
            id.tick_tock()
        );
    }
    format!(
        "{id}\n  time       {time:.3}\n  tick-tock  {}\n  metabyte   {metabyte}\n  partition  {partition}\n  sequence   {sequence}\n  bytes      \\x{bytes}",
        u8::from(id.tick_tock())
    )
}

impl MaskOptions {
    /// No part of the key is in a message.
    fn key(&self) -> io::Result<Key> {
        let (place, digits) = match &self.key_file {
            Some(path) => (path.display().to_string(), fs::read_to_string(path)),
            None => {
                let missing = |_| io::Error::other("there is no key: set it, or say --key-file");
                (VARIABLE.to_owned(), env::var(VARIABLE).map_err(missing))
            }
        };
        let digits = digits.map_err(|error| io::Error::other(format!("{place}: {error}")))?;
        let digit = |digit: &u8| (*digit as char).to_digit(16);
        let pair = |pair: &[u8]| Some((digit(&pair[0])? << 4 | digit(pair.get(1)?)?) as u8);
        let bytes: Option<Vec<u8>> = digits.trim().as_bytes().chunks(2).map(pair).collect();
        let key = match bytes {
            Some(bytes) => Key::new(&bytes).map_err(|error| error.to_string()),
            None => Err("a key is written in pairs of hexadecimal digits".into()),
        };
        key.map_err(|error| io::Error::other(format!("{place}: {error}")))
    }
}
