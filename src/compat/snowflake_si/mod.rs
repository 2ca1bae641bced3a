//! Snowflake-SI. An ID is a `bigint`, so there is no type.

pub(crate) mod generate;

mod fields;
