//! The shared memory of `sno`: its scheme, its generators, and a session of a backend with them.

use sno_core::{Announcement, Epoch, Prefix, Tick, server};

use crate::{
    generator::{
        backend::MarksFile,
        backend_session::{self, SessionCell},
        errors,
        scheme::Scheme,
        shared::Memory,
    },
    pg::{errors::Error, server::process_id},
    sno::{id::SPAN, settings::Settings},
};

/// The scheme `sno`, for its generators.
#[derive(Clone, Copy)]
pub(crate) struct SnoScheme;

impl Scheme for SnoScheme {
    type Tick = Tick;

    const NAME: &'static str = "sno";
    const FUNCTION: &'static str = "sno_new()";
    const MARKS: &'static str = "sno.marks";
    const VIEW: &'static str = "sno_generators";
    const SPAN: &'static str = SPAN;
    const READERS: &'static str = " Programs that have stored a horizon go back to the time before.";
    const ENDS: [&'static str; 2] = ["2010", "2079-09-07"];
    const SETTING: &'static str = "sno.partition_prefix";

    fn epoch(self) -> Epoch {
        Epoch::SNO
    }
}

/// The number of generators: as many as a partition's low byte has values, so that settings which lead to the same
/// partition lead to the same generator.
pub(crate) const SLOTS: usize = 256;

/// The server's generators, and what the transaction of each process has announced.
pub(crate) static MEMORY: Memory<SnoScheme, SLOTS, Announcement> = Memory::new(c"sno generators");

pub(crate) type Session = backend_session::Session<SnoScheme, SLOTS>;

pub(crate) static SESSION: SessionCell<Session> = SessionCell::new();

/// The server's number, at whose marks the generators have resumed.
///
/// # Errors
///
/// As of [`resume`](backend_session::resume).
pub(crate) fn prefix() -> Result<Prefix, Error> {
    resume().map(|(prefix, _)| prefix)
}

fn resume() -> Result<(Prefix, MarksFile<SnoScheme, SLOTS>), Error> {
    let Settings { prefix, range } = Settings::current()?;
    let marks = backend_session::resume(SnoScheme, &MEMORY, prefix.map(Prefix::partitions), range)?;
    Ok((prefix.unwrap_or_else(|| marks.shared.number()), marks))
}

/// The partition of this backend.
pub(crate) fn own_partition(prefix: Prefix) -> u16 {
    prefix.partition(process_id())
}

/// The session, which is started if there is none.
pub(crate) fn session() -> Result<Session, Error> {
    current(&SESSION, start)
}

/// What a cell holds, or what it is started with; started again at each call if the server's number can be another one by then.
pub(crate) fn current<T: Copy>(
    cell: &SessionCell<T>,
    start: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    if Settings::can_change_by_itself() {
        cell.clear();
    }
    cell.get_or_start(start)
}

fn start() -> Result<Session, Error> {
    let (prefix, marks) = resume()?;
    server::Session::start(marks, own_partition(prefix)).map_err(errors::generation::<SnoScheme>)
}
