//! The sessions of a backend: one for each scheme, which starts with the first ID, and again after a setting changed.

use std::{cell::Cell, ops::RangeInclusive};

use sno_core::{SequenceRange, Stamp, server};

use crate::{
    generator::{
        backend::{Backend, MarksFile},
        errors,
        scheme::Scheme,
        shared::Memory,
    },
    pg::{
        backend_local::BackendLocal,
        errors::Error,
        server::{is_in_recovery, require_preload},
        server_setting::{self, State},
    },
};

/// A session that generates IDs of a scheme.
pub type Session<S, const SLOTS: usize> = server::Session<'static, <S as Scheme>::Tick, SLOTS, Backend<S>>;

/// Starts a session of a server with these partitions: after this, it may generate IDs.
///
/// # Errors
///
/// As of [`resume`].
pub fn start<S: Scheme, const SLOTS: usize, P>(
    scheme: S,
    memory: &'static Memory<S, SLOTS, P>,
    partitions: RangeInclusive<u16>,
    number: u16,
    range: SequenceRange,
) -> Result<Session<S, SLOTS>, Error> {
    let marks = resume(scheme, memory, Some(partitions), range)?;
    Session::start(marks, number).map_err(errors::generation::<S>)
}

/// The marks, at which the generators have resumed, of a server with these partitions, or those of the number that it
/// has drawn.
///
/// # Errors
///
/// The server is in recovery, or the shared memory or the marks are not available.
pub fn resume<S: Scheme, const SLOTS: usize, P>(
    scheme: S,
    memory: &'static Memory<S, SLOTS, P>,
    partitions: Option<RangeInclusive<u16>>,
    range: SequenceRange,
) -> Result<MarksFile<S, SLOTS>, Error> {
    check_server::<S>()?;
    let partitions = partitions.map(|partitions| [*partitions.start(), *partitions.end()]);
    let marks = MarksFile { host: Backend(scheme), shared: memory.generators()?, partitions, range };
    marks.resume().map_err(errors::generation::<S>)?;
    Ok(marks)
}

/// Claims the next stamp of a session whose scheme has no transactions, and waits if it has to.
pub fn next<S: Scheme, const SLOTS: usize>(session: &Session<S, SLOTS>) -> Result<Stamp<S::Tick>, Error> {
    session.next().map_err(errors::generation::<S>)
}

/// A backend's session, with the state of the settings that it started with.
pub struct SessionCell<T>(BackendLocal<Cell<Option<(State, T)>>>);

impl<T: Copy> SessionCell<T> {
    /// Without a session.
    #[allow(clippy::new_without_default, reason = "for statics")]
    pub const fn new() -> Self {
        // SAFETY: sessions are statics of functions that are called by SQL alone.
        Self(unsafe { BackendLocal::new(Cell::new(None)) })
    }

    /// The session, if one has started since the files of the settings were read: they may have a misspelt name now.
    #[inline(always)]
    pub fn get(&self) -> Option<T> {
        let (state, session) = self.0.get()?;
        (state.read == server_setting::last_read()).then_some(session)
    }

    /// Forgets the session.
    pub fn clear(&self) {
        self.0.set(None);
    }

    /// Replaces the session.
    pub fn set(&self, session: T) {
        self.0.set(Some((State::now(), session)));
    }

    /// The session, which is started if there is none, or if the settings may have changed since it was.
    pub fn get_or_start(&self, start: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if let Some((state, session)) = self.0.get()
            && state == State::now()
        {
            return Ok(session);
        }
        let session = start()?;
        self.set(session);
        Ok(session)
    }
}

/// Fails without preloading, during recovery, which does not begin again, or with a misspelt setting.
pub fn check_server<S: Scheme>() -> Result<(), Error> {
    require_preload()?;
    if is_in_recovery() { Err(errors::recovery::<S>()) } else { server_setting::refuse_undefined(S::SETTING) }
}
