//! `sno`: generates IDs, shows what is in them, and masks them.

mod bounds;
mod generate;
mod input;
mod inspect;
mod mask;
mod time;

use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Generates sno IDs, shows what is in them and where a time begins and ends among them, and masks them
#[derive(Parser)]
#[command(
    name = "sno",
    version,
    after_help = "Exit status: 0, 1 if an ID was invalid or something failed, 2 for wrong usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Generate(generate::Arguments),
    Inspect(inspect::Arguments),
    Bounds(bounds::Arguments),
    Mask(mask::Mask),
    Unmask(mask::Unmask),
}

/// Whether all input was valid.
enum Verdict {
    Valid,
    Invalid,
}

/// Standard output. Error messages go to standard error, unbuffered.
type Out = BufWriter<io::StdoutLock<'static>>;

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = match command {
        Command::Generate(arguments) => generate::run(&arguments, &mut out),
        Command::Inspect(arguments) => inspect::run(&arguments, &mut out),
        Command::Bounds(arguments) => bounds::run(&arguments, &mut out),
        Command::Mask(arguments) => mask::mask(&arguments, &mut out),
        Command::Unmask(arguments) => mask::unmask(&arguments, &mut out),
    };
    match result.and_then(|verdict| out.flush().map(|()| verdict)) {
        Ok(Verdict::Valid) => ExitCode::SUCCESS,
        Ok(Verdict::Invalid) => ExitCode::FAILURE,
        Err(error) => {
            // Discards what is in the buffer, since it could not be written.
            let _ = out.into_parts();
            // The reader has closed the pipe, as `head` does.
            if error.kind() == ErrorKind::BrokenPipe {
                return ExitCode::SUCCESS;
            }
            complain(format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error, and ignores if that is closed.
fn complain(message: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "sno: {message}");
}

/// A value as a line of JSON.
fn write_json(out: &mut Out, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
