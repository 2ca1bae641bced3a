//! Snowflake-SI. An ID is a `bigint`, so there is no type.

mod fields;
pub(crate) mod generate;
