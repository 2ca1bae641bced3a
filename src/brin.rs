//! BRIN: what PostgreSQL's own operator classes can't know of the type.

use sno_core::Sno;

use crate::v1::v1;

v1! {
    /// `sno_brin_distance(sno, sno) → double precision`: how far apart two IDs are, in ticks. `minmax_multi`
    /// joins the ranges that are the closest.
    fn sno_brin_distance(left: Sno, right: Sno) -> f64 {
        left.distance(right)
    }
}
