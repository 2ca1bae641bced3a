//! Who takes part: types of key, and functions that make keys. A contender is a name, and words that it puts into the
//! SQL of a section.

use std::error::Error;

use sno_tests::Server;
use sno_tests::postgres::Client;

/// Words, and what they stand for.
pub(crate) type Words = &'static [(&'static str, &'static str)];

/// Names, and what stands for `{it}` and `{with}`.
pub(crate) type List = &'static [(&'static str, &'static str, &'static str)];

/// All types of key, the one first that the others are compared with. One more type is one more entry: its name, and
/// what it has of these words. It takes part in whatever it has the words for.
///
/// - `type` of its columns
/// - `default`, with which a column is declared
/// - `value`, the key of row `n`, made `at` a time
/// - `moment`, the key of a row of `moments` (see [`FUNCTIONS`])
/// - `timed`, the expression for its time; a table of other keys needs a column `created_at` for that
/// - `lower`, the function for a bound of such keys, if they can't be compared with a time
const KEYS: &[(&str, Words)] = &[
    (
        "sno",
        &[
            ("type", "sno"),
            ("default", "DEFAULT sno_new(1)"),
            ("value", "sno_new(1, at)"),
            ("moment", "sno_make(at, 1, 42 << 8 | generator, sequence)"),
            ("timed", "sno_time(id)"),
        ],
    ),
    (
        "uuid v4",
        &[
            ("type", "uuid"),
            ("default", "DEFAULT gen_random_uuid()"),
            ("value", "gen_random_uuid()"),
            ("moment", "overlay(overlay(random PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid"),
        ],
    ),
    (
        "uuid v7",
        &[
            ("type", "uuid"),
            // From PostgreSQL 18 on.
            ("default", "DEFAULT uuidv7()"),
            ("value", "uuidv7(at - clock_timestamp())"),
            ("timed", "uuid_extract_timestamp(id)"),
            ("lower", "uuidv7_lower"),
            (
                "moment",
                "(lpad(to_hex(ms), 12, '0') || '7' || left(random, 3) || '8' || right(random, 15))::uuid",
            ),
        ],
    ),
    ("bigint", &[("type", "bigint"), ("value", "n"), ("moment", "n::bigint")]),
    ("bigint identity", &[("type", "bigint"), ("default", "GENERATED ALWAYS AS IDENTITY")]),
];

/// What sections use: functions that do nothing, declared as volatile as what they
/// are compared with; `moments`, of so many seconds in random order, where `n` is the place in the order of time, and IDs are as
/// eight generators would have made them; the least key of version 7 of a time.
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
    CREATE FUNCTION uuidv7_lower(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid $$";

/// Who takes part in something.
pub(crate) struct Contender {
    /// What readers call it.
    pub(crate) name: String,
    /// Its words. One may be in what an earlier one stands for.
    pub(crate) words: Vec<(&'static str, String)>,
}

/// A table of keys alone.
const ALONE: Words =
    &[("created_at", ""), ("at", ""), ("time", "id"), ("lower", ""), ("index", ""), ("t", "{key}_keys")];
/// A table of keys, whose time is asked for by an expression.
const EXPRESSED: Words = &[
    ("created_at", ""),
    ("at", ""),
    ("time", "{timed}"),
    ("lower", ""),
    ("index", ""),
    ("t", "{key}_timed"),
];
/// A table of keys with the time of each row.
const DATED: Words = &[
    ("created_at", ", created_at timestamptz NOT NULL DEFAULT clock_timestamp()"),
    ("at", ", at"),
    ("time", "created_at"),
    ("lower", ""),
    ("index", "CREATE INDEX ON {t} (created_at)"),
    ("t", "{key}_dated"),
];

impl Contender {
    fn new(name: &str, suffix: &str, key: Words, table: Words) -> Self {
        // A bound of such keys is for the keys themselves.
        let own = key.iter().filter(|(word, _)| table != EXPRESSED || *word != "lower");
        // The expression is what a word of the table stands for.
        let timed = key.iter().filter(|(word, _)| *word == "timed");
        let words = own.chain(table).chain(timed).map(|(word, text)| (*word, (*text).to_owned()));
        let key = ("key", name.replace(' ', "_").to_lowercase());
        Self { name: format!("{name}{suffix}"), words: words.chain([key]).collect() }
    }

    /// SQL with the words in their places.
    pub(crate) fn fill(&self, text: &str) -> String {
        let replace = |text: String, (word, to): &(&str, String)| text.replace(&format!("{{{word}}}"), to);
        let filled = self.words.iter().fold(text.to_owned(), replace);
        debug_assert!(!filled.contains(['{', '}']), "{}: {filled}", self.name);
        filled
    }

    /// Adds words that stand for what queries return.
    pub(crate) fn ask(&mut self, client: &mut Client, words: Words) -> Result<(), Box<dyn Error>> {
        for (word, query) in words {
            let answer = client.query_one(&self.fill(query), &[])?.get(0);
            self.words.push((word, answer));
        }
        Ok(())
    }

    /// Runs SQL in a session of its own.
    pub(crate) fn run(&self, server: &Server, sql: &str) -> Result<(), Box<dyn Error>> {
        let (sql, output) = (self.fill(sql), server.psql(&self.fill(sql)));
        let complaint = || format!("{sql}: {}", String::from_utf8_lossy(&output.stderr));
        output.status.success().then_some(()).ok_or_else(|| complaint().into())
    }
}

/// Who takes part in a figure.
#[derive(Clone, Copy)]
pub(crate) enum Contenders {
    /// Keys that have this word.
    Keys(&'static str),
    /// The same in tables that know the time of a row.
    Dated(&'static str),
    /// These, and those whose time is asked for by an expression.
    Timed(&'static str),
    /// Both.
    DatedAndAlone(&'static str),
    /// These.
    Listed(List),
}

impl Contenders {
    /// Those that this server can have, with words that all of them share.
    pub(crate) fn on(self, client: &mut Client, words: &[(&'static str, String)]) -> Vec<Contender> {
        // A call of a function that is not there does not take part.
        let mut works = |sql: &str| {
            let query = format!("SELECT {sql} FROM now() at, generate_series(1, 1) n");
            !sql.ends_with(')') || client.batch_execute(&query).is_ok()
        };
        let has =
            |words: Words, wanted| words.iter().find(|(word, _)| *word == wanted).map(|(_, text)| *text);
        let mut contenders = Vec::new();
        let (wanted, dated, alone) = match self {
            Self::Keys(word) => (word, false, true),
            Self::Dated(word) | Self::Timed(word) => (word, true, false),
            Self::DatedAndAlone(word) => (word, true, true),
            Self::Listed(list) => {
                for (name, it, with) in list.iter().filter(|(_, it, _)| works(it)) {
                    let words = vec![("it", (*it).into()), ("with", (*with).into())];
                    contenders.push(Contender { name: (*name).into(), words });
                }
                ("", false, false)
            }
        };
        let there = |(_, key): &&(&str, Words)| {
            has(key, wanted).is_some() && (wanted == "moment" || has(key, "value").is_none_or(&mut works))
        };
        let keys: Vec<_> = KEYS.iter().filter(there).collect();
        for (name, key) in keys.iter().filter(|_| dated) {
            let timed = has(key, "timed").is_some();
            let suffix = if timed { "" } else { ", created_at with an index" };
            contenders.push(Contender::new(name, suffix, key, if timed { ALONE } else { DATED }));
        }
        for (name, key) in keys.iter().filter(|_| matches!(self, Self::Timed(_))) {
            if let Some(expression) = has(key, "timed") {
                contenders.push(Contender::new(name, &format!(", {expression}"), key, EXPRESSED));
            }
        }
        for (name, key) in keys.iter().filter(|(_, key)| alone && !(dated && has(key, "timed").is_some())) {
            contenders.push(Contender::new(name, if dated { " alone" } else { "" }, key, ALONE));
        }
        contenders.iter_mut().for_each(|contender| contender.words.extend(words.iter().cloned()));
        contenders
    }
}
