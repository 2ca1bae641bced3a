//! Partitions, and the hash that some are by.

use super::{CHANGES, OfFile, PARTITIONS, REGRESS, Suite};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("shared/src/fixed_length/hash.rs", &[
        ("the hash has another seed", &[REGRESS],
            "T::LENGTH as c_int, seed as u64)", "T::LENGTH as c_int, seed as u64 ^ 1)"),
    ]),
    ("sql/sno/partitions.sql", &[
        ("a partition expires while rows are written into it, and not by its table", &[CHANGES],
            "THEN ', ' || p.partition END AS and_itself", "THEN '' END AS and_itself"),
        ("the retention is counted in the time zone of the session", &[PARTITIONS],
            "(today - retention) AT TIME ZONE 'UTC'",
            "now() - retention"),
        ("a new partition takes any index of the table's for its replica identity", &[REGRESS],
            "AND x.indisreplident AND y.indrelid",
            "AND y.indrelid"),
        ("the first partition begins in the time zone of the session", &[Suite("server", "partitions::the_time_ahead")],
            "    start timestamp := since AT TIME ZONE 'UTC';",
            "    start timestamp := since::timestamp;"),
        ("the expiry of partitions looks for names in the schemas of the session", &[Suite("server", "schemas::every_function")],
            "    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    child record;",
            "    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
AS $$
DECLARE
    child record;"),
        ("a partition expires a tick before all of it is read", &[CHANGES],
            "IF child.until > all_read THEN", "IF child.until > all_read + interval '4 ms' THEN"),
        ("a partition that ends within a tick ends before it", &[CHANGES],
            "THEN '4 ms'::interval ELSE", "THEN '0'::interval ELSE"),
        ("the log of changes does not follow partitions of a partition that are detached", &[CHANGES],
            "                coalesce(pg_partition_root(parent), parent)));\n", "                parent));\n"),
        ("partitions expire by age while a feed has read nothing", &[CHANGES],
            "read_by_all(parent)::timestamptz, '-infinity');\n    END IF;\n    FOR child", "read_by_all(parent)::timestamptz, 'infinity');\n    END IF;\n    FOR child"),
        ("partitions expire by what was read before the horizons were lowered", &[CHANGES],
            "IF child.until <= all_read AND all_read < 'infinity' THEN", "IF false THEN"),
        ("partitions that feeds have not read expire if nothing is said of feeds", &[CHANGES],
            "    IF read_by_all OR readers IS NOT NULL THEN\n", "    IF read_by_all THEN\n"),
    ]),
];
