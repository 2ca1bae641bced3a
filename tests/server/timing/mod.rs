//! Tests that measure time, and so need the machine for themselves: `dev/test` runs them after all others, one by one.

mod ddl;
mod planning;
