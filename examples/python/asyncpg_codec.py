"""asyncpg: IDs as strings, and in binary with a codec."""

import asyncio
from datetime import datetime, timedelta, timezone

import asyncpg

import sno.asyncpg
from sno import Sno


async def main():
    connection = await asyncpg.connect()
    text = await connection.fetchval("SELECT sno_new(1)")
    assert isinstance(text, str) and len(text) == 16, text
    assert await connection.fetchval("SELECT array_agg(id) FROM unnest($1::sno[]) id", [text]) == [text]
    await connection.close()

    async with asyncpg.create_pool(init=sno.asyncpg.register, min_size=1, max_size=2) as pool:
        await pool.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")

        id = await pool.fetchval("INSERT INTO events (payload) VALUES ($1) RETURNING id", "first")
        await pool.fetchval("SELECT payload FROM events WHERE id = $1", id)
        await pool.fetch("SELECT payload FROM events WHERE id = ANY($1)", [id])

        assert isinstance(id, Sno) and id.fields.metabyte == 1, id
        assert abs(datetime.now(timezone.utc) - id.time) < timedelta(minutes=1), id.time
        row = await pool.fetchrow("SELECT id, id::text, id::bytea, NULL::sno FROM events WHERE id = $1", id)
        assert tuple(row) == (id, str(id), bytes(id), None), row
        old = [Sno.make(datetime(2010, 1, 2, tzinfo=timezone.utc), sequence=number) for number in range(5)]
        await pool.copy_records_to_table("events", records=[(each, "old") for each in old])
        found = await pool.fetchval("SELECT array_agg(id ORDER BY id) FROM events WHERE id = ANY($1)", old)
        assert found == old, found
        assert await pool.fetchval("SELECT $1::sno[]", [id, None]) == [id, None]

        # A kind's domain, and arrays of it.
        await pool.execute("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)")
        await pool.execute("CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
        await pool.execute("INSERT INTO kinds VALUES ($1, $2, $3)", id, [id], [id])
        row = await pool.fetchrow("SELECT * FROM kinds WHERE id = $1", id)
        assert tuple(row) == (id, [id], [id]), row

        hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
        found = await pool.fetch("SELECT id FROM events WHERE id >= $1::timestamptz", hour_ago)
        assert [row["id"] for row in found] == [id], found


asyncio.run(main())
