//! Interfaces of PostgreSQL.

pub(crate) mod raw;
// For the planner's functions.
pub(crate) mod nodes;
pub(crate) mod versions;

pub(crate) mod backend_local;
pub(crate) mod datum;
pub(crate) mod errors;
pub(crate) mod fmgr;
pub(crate) mod process;
pub(crate) mod rights;
pub(crate) mod server;
pub(crate) mod server_setting;
pub(crate) mod wait;
