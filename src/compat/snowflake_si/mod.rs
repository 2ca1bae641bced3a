//! Snowflake-SI: an ID is a `bigint`, so there is no type. What there is has rooms of its own.

pub(crate) mod generate;

mod fields;
