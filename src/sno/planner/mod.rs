//! What the planner asks: conditions with a time as conditions that indexes know, and how many rows they leave.

mod comparison;
mod statistics;

mod selectivity;
mod support;
