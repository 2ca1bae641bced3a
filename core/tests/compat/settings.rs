//! What a site chooses: the base clock, and the numbers of machines, workers, clusters and generators.

use proptest::prelude::*;
use sno_core::OfOneServer as _;
use sno_core::compat::{
    snowflake_si::{BaseClock, Machine},
    uid60,
    uniqueid::{self, Form},
};

proptest! {
    #[test]
    fn settings_of_any_text(text in "[0-9]{1,4}[/-][0-9]{1,4}|20[0-9-]{8}T[0-9:]{8}[.0-9]{0,4}Z|.{0,20}") {
        if let Ok(machine) = text.parse::<Machine>() {
            prop_assert_eq!(Machine::new(machine.number(), machine.bits()), Ok(machine));
            prop_assert!(machine.pool().upper() < 1 << 13);
        }
        if let Ok(workers) = text.parse::<uid60::Workers>() {
            prop_assert_eq!(uid60::Workers::new(*workers.numbers().start(), *workers.numbers().end()), Ok(workers));
        }
        if let Ok(base) = text.parse::<BaseClock>() {
            prop_assert_eq!(BaseClock::new(base.unix_millis()), Ok(base));
        }
    }
}

#[test]
fn settings() {
    let base = |text: &str| text.parse::<BaseClock>().map_err(|error| error.to_string());
    assert_eq!(base("2020-01-01T00:00:00Z").unwrap().unix_millis(), 1_577_836_800_000);
    assert_eq!(base("2003-03-18T07:20:19.225Z").unwrap().unix_millis(), 1_047_972_019_225);
    let early = "a base clock is after 2003-03-18T07:20:19.224Z";
    assert_eq!(base("2003-03-18T07:20:19.224Z").unwrap_err(), early);
    assert_eq!(base("1970-01-01T00:00:00Z").unwrap_err(), early);
    assert_eq!(base("").unwrap_err(), "a site chooses its base clock before its first ID");
    assert!(base("2020-01-01T00:00:00.0001Z").unwrap_err().contains("exact to the millisecond"));
    for text in ["2020-01-01", "yesterday", "2020-13-01T00:00:00Z", "2020-01-01T00:00:00+01:00"] {
        assert!(base(text).unwrap_err().starts_with("expected a time in UTC"), "{text}");
    }

    let machine = |text: &str| text.parse::<Machine>().map_err(|error| error.to_string());
    assert_eq!(machine("12/4"), Ok(Machine::new(12, 4).unwrap()));
    assert_eq!(machine("31"), Ok(Machine::new(31, 5).unwrap()));
    assert_eq!(machine("0/0"), Ok(Machine::new(0, 0).unwrap()));
    for text in ["32", "16/4", "1/0", "4096/12", "70000/12"] {
        assert_eq!(machine(text).unwrap_err(), "the number of a machine has to fit its bits", "{text}");
    }
    assert_eq!(machine("0/13").unwrap_err(), "a machine has 0 to 12 bits");
    for text in ["", "x", "1/", "/5", "-1", "1/2/3"] {
        assert!(machine(text).unwrap_err().starts_with("expected a number"), "{text}");
    }
    let pool = Machine::new(12, 4).unwrap().pool();
    assert_eq!((pool.lower(), pool.upper()), (12 << 9, (13 << 9) - 1));
    let pool = Machine::new(4095, 12).unwrap().pool();
    assert_eq!((pool.lower(), pool.upper()), (8190, 8191));

    let workers = |text: &str| text.parse::<uid60::Workers>().map_err(|error| error.to_string());
    assert_eq!(workers("0-511").unwrap().numbers(), 0..=511);
    assert_eq!(workers("7-7").unwrap().numbers(), 7..=7);
    assert_eq!(workers("0-512").unwrap_err(), "a worker is between 0 and 511");
    assert_eq!(workers("8-7").unwrap_err(), "there is at least one worker");
    assert!(workers("8").unwrap_err().starts_with("expected the first and the last worker"));

    for (text, good) in
        [("0", true), ("15", true), ("16", false), ("65536", false), ("", false), ("x", false)]
    {
        assert_eq!(text.parse::<uniqueid::Cluster>().is_ok(), good, "{text}");
    }
    for (text, good) in [("6", true), ("11", true), ("5", false), ("12", false), ("262", false), ("", false)]
    {
        assert_eq!(text.parse::<uniqueid::GeneratorBits>().is_ok(), good, "{text}");
    }
    assert_eq!("spread".parse::<Form>(), Ok(Form::default()));
    assert!("Spread".parse::<Form>().is_err());
}
