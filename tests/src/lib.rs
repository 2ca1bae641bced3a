//! Real servers for the tests of the `sno` extension, and the means to prove that no ID came twice.
//!
//! [`Server`] starts a PostgreSQL of its own, with the extension's files in place, and stops it whatever happens
//! to the test. [`Ids`] gathers IDs by the million and finds any that is there more than once.
//!
//! The tests need the private copy of a server that `dev/staged` makes: run them with `make test`, or one by one
//! with `dev/staged cargo tests --test server [name]`.

mod answers;
mod catalog;
mod control;
mod ids;
mod random;
mod server;
mod skips;
mod system;
mod witness;

pub use answers::{Sql, code, error, major_version, plan, stored, text};
pub use catalog::catalog;
pub use control::{assert_soon, next_tick, processor_ticks};
pub use ids::{Ids, Stop, in_parallel, wait_until};
pub use postgres;
pub use random::Random;
pub use server::{Builder, Mode, Server};
pub use skips::{skip, skip_on_this_machine};
pub use sno_core;
pub use system::{as_server, give_to_server, program, sql_file};
