//! What an ID costs: measured on a server of its own, beside what else people use as keys.
//!
//! Every figure is a set of samples. All contenders of a figure take turns within one session, round after round,
//! and change their order from round to round; so what disturbs the machine for a moment disturbs all of them. The
//! medians, the extremes, and all samples go into the results.
//!
//! `make bench`, `make bench-quick` and `make bench-scale` run it by way of `dev/bench`.

mod callgrind;
mod chart;
mod instructions;
mod keys;
mod machine;
mod pages;
mod report;
mod run;
mod sections;
mod size;
mod statements;

pub use instructions::{Instructions, check, count};
pub use machine::Machine;
pub use pages::{write_instructions, write_report};
pub use report::{Figure, Report, Section, Series, Unit};
pub use run::{Bench, Selection, measure};
pub use size::Size;
