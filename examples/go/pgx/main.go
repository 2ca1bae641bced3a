// pgx, version 5: IDs as strings and as values of the package sno; in binary and in arrays once the connection knows the type.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"sno"
	"sno/snopgx"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func check(fact bool, what ...any) {
	if !fact {
		log.Panicln(what...)
	}
}

func must(err error) {
	check(err == nil, err)
}

func must1[T any](value T, err error) T {
	must(err)
	return value
}

func main() {
	ctx := context.Background()
	// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
	conn, err := pgx.Connect(ctx, "")
	must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
	must(err)

	var text, payload string
	err = conn.QueryRow(ctx, "INSERT INTO events (payload) VALUES ($1) RETURNING id", "first").Scan(&text)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = $1", text).Scan(&payload)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = ANY($1::text[]::sno[])", []string{text}).Scan(&payload)
	must(err)

	check(len(text) == 16 && payload == "first", text, payload)
	var texts []string
	must(conn.QueryRow(ctx, "SELECT array_agg(id)::text[] FROM events").Scan(&texts))
	check(len(texts) == 1 && texts[0] == text, texts)
	// Ten bytes, both ways.
	var raw []byte
	must(conn.QueryRow(ctx, "SELECT id::bytea FROM events WHERE id = $1", text).Scan(&raw))
	check(len(raw) == 10, raw)
	must(conn.QueryRow(ctx, "SELECT id::text FROM events WHERE id = $1", raw).Scan(&texts[0]))
	check(texts[0] == text, texts)

	// Without registration, as texts.
	var plain sno.ID
	must(conn.QueryRow(ctx, "SELECT id FROM events WHERE id = $1", must1(sno.Parse(text))).Scan(&plain))
	check(plain.String() == text, plain)

	// A kind's domain, and arrays of it.
	_, err = conn.Exec(ctx, "CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1);"+
		"CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
	must(err)
	_, err = conn.Exec(ctx, "INSERT INTO kinds VALUES ($1, $2::text[]::sno[], $2::text[]::sno[])", text, []string{text})
	must(err)
	must(conn.QueryRow(ctx, "SELECT id, others::text[] FROM kinds WHERE id = $1", text).Scan(&plain, &texts))
	check(plain.String() == text && len(texts) == 1 && texts[0] == text, plain, texts)

	err = snopgx.Register(ctx, conn)
	must(err)
	var id sno.ID
	err = conn.QueryRow(ctx, "INSERT INTO events (payload) VALUES ($1) RETURNING id", "second").Scan(&id)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = $1 AND id = ANY($2)", id, []sno.ID{id}).Scan(&payload)
	must(err)

	age := time.Since(id.Time())
	check(payload == "second" && age > -time.Minute && age < time.Minute, id, age)
	must(conn.QueryRow(ctx, "SELECT id::text FROM events WHERE id = $1", id).Scan(&text))
	check(text == id.String(), text, id)

	// Arrays and NULL.
	old := []sno.ID{{4: 2}, {4: 4}, {4: 4, 9: 1}, {4: 6}}
	_, err = conn.Exec(ctx, "INSERT INTO events SELECT id, 'old' FROM unnest($1::sno[]) id", old)
	must(err)
	var ids []sno.ID
	must(conn.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM events").Scan(&ids))
	check(len(ids) == 6 && ids[5] == id && ids[2] == old[2], ids)
	var none *sno.ID
	must(conn.QueryRow(ctx, "SELECT NULL::sno WHERE $1::sno IS NULL", none).Scan(&none))
	check(none == nil, none)

	// A kind's domain, and arrays of it.
	_, err = conn.Exec(ctx, "INSERT INTO kinds VALUES ($1, $2, $3)", id, []sno.ID{id}, []sno.ID{id})
	must(err)
	var others, plains []sno.ID
	must(conn.QueryRow(ctx, "SELECT others, plain FROM kinds WHERE id = $1", id).Scan(&others, &plains))
	check(len(others) == 1 && len(plains) == 1 && others[0] == id && plains[0] == id, others, plains)

	// A range of time.
	var count int
	hourAgo := time.Now().Add(-time.Hour)
	must(conn.QueryRow(ctx, "SELECT count(*) FROM events WHERE id >= $1", sno.LowerBound(hourAgo)).Scan(&count))
	check(count == 2, count)
	must(conn.QueryRow(ctx, "SELECT count(*) FROM events WHERE id >= $1::timestamptz", hourAgo).Scan(&count))
	check(count == 2, count)

	// Many rows at once, in binary.
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"events"}, []string{"id", "payload"},
		pgx.CopyFromRows([][]any{{sno.ID{4: 8}, "copied"}, {sno.ID{4: 10}, "copied"}}))
	must(err)
	check(copied == 2, copied)

	var failure *pgconn.PgError
	_, err = conn.Exec(ctx, "SELECT id FROM events WHERE id = '9Q7K4OP826N2G222'")
	check(errors.As(err, &failure) && failure.Code == "22P02", err)
}
