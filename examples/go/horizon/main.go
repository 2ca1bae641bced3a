// A feed that misses nothing: from one horizon to the next, each row once, also those that commit late. With pgx, version 5.
package main

import (
	"context"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
)

// batch returns the rows from the last horizon to the present one, which is the next to begin with.
func batch(ctx context.Context, conn *pgx.Conn, last string) ([]string, string, error) {
	// Two statements, each of which sees what was committed before it.
	var horizon string
	if err := conn.QueryRow(ctx, "SELECT sno_horizon('0.1 s')::text").Scan(&horizon); err != nil {
		return nil, last, err
	}
	query := "SELECT payload FROM events WHERE id >= $1::text::sno AND id < $2::text::sno ORDER BY id"
	rows, err := conn.Query(ctx, query, last, horizon)
	if err != nil {
		return nil, last, err
	}
	payloads, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, last, err
	}
	return payloads, max(last, horizon), nil
}

func must(err error) {
	if err != nil {
		log.Panicln(err)
	}
}

func main() {
	ctx := context.Background()
	var conns [3]*pgx.Conn
	for i := range conns {
		conn, err := pgx.Connect(ctx, "")
		must(err)
		defer conn.Close(ctx)
		conns[i] = conn
	}
	reader, late, early := conns[0], conns[1], conns[2]
	exec := func(conn *pgx.Conn, sql string) {
		_, err := conn.Exec(ctx, sql)
		must(err)
	}
	// Keep the horizon where the results of the rows are, in one transaction with them.
	last := "2222222222222222"
	expect := func(expected ...string) {
		time.Sleep(200 * time.Millisecond)
		rows, next, err := batch(ctx, reader, last)
		must(err)
		last = next
		if len(rows) != len(expected) {
			log.Panicln(rows)
		}
		for i := range rows {
			if rows[i] != expected[i] {
				log.Panicln(rows)
			}
		}
	}

	exec(reader, "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
	exec(late, "BEGIN; INSERT INTO events (payload) VALUES ('first, commits late')")
	time.Sleep(10 * time.Millisecond)
	exec(early, "INSERT INTO events (payload) VALUES ('second')")
	expect()
	exec(late, "COMMIT")
	expect("first, commits late", "second")
	expect()
}
