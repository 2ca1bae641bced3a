//! The four schemes: their vectors, their texts, their order, and that nothing is lost on the way into `Sno`.
#![cfg(feature = "compat")]

mod bounds;
mod conversions;
mod fields;
mod generation;
mod ids;
mod settings;
mod texts;
mod vectors;
