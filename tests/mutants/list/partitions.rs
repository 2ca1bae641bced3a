//! Partitions.

use super::{CHANGES, OfFile, PARTITIONS, REGRESS, Suite};

#[rustfmt::skip]
pub(super) const MUTANTS: &[OfFile] = &[
    ("sql/sno/partitions.sql", &[
        ("a partition expires while rows are written into it, and not by its table", &[CHANGES],
            "THEN ', ' || p.partition END AS and_itself", "THEN '' END AS and_itself"),
        ("the retention is counted in the time zone of the session", &[PARTITIONS],
            "(today - retention) AT TIME ZONE 'UTC'",
            "now() - retention"),
        ("a new partition takes any index of the table's for its replica identity", &[REGRESS],
            "AND x.indisreplident AND y.indrelid",
            "AND y.indrelid"),
        ("upkeep waits for locks without a limit", &[Suite("server", "partitions::upkeep_gives_way")],
            "set_config('lock_timeout', '500ms', true)",
            "set_config('lock_timeout', '0', true)"),
        ("upkeep leaves its limit for locks to the caller's transaction", &[Suite("server", "partitions::the_caller_s_lock")],
            "    PERFORM set_config('lock_timeout', timeout, true);\n",
            ""),
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
        ("the length of a partitioned table's name is counted in characters", &[PARTITIONS],
            "octet_length(parent_name) > 43", "length(parent_name) > 43"),
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
        ("a view of a partition that would be dropped stops upkeep", &[CHANGES],
            "EXCEPTION WHEN dependent_objects_still_exist OR", "EXCEPTION WHEN"),
        ("a foreign key of another role stops upkeep", &[CHANGES],
            " OR insufficient_privilege THEN", " THEN"),
        ("a foreign key of a table that can be read stops upkeep", &[CHANGES],
            " OR foreign_key_violation OR", " OR"),
        ("old partitions that are in use keep new ones from coming", &[PARTITIONS],
            "EXCEPTION WHEN lock_not_available OR object", "EXCEPTION WHEN object"),
        ("upkeep waits for the readers of a partition that was detached", &[CHANGES],
            "            PERFORM sno_internal.alter_partitions(format('SELECT sno_internal.log_changed_partitions(%L)',\n                coalesce(pg_partition_root(parent), parent)));\n            IF drop", "            PERFORM sno_internal.log_changed_partitions(coalesce(pg_partition_root(parent), parent));\n            IF drop"),
        ("a partition of another owner does not expire", &[CHANGES],
            " AND pg_has_role(c.relowner, 'USAGE') THEN ', '", " THEN ', '"),
        ("partitions that feeds have not read expire if nothing is said of feeds", &[CHANGES],
            "    IF read_by_all OR readers IS NOT NULL THEN\n", "    IF read_by_all THEN\n"),
        ("partitions are kept for feeds that do not count", &[CHANGES],
            "    IF read_by_all IS NULL THEN\n", "    IF true THEN\n"),
    ]),
];
