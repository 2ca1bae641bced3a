// Tests of an application with pgx: rows of any time, tests that roll back, and a consumer of a feed.
package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"sno"
	"sno/snopgx"

	"github.com/jackc/pgx/v5"
)

type Event struct{ ID, Payload string }

func connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "")
}

func execute(t *testing.T, conn *pgx.Conn, sql string, arguments ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, arguments...); err != nil {
		t.Fatal(err)
	}
}

// open is a connection for a test.
func open(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestMigrations(t *testing.T) {
	conn := open(t)
	execute(t, conn, "CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
	execute(t, conn, "SELECT sno_create_feed('export', 'events')")
}

func TestAnEventOfLastYear(t *testing.T) {
	conn := open(t)
	// What a test writes is rolled back; the IDs are used up.
	execute(t, conn, "BEGIN")
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	id, err := sno.Make(sno.Fields{Time: at, Metabyte: 1})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "INSERT INTO events VALUES ($1, 'old')", id)
	execute(t, conn, "INSERT INTO events (payload) VALUES ('new')")
	bound := sno.LowerBound(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var found sno.ID
	if err := conn.QueryRow(t.Context(), "SELECT id FROM events WHERE id < $1", bound).Scan(&found); err != nil {
		t.Fatal(err)
	}
	if !found.Time().Equal(at) {
		t.Fatal(found)
	}
	execute(t, conn, "ROLLBACK")
}

func TestEachEventOnce(t *testing.T) {
	conn := open(t)
	// A feed returns rows that are committed.
	execute(t, conn, "INSERT INTO events (payload) SELECT n FROM generate_series(1, 3) n")
	// The horizon is at the last event now, so that the test does not wait for the margin.
	execute(t, conn, "SELECT sno_horizon('0') FROM pg_sleep(0.01)")
	ctx, stop := context.WithCancel(t.Context())
	var done []string
	handle := func(ctx context.Context, tx snopgx.Tx, event Event) error {
		if done = append(done, event.Payload); len(done) == 3 {
			stop()
		}
		return nil
	}
	err := snopgx.Consume(ctx, connect, "export", "events", pgx.RowToStructByName[Event], handle, snopgx.Options[Event]{})
	if err != nil || !slices.Equal(done, []string{"1", "2", "3"}) {
		t.Fatal(done, err)
	}
}

// In an application, `go test` finds the tests.
func main() {
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{
		{Name: "TestMigrations", F: TestMigrations},
		{Name: "TestAnEventOfLastYear", F: TestAnEventOfLastYear},
		{Name: "TestEachEventOnce", F: TestEachEventOnce},
	}, nil, nil)
}
