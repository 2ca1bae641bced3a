//! `sno generate`

use std::io::{self, Write as _};

use clap::Args;
use sno_core::{Generator, OutOfEpoch, Prefix, SequenceRange};

use crate::{Out, Verdict};

/// Generates IDs, one a line
///
/// An ID is as unique as its partition, so there is no default: say --prefix or --partition, and never one that a
/// server generates with (`SHOW sno.partition_prefix`). Two processes at the same time need different partitions;
/// one after another they may have the same. Clocks that step are seen to within one process only.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    who: Who,
    /// Your own byte, 0 to 255
    #[arg(short, long, default_value_t = 0)]
    metabyte: u8,
    /// How many
    #[arg(short = 'n', long, default_value_t = 1)]
    count: u64,
    /// The sequence numbers to use in each 4 ms, first and last, at least 4 of them
    #[arg(long, value_name = "FIRST-LAST", default_value_t)]
    sequence_range: SequenceRange,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Who {
    /// The upper bits of the partition and how many these are, 8 to 16: 42/8, or just 42. The process ID picks the rest
    #[arg(short, long, value_name = "PREFIX")]
    prefix: Option<Prefix>,
    /// The whole partition, 0 to 65535
    #[arg(long)]
    partition: Option<u16>,
}

impl Who {
    fn partition(&self) -> u16 {
        match (self.partition, self.prefix) {
            (Some(partition), _) => partition,
            // clap requires one of the two.
            (None, prefix) => prefix.unwrap_or_default().partition(std::process::id()),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut Out) -> io::Result<Verdict> {
    // Another process with the same partition may have ended in the present tick: the generator starts after it.
    let generator = Generator::new(arguments.who.partition(), arguments.sequence_range);
    let mut line = *b"................\n";
    for _ in 0..arguments.count {
        let id = generator.generate(arguments.metabyte).map_err(clock)?;
        line[..16].copy_from_slice(&id.to_text());
        out.write_all(&line)?;
    }
    Ok(Verdict::Valid)
}

fn clock(error: OutOfEpoch) -> io::Error {
    let span = "IDs hold times from 2010 to 2079-09-07 15:47:35 UTC";
    io::Error::other(format!("the system's clock is out of range: {error}; {span}"))
}
