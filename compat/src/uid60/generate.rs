//! `uid60_new`: a backend leases a worker number for an hour, and uses the generator of that number.

use sno_core::{
    Epoch, OfOneServer as _,
    compat::{
        Uid60,
        uid60::{EPOCH, Lease, Seconds, Workers},
    },
    server::Host as _,
};

use crate::{
    generator::{
        backend::Backend,
        backend_session::{self, SessionCell},
        errors,
        scheme::Scheme,
        shared::Memory,
    },
    id::Id,
    pg::{errors::Error, fmgr::export, server::random, server_setting::OfThisHost},
    settings::WORKERS,
};

export! { uid60_new }

/// The scheme uid60, for its generators.
#[derive(Clone, Copy)]
pub(crate) struct Uid60Scheme;

impl Scheme for Uid60Scheme {
    type Tick = Seconds;

    const NAME: &'static str = "uid60";
    const FUNCTION: &'static str = "uid60_new()";
    const MARKS: &'static str = "sno_compat.uid60.marks";
    const VIEW: &'static str = "sno_compat_generators";
    const SPAN: &'static str =
        "A uid60 holds times from 2018-03-01 00:00:00 UTC to 2154-04-07 06:28:15.999999 UTC.";
    const ENDS: [&'static str; 2] = ["2018-03-01", "2154-04-07"];
    const SETTING: &'static str = "sno_compat.uid60_workers";

    fn epoch(self) -> Epoch {
        EPOCH
    }
}

/// The number of generators: a worker's number modulo 256 picks one. Two workers with one generator never generate
/// the same ID.
pub(crate) const SLOTS: usize = 256;

/// The server's generators; `scheme_counter` counts the leases of workers.
pub(crate) static MEMORY: Memory<Uid60Scheme, SLOTS> = Memory::new(c"sno_compat uid60 generators");

/// This backend's generator, and the lease of its worker number.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    generator: backend_session::Session<Uid60Scheme, SLOTS>,
    workers: Workers,
    lease: Lease,
}

pub(crate) static SESSION: SessionCell<Session> = SessionCell::new();

impl Session {
    fn start() -> Result<Self, Error> {
        let OfThisHost(workers) = WORKERS.get()?;
        let generator = backend_session::start(Uid60Scheme, &MEMORY, workers.numbers(), 0, Uid60::POOL)?;
        let now = Backend(Uid60Scheme).now().map_err(errors::clock_outside_epoch::<Uid60Scheme>)?;
        Ok(Self::lease(generator, workers, now))
    }

    /// A session with a lease of the next worker number.
    fn lease(
        generator: backend_session::Session<Uid60Scheme, SLOTS>,
        workers: Workers,
        now: Seconds,
    ) -> Self {
        let lease = workers.lease(&generator.shared().scheme_counter, now);
        Self { generator: generator.with_number(lease.worker()), workers, lease }
    }
}

/// `uid60_new() → uid60`
fn uid60_new() -> Result<Id<Uid60>, Error> {
    let mut session = SESSION.get_or_start(Session::start)?;
    loop {
        let stamp = backend_session::next(&session.generator)?;
        if session.lease.holds(stamp.tick()) {
            let random = u16::from_ne_bytes(random()?);
            return Ok(Id(Uid60::from_stamp(stamp, session.lease.worker(), random)));
        }
        session = Session::lease(session.generator, session.workers, stamp.tick());
        SESSION.set(session);
    }
}
