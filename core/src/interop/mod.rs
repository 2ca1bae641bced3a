//! IDs elsewhere: in serialized data, in drivers of PostgreSQL, and masked, for those who are not to see their time.

#[cfg(feature = "mask")]
pub mod mask;
#[cfg(feature = "postgres-types")]
mod postgres_types;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sqlx")]
mod sqlx;
