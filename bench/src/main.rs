//! The command behind `dev/bench`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use sno_bench::{
    Instructions, Report, Selection, Size, check, count, measure, write_instructions, write_report,
};

/// Measures what an ID costs. Needs the private copy of a server that dev/staged makes.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A quarter of an hour
    Full(Run),
    /// Two minutes, smaller tables
    Quick(Run),
    /// Ten million rows sorted, tables of a hundred million
    Scale(Run),
    /// Counts the instructions of calls and statements, under valgrind
    Instructions {
        #[command(flatten)]
        target: Target,
        /// Compare with what is recorded there, and write nothing
        #[arg(long)]
        check: bool,
    },
    /// Writes tables, charts and page again from the recorded figures
    Render(Target),
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    target: Target,
    /// The folder where criterion left what it measured
    #[arg(long)]
    criterion: Option<PathBuf>,
    /// Only these sections
    #[arg(long)]
    only: Vec<String>,
    /// Rows of the large tables of a scale run
    #[arg(long)]
    rows: Option<usize>,
}

#[derive(Args)]
struct Target {
    /// The folder for the results
    #[arg(long)]
    into: PathBuf,
    /// A page that has blocks for them
    #[arg(long)]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Command::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The client's errors say little themselves, and all in what they come from.
            let mut source: Option<&dyn Error> = Some(&*error);
            while let Some(error) = source {
                eprintln!("{error}");
                source = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn run(what: What) -> Result<(), Box<dyn Error>> {
    match what {
        What::Full(run) => measured(Size::full(), run),
        What::Quick(run) => measured(Size::quick(), run),
        What::Scale(mut run) => {
            run.only = vec!["sort".into(), "large".into()];
            measured(Size::scale(), run)
        }
        What::Instructions { target, check: false } => {
            write_instructions(&count()?, &target.into, target.page.as_deref())
        }
        What::Instructions { target, check: true } => {
            let recorded: Instructions = read(&target.into.join("instructions.json"))?;
            check(&recorded, &count()?)
        }
        What::Render(target) => {
            let page = target.page.as_deref();
            for name in ["results", "scale"] {
                let file = target.into.join(format!("{name}.json"));
                if file.exists() {
                    write_report(&read::<Report>(&file)?, name, &target.into, page)?;
                }
            }
            let file = target.into.join("instructions.json");
            if file.exists() {
                write_instructions(&read(&file)?, &target.into, page)?;
            }
            Ok(())
        }
    }
}

fn measured(mut size: Size, run: Run) -> Result<(), Box<dyn Error>> {
    size.large_rows = run.rows.unwrap_or(size.large_rows);
    let name = if size.name == "scale" { "scale" } else { "results" };
    let (report, failed) = measure(size, Selection { only: run.only, criterion: run.criterion })?;
    write_report(&report, name, &run.target.into, run.target.page.as_deref())?;
    print!("{}", fs::read_to_string(run.target.into.join(format!("{name}.md")))?);
    if failed.is_empty() { Ok(()) } else { Err(format!("not measured: {}", failed.join("; ")).into()) }
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, Box<dyn Error>> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}
