//! uniqueid: the type.

pub(crate) mod generate;

mod fields;

use sno_core::compat::UniqueId;

use crate::{
    fixed::{Fixed, sort, type_functions},
    pg::datum::by_value,
};

type_functions!(UniqueId, "uniqueid", sort::unsigned);

by_value! {
    UniqueId: |datum| UniqueId::new(datum.value() as u64), |id| id.get().into();
}

impl Fixed for UniqueId {}
