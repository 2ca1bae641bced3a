//! Interfaces of PostgreSQL.

pub mod raw;
// For the planner's functions.
pub mod nodes;
pub mod versions;

pub mod backend_local;
pub mod datum;
pub mod errors;
pub mod fmgr;
pub mod process;
pub mod rights;
pub mod server;
pub mod server_setting;
pub mod spi;
pub mod wait;
