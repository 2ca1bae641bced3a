//! The four schemes: their texts, their order, and that nothing is lost on the way into `Sno`. Published IDs of each, with their fields, are in
//! pg_regress' `compat_fields`.
#![cfg(feature = "compat")]

mod bounds;
mod conversions;
mod generation;
mod ids;
mod settings;
mod texts;
