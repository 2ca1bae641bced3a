//! Who takes part: types of key, and functions that make keys. A contender is a name, and words that it puts into the
//! statements of a section.

use std::error::Error;

use sno_tests::Server;
use sno_tests::postgres::Client;

/// A type of key, in SQL. It takes part in whatever it has the means for; one more type is one more of [`KEYS`].
struct Key {
    /// What readers call it.
    name: &'static str,
    sql_type: &'static str,
    /// What a column of rows that come without a key is declared with.
    default: &'static str,
    /// The key of row `n`, made at the time `at`.
    value: &'static str,
    /// The key of a row of `moments`, one of the [`FUNCTIONS`].
    moment: &'static str,
    /// Whether it tells its time; a table of other keys needs the column `created_at` for that.
    timed: bool,
}

const NONE: Key = Key { name: "", sql_type: "", default: "", value: "", moment: "", timed: false };

/// All types of key. The first is the one that the others are compared with.
const KEYS: &[Key] = &[
    Key {
        name: "sno",
        sql_type: "sno",
        default: "DEFAULT sno_new(1)",
        value: "sno_new(1, at)",
        moment: "sno_make(at, 1, 42 << 8 | generator, sequence)",
        timed: true,
    },
    Key {
        name: "uuid v4",
        sql_type: "uuid",
        default: "DEFAULT gen_random_uuid()",
        value: "gen_random_uuid()",
        moment: "overlay(overlay(random PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid",
        ..NONE
    },
    Key {
        name: "uuid v7",
        sql_type: "uuid",
        // From PostgreSQL 18 on.
        default: "DEFAULT uuidv7()",
        value: "uuidv7(at - clock_timestamp())",
        moment: "(lpad(to_hex(ms), 12, '0') || '7' || left(random, 3) || '8' || right(random, 15))::uuid",
        ..NONE
    },
    Key { name: "bigint", sql_type: "bigint", value: "n", moment: "n", ..NONE },
    Key { name: "bigint identity", sql_type: "bigint", default: "GENERATED ALWAYS AS IDENTITY", ..NONE },
    Key {
        name: "bigint identity with CACHE 1000",
        sql_type: "bigint",
        default: "GENERATED ALWAYS AS IDENTITY (CACHE 1000)",
        ..NONE
    },
    Key { name: "text ULID", sql_type: "text", moment: "ulid(ms, random)", ..NONE },
];

/// What sections use: functions that do nothing, declared as volatile as what they are compared with; `moments`, of so
/// many seconds in random order, where `n` is the place in the order of time, and IDs are as eight generators would have
/// made them; a ULID as it is made where no extension can be installed.
pub(crate) const FUNCTIONS: &str = "
    CREATE FUNCTION nothing() RETURNS integer LANGUAGE internal STRICT AS 'pg_backend_pid';
    CREATE FUNCTION nothing(integer) RETURNS integer LANGUAGE internal STRICT AS 'int4up';
    CREATE FUNCTION moments(rows integer, seconds integer)
    RETURNS TABLE (n integer, at timestamptz, ms bigint, generator integer, sequence integer, random text) AS $$
    SELECT n, at, floor(extract(epoch FROM at) * 1000), generator,
           row_number() OVER (PARTITION BY floor(extract(epoch FROM at) * 250), generator) - 1, md5(n::text)
    FROM (SELECT row_number() OVER (ORDER BY at) AS n, at, floor(random() * 8)::integer AS generator
          FROM (SELECT timestamptz '2023-01-01Z' + random() * seconds * interval '1 s' AS at
                FROM setseed(0.5), generate_series(1, rows)) n) n
    ORDER BY hashint8(n) $$ LANGUAGE sql;
    CREATE FUNCTION digit(ms bigint, shift integer) RETURNS text LANGUAGE sql AS
    $$ SELECT substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (ms >> shift & 31)::integer, 1) $$;
    CREATE FUNCTION ulid(ms bigint, random text) RETURNS text LANGUAGE sql AS
    $$ SELECT digit(ms, 45) || digit(ms, 40) || digit(ms, 35) || digit(ms, 30) || digit(ms, 25) || digit(ms, 20)
              || digit(ms, 15) || digit(ms, 10) || digit(ms, 5) || digit(ms, 0) || upper(left(random, 16)) $$";

/// What a contender is called, and what stands for `{it}` and `{with}`.
pub(crate) type Words = (&'static str, &'static str, &'static str);

const ULID: &str =
    "ulid((extract(epoch FROM clock_timestamp()) * 1000)::bigint, replace(gen_random_uuid()::text, '-', ''))";

/// Functions that make a key: what readers call them, the call, and one like it that does nothing.
const CALLS: &[Words] = &[
    ("sno_new(1)", "sno_new(1)", "nothing(1)"),
    ("clock_timestamp()", "clock_timestamp()", "nothing()"),
    ("nextval", "nextval('plain'::regclass)", "nothing(1)"),
    ("nextval, CACHE 1000", "nextval('cached'::regclass)", "nothing(1)"),
    ("gen_random_uuid()", "gen_random_uuid()", "nothing()"),
    ("uuidv7()", "uuidv7()", "nothing()"),
    ("gen_ulid of an extension", "gen_ulid()", "nothing()"),
    ("uuid_generate_v7 of pg_uuidv7", "uuid_generate_v7()", "nothing()"),
    ("snowflake.nextval", "snowflake.nextval('snowflakes'::regclass)", "nothing(1)"),
    ("text ULID in SQL", ULID, "nothing()"),
];

/// Who takes part in something.
pub(crate) struct Contender {
    /// What readers call it.
    pub(crate) name: String,
    /// What stands for each `{word}` in a statement. The words of one may be in that of an earlier one.
    pub(crate) words: Vec<(&'static str, String)>,
}

impl Contender {
    /// A statement, or any other text, with the words in their places.
    pub(crate) fn fill(&self, text: &str) -> String {
        let replace = |text: String, (word, to): &(&str, String)| text.replace(&format!("{{{word}}}"), to);
        let filled = self.words.iter().fold(text.to_owned(), replace);
        debug_assert!(!filled.contains(['{', '}']), "{}: {filled}", self.name);
        filled
    }

    /// Runs SQL in a session of its own.
    pub(crate) fn run(&self, server: &Server, sql: &str) -> Result<(), Box<dyn Error>> {
        let (sql, output) = (self.fill(sql), server.psql(&self.fill(sql)));
        let complaint = || format!("{sql}: {}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(()).ok_or_else(|| complaint().into())
    }

    /// A key's words. With `created_at` its table has that column and an index on it, unless the key tells its time.
    fn new(key: &Key, created_at: bool, name: String) -> Self {
        let mut words = vec![
            ("type", key.sql_type),
            ("default", key.default),
            ("value", key.value),
            ("moment", key.moment),
        ];
        words.extend(if created_at && !key.timed {
            [
                ("created_at", ", created_at timestamptz NOT NULL DEFAULT clock_timestamp()"),
                ("at", ", at"),
                ("time", "created_at"),
                ("index", "CREATE INDEX ON {t} (created_at)"),
                ("t", "{key}_dated"),
            ]
        } else {
            [("created_at", ""), ("at", ""), ("time", "id"), ("index", ""), ("t", "{key}_keys")]
        });
        let mut words: Vec<_> = words.into_iter().map(|(word, text)| (word, text.to_owned())).collect();
        words.push(("key", key.name.replace(' ', "_").to_lowercase()));
        Self { name, words }
    }
}

/// Who takes part in a figure.
#[derive(Clone, Copy)]
pub(crate) enum Contenders {
    /// Keys of given moments.
    Moments,
    /// Keys that a column has by default.
    Defaults,
    /// The same in tables that know the time of a row, and then alone.
    DefaultsAndTime,
    /// Keys that a query makes.
    Values,
    /// The same in tables that know the time of a row.
    ValuesAndTime,
    /// Functions that make a key, with one that does nothing.
    Calls,
    /// Others.
    Listed(&'static [Words]),
}

impl Contenders {
    /// Those that this server can have, with words that all of them share.
    pub(crate) fn on(self, client: &mut Client, words: &[(&'static str, String)]) -> Vec<Contender> {
        let mut works = |it: &str| {
            client.batch_execute(&format!("SELECT {it} FROM now() at, generate_series(1, 1) n")).is_ok()
        };
        let has: fn(&&Key) -> bool = match self {
            Self::Moments => |key| !key.moment.is_empty(),
            Self::Defaults | Self::DefaultsAndTime => |key| !key.default.is_empty(),
            _ => |key| !key.value.is_empty(),
        };
        let mut keys: Vec<&Key> = KEYS.iter().filter(has).collect();
        if !matches!(self, Self::Moments) {
            keys.retain(|key| key.value.is_empty() || works(key.value));
        }
        let plain = |key: &&Key| Contender::new(key, false, key.name.into());
        let timed = |key: &&Key| match key.timed {
            true => plain(key),
            false => Contender::new(key, true, format!("{}, created_at with an index", key.name)),
        };
        let alone = |key: &&Key| Contender::new(key, false, format!("{} alone", key.name));
        let listed = |(name, it, with): &Words| Contender {
            name: (*name).into(),
            words: vec![("it", (*it).into()), ("with", (*with).into())],
        };
        let mut contenders: Vec<Contender> = match self {
            Self::Calls => CALLS.iter().filter(|(_, call, _)| works(call)).map(listed).collect(),
            Self::Listed(list) => list.iter().map(listed).collect(),
            Self::ValuesAndTime => keys.iter().map(timed).collect(),
            Self::DefaultsAndTime => {
                keys.iter().map(timed).chain(keys.iter().filter(|key| !key.timed).map(alone)).collect()
            }
            _ => keys.iter().map(plain).collect(),
        };
        contenders.iter_mut().for_each(|contender| contender.words.extend(words.iter().cloned()));
        contenders
    }
}
