"""To Parquet and back: IDs as ten bytes, which Parquet sorts as PostgreSQL does. DuckDB reads the last hour."""

import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

path = str(Path(tempfile.mkdtemp()) / "events.parquet")

# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
with psycopg.connect(autocommit=True) as connection:
    connection.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), n integer)")
    connection.execute(
        "INSERT INTO events SELECT sno_new(1, now() - n * interval '1 minute'), n FROM generate_series(1, 1000) n"
    )

    rows = connection.execute("SELECT id::bytea, n FROM events ORDER BY id").fetchall()
    schema = pa.schema([("id", pa.binary(10)), ("n", pa.int32())])
    table = pa.table([list(column) for column in zip(*rows)], schema=schema)
    pq.write_table(table, path, row_group_size=100)

    # The smallest and largest ID of each row group are in the file, so readers skip the other groups.
    groups = [pq.ParquetFile(path).metadata.row_group(number).column(0).statistics for number in range(10)]
    assert all(one.max < next.min for one, next in zip(groups, groups[1:])), groups

    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    bound = connection.execute("SELECT sno_lower(%s)::bytea", [hour_ago]).fetchone()[0]
    query = "SELECT count(*), min(n), max(n) FROM read_parquet(?) WHERE id >= ?"
    found = duckdb.execute(query, [path, bound]).fetchone()
    assert found == (59, 1, 59), found

    back = pq.read_table(path).to_pydict()
    connection.execute("CREATE TABLE back (id sno PRIMARY KEY, n integer)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO back VALUES (%s::bytea::sno, %s)", list(zip(back["id"], back["n"])))
    differences = connection.execute("SELECT count(*) FROM events NATURAL FULL JOIN back").fetchone()[0]
    assert differences == 1000, differences

    # As text, the 16 characters sort in the same way.
    rows = connection.execute("SELECT id::text FROM events ORDER BY id").fetchall()
    assert [id for id, in rows] == sorted(id for id, in rows)
