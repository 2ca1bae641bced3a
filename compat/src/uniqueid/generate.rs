//! `uniqueid_new`: the generator of this backend's PID, and the form that a setting chooses.

use sno_core::{
    Epoch,
    compat::{
        UniqueId,
        uniqueid::{Cluster, Form, Millis},
    },
};

use crate::{
    generator::{
        backend_session::{self, SessionCell},
        scheme::Scheme,
        shared::Memory,
    },
    id::Id,
    pg::{errors::Error, fmgr::export, server::process_id, server_setting::OfThisHost},
    settings::{CLUSTER, FORM, GENERATOR_BITS},
};

export! { uniqueid_new }

/// The scheme uniqueid, for its generators.
#[derive(Clone, Copy)]
pub(crate) struct UniqueIdScheme;

impl Scheme for UniqueIdScheme {
    type Tick = Millis;

    const NAME: &'static str = "uniqueid";
    const FUNCTION: &'static str = "uniqueid_new()";
    const MARKS: &'static str = "sno_compat.uniqueid.marks";
    const VIEW: &'static str = "sno_compat_generators";
    const SPAN: &'static str =
        "A uniqueid holds times from 1970-01-01 00:00:00 UTC to 2109-05-15 07:35:11.103999 UTC.";
    const ENDS: [&'static str; 2] = ["1970", "2109-05-15"];
    const SETTING: &'static str = "sno_compat.uniqueid_cluster";

    fn epoch(self) -> Epoch {
        Epoch::UNIX
    }
}

/// The number of slots. Generators with the same low byte share one, so settings that lead to the same generator lead
/// to the same slot.
pub(crate) const SLOTS: usize = 256;

/// The server's generators.
pub(crate) static MEMORY: Memory<UniqueIdScheme, SLOTS> = Memory::new(c"sno_compat uniqueid generators");

/// This backend's generator, and the other fields of its IDs.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    generator: backend_session::Session<UniqueIdScheme, SLOTS>,
    cluster: Cluster,
    form: Form,
}

pub(crate) static SESSION: SessionCell<Session> = SessionCell::new();

impl Session {
    fn start() -> Result<Self, Error> {
        let (OfThisHost(cluster), form) = (CLUSTER.get()?, FORM.get()?);
        let number = GENERATOR_BITS.get()?.generator(process_id());
        let server = cluster.get();
        let generator =
            backend_session::start(UniqueIdScheme, &MEMORY, server..=server, number, UniqueId::POOL)?;
        Ok(Self { generator, cluster, form })
    }

    fn generate(self) -> Result<UniqueId, Error> {
        let stamp = backend_session::next(&self.generator)?;
        Ok(UniqueId::from_stamp(stamp, self.generator.number, self.cluster, self.form))
    }
}

/// `uniqueid_new() → uniqueid`
fn uniqueid_new() -> Result<Id<UniqueId>, Error> {
    SESSION.get_or_start(Session::start).and_then(Session::generate).map(Id)
}
