//! One key, made in a query.

use std::error::Error;

use crate::report::{Figure, Section, Series, Unit};
use crate::run::{Bench, Budget};

/// A call that makes a key.
struct Contender {
    name: String,
    call: String,
    /// Calls in one sample.
    rows: usize,
    /// Whether it takes an argument, as one of the two functions that do nothing does.
    argument: bool,
}

/// Functions of the server that return what they have at hand, declared volatile like what they are compared with.
const NOTHING: &str = "
    CREATE FUNCTION nothing() RETURNS integer LANGUAGE internal VOLATILE STRICT PARALLEL SAFE AS 'pg_backend_pid';
    CREATE FUNCTION nothing(integer) RETURNS integer LANGUAGE internal VOLATILE STRICT PARALLEL SAFE AS 'int4up';";

/// A ULID as text, as it is made where no extension can be installed: 48 bits of time and 80 random bits (two times
/// 40 of a version 4 UUID that are neither its version nor its variant) as 26 digits.
const TEXT_ULID: &str = "
    CREATE FUNCTION text_ulid() RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
    DECLARE
        digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
        random constant text := replace(gen_random_uuid()::text, '-', '');
        parts constant bigint[] := ARRAY[
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            ('x' || lpad(substr(random, 1, 10), 16, '0'))::bit(64)::bigint,
            ('x' || lpad(substr(random, 23, 10), 16, '0'))::bit(64)::bigint];
        lengths constant integer[] := ARRAY[10, 8, 8];
        ulid text := '';
    BEGIN
        FOR part IN 1..3 LOOP
            FOR place IN REVERSE lengths[part] - 1 .. 0 LOOP
                ulid := ulid || substr(digits, 1 + (parts[part] >> 5 * place & 31)::integer, 1);
            END LOOP;
        END LOOP;
        RETURN ulid;
    END $$;";

/// Extensions that make keys: what they are called, what has to be done first, the call.
const PEERS: [(&str, &str, &str, bool); 5] = [
    ("ulid", "", "gen_ulid()", false),
    ("pgx_ulid", "", "gen_ulid()", false),
    ("pg_ulid", "", "gen_ulid()", false),
    ("pg_uuidv7", "", "uuid_generate_v7()", false),
    ("snowflake", "CREATE SEQUENCE snowflakes", "snowflake.nextval('snowflakes'::regclass)", true),
];

pub(crate) fn section(bench: &mut Bench, budget: Budget) -> Result<Option<Section>, Box<dyn Error>> {
    let mut remarks = Vec::new();
    bench.run(NOTHING);
    bench.run(TEXT_ULID);
    bench.run("CREATE SEQUENCE plain; CREATE SEQUENCE cached CACHE 1000");

    let rows = bench.size.generation_rows;
    let contender =
        |name: &str, call: &str, argument| Contender { name: name.into(), call: call.into(), rows, argument };
    let mut contenders = vec![
        contender("nothing, no argument", "nothing()", false),
        contender("nothing, one argument", "nothing(1)", true),
        contender("sno_new(1)", "sno_new(1)", true),
        contender("clock_timestamp()", "clock_timestamp()", false),
        contender("nextval", "nextval('plain'::regclass)", true),
        contender("nextval, CACHE 1000", "nextval('cached'::regclass)", true),
        contender("gen_random_uuid()", "gen_random_uuid()", false),
    ];
    if bench.ask("SELECT to_regprocedure('uuidv7()') IS NOT NULL") == "t" {
        contenders.push(contender("uuidv7()", "uuidv7()", false));
    }
    for (extension, prepare, call, argument) in PEERS {
        if bench.ask(&format!("SELECT count(*) FROM pg_available_extensions WHERE name = '{extension}'"))
            == "0"
        {
            continue;
        }
        // A guest that does not work here is not this run's failure.
        let ready = bench
            .client
            .batch_execute(&format!("CREATE EXTENSION {extension} CASCADE; {prepare}; SELECT {call}"));
        match ready {
            Ok(()) => {
                let version =
                    bench.ask(&format!("SELECT extversion FROM pg_extension WHERE extname = '{extension}'"));
                let name = call.split_once('(').map_or(call, |(name, _)| name);
                contenders.push(contender(&format!("{name}, {extension} {version}"), call, argument));
            }
            Err(error) => {
                remarks.push(format!("The extension {extension} is there, but does not work: {error}."))
            }
        }
    }
    contenders
        .push(Contender { rows: rows / 10, ..contender("text ULID in PL/pgSQL", "text_ulid()", false) });

    let nanoseconds = |bench: &mut Bench, contender: &Contender| {
        let query = format!("SELECT count({}) FROM generate_series(1, {})", contender.call, contender.rows);
        bench.time(&query) / contender.rows as f64 * 1e9
    };
    for contender in &contenders {
        nanoseconds(bench, contender);
    }
    // Short samples, and many: what disturbs some of them leaves the median alone.
    bench.size.rounds = (bench.size.rounds.0 * 5, bench.size.rounds.1 * 5);
    let samples = bench.rounds("generation", budget, &contenders, nanoseconds);

    let (nothing, samples) = samples.split_at(2);
    let [none, one] = [0, 1].map(|argument| Series::new("nothing", nothing[argument].clone()).median);
    remarks.push(format!(
        "The query alone, with a function that does nothing, takes {} a row without an argument and {} with one.",
        Unit::Nanoseconds.show(none),
        Unit::Nanoseconds.show(one)
    ));
    let series = contenders[2..]
        .iter()
        .zip(samples)
        .map(|(contender, samples)| {
            let nothing = &nothing[usize::from(contender.argument)];
            let net = samples.iter().zip(nothing).map(|(sample, nothing)| sample - nothing).collect();
            Series::new(&contender.name, net)
        })
        .collect();
    Ok(Some(Section {
        name: "generation".into(),
        title: "Making a key".into(),
        method: format!(
            "`SELECT count(f()) FROM generate_series(1, {rows})`, less the same with a function that does nothing: \
             a copy of `pg_backend_pid()` for functions without an argument, of the plus sign of `integer` for those \
             with one. Subtracted round by round."
        ),
        figures: vec![Figure::new("One key, net of the query around it", Unit::Nanoseconds, series)],
        remarks,
    }))
}
