// A projection in the same database: each new row counts exactly once, over lost connections. With pgx, version 5.
package main

import (
	"context"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
)

// One statement reads new rows, uses them, and moves the feed.
const project = `
	INSERT INTO totals SELECT payload, count(*) FROM sno_feed('totals', NULL::events, 100) GROUP BY payload
	ON CONFLICT (payload) DO UPDATE SET n = totals.n + EXCLUDED.n`

// consume runs until the context is done. It connects again whenever it has to.
func consume(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, "")
		for err == nil {
			tag, failed := conn.Exec(ctx, project)
			if err = failed; err == nil && tag.RowsAffected() == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		if conn != nil {
			conn.Close(context.Background())
		}
		// What was not committed comes again.
		time.Sleep(10 * time.Millisecond)
	}
}

func must(err error) {
	if err != nil {
		log.Panicln(err)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var conns [2]*pgx.Conn
	for i := range conns {
		conn, err := pgx.Connect(ctx, "")
		must(err)
		defer conn.Close(ctx)
		conns[i] = conn
	}
	writer, late := conns[0], conns[1]
	exec := func(conn *pgx.Conn, sql string) {
		_, err := conn.Exec(ctx, sql)
		must(err)
	}
	exec(writer, "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
	exec(writer, "CREATE TABLE totals (payload text PRIMARY KEY, n bigint)")
	exec(writer, "SELECT sno_create_feed('totals', 'events', margin => '0.1 s')")
	exec(late, "BEGIN; INSERT INTO events (payload) VALUES ('late')")

	stop, consumer := context.WithCancel(ctx)
	done := make(chan bool)
	go func() { consume(stop); done <- true }()
	for round := 0; round < 10; round++ {
		exec(writer, "INSERT INTO events (payload) SELECT n % 7 FROM generate_series(1, 700) n")
		time.Sleep(50 * time.Millisecond)
		exec(writer, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%sno_feed(''totals''%' AND pid <> pg_backend_pid()")
	}
	exec(late, "COMMIT")
	for total := 0; total < 7001; time.Sleep(100 * time.Millisecond) {
		must(writer.QueryRow(ctx, "SELECT coalesce(sum(n), 0) FROM totals").Scan(&total))
	}
	consumer()
	<-done
	var wrong int
	must(writer.QueryRow(ctx, "SELECT count(*) FROM totals WHERE n <> CASE payload WHEN 'late' THEN 1 ELSE 1000 END").Scan(&wrong))
	if wrong != 0 {
		log.Panicln(wrong)
	}
}
