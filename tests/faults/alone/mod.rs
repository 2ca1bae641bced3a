//! Faults whose tests measure time, and so need the machine for themselves: run after all others, one by one.

mod cost;
