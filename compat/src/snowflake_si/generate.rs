//! `snowflake_si_new`. The server is one machine, and a machine has one generator.

use sno_core::{
    Epoch,
    compat::{
        SnowflakeSi,
        snowflake_si::{BaseClock, Millis},
    },
};

use crate::{
    generator::{
        backend_session::{self, SessionCell},
        scheme::Scheme,
        shared::Memory,
    },
    pg::{errors::Error, fmgr::export, server_setting::OfThisHost},
    settings::{BASE_CLOCK, MACHINE},
};

export! { snowflake_si_new }

/// The scheme Snowflake-SI, for its generator. Its ticks and marks count from the base clock. So after the base clock
/// was set to a later time, the clock counts as having stepped back.
#[derive(Clone, Copy)]
pub(crate) struct SnowflakeSiScheme(pub(crate) BaseClock);

impl Scheme for SnowflakeSiScheme {
    type Tick = Millis;

    const NAME: &'static str = "Snowflake-SI";
    const FUNCTION: &'static str = "snowflake_si_new()";
    const MARKS: &'static str = "sno_compat.snowflake_si.marks";
    const VIEW: &'static str = "sno_compat_generators";
    const SPAN: &'static str =
        "A Snowflake-SI ID holds times of 34 years and 10 months from its base clock on.";
    const ENDS: [&'static str; 2] = [
        "\"sno_compat.snowflake_si_base_clock\"",
        "the last millisecond from \"sno_compat.snowflake_si_base_clock\"",
    ];
    const CLOCK: &'static str = "\"sno_compat.snowflake_si_base_clock\" or the server's clock";
    const SETTING: &'static str = "sno_compat.snowflake_si_machine";

    fn epoch(self) -> Epoch {
        self.0.epoch()
    }
}

/// The server's generator.
pub(crate) static MEMORY: Memory<SnowflakeSiScheme, 1> = Memory::new(c"sno_compat Snowflake-SI generator");

type Session = backend_session::Session<SnowflakeSiScheme, 1>;

pub(crate) static SESSION: SessionCell<Session> = SessionCell::new();

fn start() -> Result<Session, Error> {
    let (base, OfThisHost(machine)) = (BASE_CLOCK.get()?, MACHINE.get()?);
    // The server has one generator. Its IDs differ from the IDs of other servers in the machine, which is in the pool.
    backend_session::start(SnowflakeSiScheme(base), &MEMORY, 0..=0, machine.number(), machine.pool())
}

/// `snowflake_si_new() → bigint`
fn snowflake_si_new() -> Result<i64, Error> {
    SESSION
        .get_or_start(start)
        .and_then(|session| backend_session::next(&session))
        .map(|stamp| SnowflakeSi::from_stamp(stamp).get() as i64)
}
