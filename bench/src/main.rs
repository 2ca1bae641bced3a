//! What an ID costs: measured on a server of its own, beside what else people use as keys. `dev/bench` runs it.
//!
//! All contenders of a figure take turns within one session, round after round, and change their order from round to
//! round; so what disturbs the machine for a moment disturbs all of them.
//!
//! Each module uses only those before it: `results`, `summary`, `report`, `contenders`, `figures`, `sections`,
//! `run`, `instructions`. One more type of key is an entry of `contenders`, one more section an entry of `sections`.

mod contenders;
mod figures;
mod instructions;
mod report;
mod results;
mod run;
mod sections;
mod summary;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Measures what an ID costs. Needs the private copy of a server that dev/staged makes.
#[derive(Parser)]
struct Command {
    /// A size of a run, or instructions, check, render
    what: String,
    /// The folder for the results
    #[arg(long)]
    into: PathBuf,
    /// Pages that have blocks for them
    #[arg(long)]
    page: Vec<PathBuf>,
    /// Only these sections
    #[arg(long)]
    only: Vec<String>,
}

fn main() -> ExitCode {
    let result = run(&Command::parse());
    result.inspect_err(|error| eprintln!("{error}")).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    let mut runs = results::read(&command.into)?;
    let mut failed = Vec::new();
    match command.what.as_str() {
        "render" => {}
        "check" => {
            let recorded = runs.get("instructions").ok_or("no instructions are recorded there")?;
            return instructions::check(recorded, &instructions::count()?);
        }
        "instructions" => {
            runs.insert("instructions".into(), instructions::count()?);
        }
        name => {
            let (_, size) = run::SIZES.iter().find(|(known, _)| *known == name).ok_or("no such size")?;
            let only: Vec<&str> = command.only.iter().map(String::as_str).collect();
            let (run, failures) = run::measure(*size, &only)?;
            failed = failures;
            runs.insert(name.into(), run);
        }
    }
    results::write(&command.into, &runs)?;
    println!("{}", report::write(&runs, &command.into, &command.page)?);
    if failed.is_empty() { Ok(()) } else { Err(format!("not measured: {}", failed.join("; ")).into()) }
}
