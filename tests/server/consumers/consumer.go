// A consumer that does to each row what its payload says, for consumers.rs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sno/snopgx"

	"github.com/jackc/pgx/v5"
)

type event struct {
	ID      string     `db:"id"`
	Payload string     `db:"payload"`
	More    *int       `db:"more"`
	At      *time.Time `db:"at"`
}

type change struct {
	Changed string
	ID      int
	Record  *string
	Deleted bool
}

// follow is what a copy does with a change.
func follow(ctx context.Context, tx snopgx.Tx, row change) error {
	_, err := tx.Exec(ctx, "DELETE FROM items_copy WHERE id = $1", row.ID)
	if err == nil && !row.Deleted {
		_, err = tx.Exec(ctx, "INSERT INTO items_copy SELECT ($1::text::items).*", *row.Record)
	}
	return err
}

var seen = map[string]int{}

func has(option string) bool {
	return slices.Contains(os.Args[1:], option)
}

// act copies a row. Without a transaction, what fails would stay.
func act(ctx context.Context, tx snopgx.Tx, row event) error {
	steps := []func(context.Context, snopgx.Tx, event) error{copyRow, actByPayload}
	if has("autocommit") {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(ctx, tx, row); err != nil {
			return err
		}
	}
	return nil
}

func copyRow(ctx context.Context, tx snopgx.Tx, row event) error {
	_, err := tx.Exec(ctx, "INSERT INTO copy (id, payload) VALUES ($1::text::sno, $2)", row.ID, row.Payload)
	return err
}

func actByPayload(ctx context.Context, tx snopgx.Tx, row event) error {
	seen[row.ID]++
	what, argument, _ := strings.Cut(row.Payload, " ")
	number, _ := strconv.ParseFloat(argument, 64)
	var err error
	switch first := seen[row.ID] == 1; {
	case what == "fail" && seen[row.ID] <= int(number), what == "flaky" && (seen[row.ID] == 2 || seen[row.ID] == 3), what == "poison":
		err = errors.New(row.Payload)
	case slices.Contains([]string{"settled", "returned", "pending", "lazy"}, what) && seen[row.ID] <= int(number):
		err = errors.Join(nil, errors.New(row.Payload))
	case what == "slow", what == "idle" && first:
		fmt.Println(row.Payload)
		time.Sleep(time.Duration(number * float64(time.Second)))
	case what == "exit":
		panic("exit")
	case what == "sqlstate" && (first || argument != "57014" && seen[row.ID] <= 3):
		_, err = tx.Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '"+argument+"'; END $$")
	case what == "cut" && seen[row.ID] <= int(number):
		tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
		err = errors.New(row.Payload)
	case what == "commit", what == "rollback":
		if _, err = tx.Exec(ctx, what); err == nil && argument == "fail" {
			err = errors.New(row.Payload)
		}
	case what == "swallow" && first:
		tx.Exec(ctx, "SELECT 1/0")
	}
	return err
}

func connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig("")
	if err != nil {
		return nil, err
	}
	if has("pgbouncer") {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil && has("open") {
		_, err = conn.Exec(ctx, "BEGIN")
	}
	return conn, err
}

func scan(row pgx.CollectableRow) (event, error) {
	return pgx.RowToStructByNameLax[event](row)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options := snopgx.Options[event]{Attempts: 3, BatchSize: 20, Timeout: 20 * time.Second, Autocommit: has("autocommit")}
	if has("once") {
		options.Attempts = 1
	}
	if has("brief") {
		options.Timeout = time.Second
	}
	if has("on_poison") {
		options.OnPoison = func(ctx context.Context, tx snopgx.Tx, row event, err error) error {
			var unreadable *snopgx.Unreadable
			if errors.As(err, &unreadable) {
				row.ID = unreadable.Key
			}
			if seen[row.Payload]++; row.Payload == "poison late" && seen[row.Payload] == 1 {
				return errors.New("late")
			}
			_, failed := tx.Exec(ctx, "INSERT INTO failures VALUES ($1::text::sno, $2)", row.ID, err.Error())
			return failed
		}
	}
	var err error
	if has("changes") {
		ofChanges := snopgx.Options[change]{Key: "changed", BatchSize: 20}
		err = snopgx.Consume(ctx, connect, "changes", "items_changes", pgx.RowToStructByName[change], follow, ofChanges)
	} else if has("batches") {
		err = snopgx.ConsumeBatches(ctx, connect, "feed", "events", scan, func(ctx context.Context, tx snopgx.Tx, rows []event) error {
			for _, row := range rows {
				if err := act(ctx, tx, row); err != nil {
					return err
				}
			}
			return nil
		}, options)
	} else {
		err = snopgx.Consume(ctx, connect, "feed", "events", scan, act, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
		os.Exit(1)
	}
}
