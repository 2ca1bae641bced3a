//! `sno bounds`

use std::io::{self, Write as _};

use clap::Args;
use serde::Serialize;
use sno_core::Sno;

use crate::{Out, Verdict, time, write_json};

/// Shows the smallest ID that was not generated before a time, and the largest that was not generated after
///
/// They are what sno_lower and sno_upper give in SQL: bounds over all metabytes and partitions. A time before 2010
/// counts as the first moment, one after 2079 as the last.
#[derive(Args)]
pub(crate) struct Arguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Times with their zone, like 2026-11-21T09:30:15.372Z or 2026-11-21T10:30+01:00; days, which begin at midnight
    /// UTC; now
    #[arg(value_name = "TIME", required = true)]
    times: Vec<time::Time>,
}

#[derive(Serialize)]
struct Bounds {
    lower: String,
    upper: String,
}

pub(crate) fn run(arguments: &Arguments, out: &mut Out) -> io::Result<Verdict> {
    for time in &arguments.times {
        let bounds = Bounds {
            lower: Sno::lower_bound(time.ceil_micros()).to_string(),
            upper: Sno::upper_bound(time.floor_micros()).to_string(),
        };
        if arguments.json {
            write_json(out, &bounds)?;
        } else {
            writeln!(out, "{} {}", bounds.lower, bounds.upper)?;
        }
    }
    Ok(Verdict::Valid)
}
