//! uid60: the type.

pub(crate) mod generate;

mod fields;

use sno_core::compat::Uid60;

use crate::{
    fixed::{Fixed, sort, type_functions},
    pg::datum::by_value,
};

type_functions!(Uid60, "uid60", sort::unsigned);

by_value! {
    Uid60: |datum| Uid60::from_bits(datum.value() as u64), |id| id.get().into();
}

impl Fixed for Uid60 {}
