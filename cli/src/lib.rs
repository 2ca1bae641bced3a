//! What the program `sno` does with databases.

pub mod moving;
