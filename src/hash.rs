//! Hashing: PostgreSQL's own functions over the ten bytes.
//!
//! Hash indexes and hash partitions are laid out by these values, so they may never change.

use sno_core::Sno;
use sno_glue::{functions, hash};

functions! {
    /// `sno_hash(sno) → integer`
    sno_hash: hash::hash::<Sno>;
    /// `sno_hash_extended(sno, bigint) → bigint`
    sno_hash_extended: hash::hash_extended::<Sno>;
}
