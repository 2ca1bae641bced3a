// An invoice for each order, exactly once, with pgx, version 5: the program ends at SIGTERM, after the order that it is at.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"
	"time"

	"sno/snopgx"

	"github.com/jackc/pgx/v5"
)

type Order struct{ ID, Item string }

func connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "")
}

func bill(ctx context.Context, tx snopgx.Tx, order Order) error {
	_, err := tx.Exec(ctx, "INSERT INTO invoices (order_id) VALUES ($1)", order.ID)
	return err
}

func must(err error) {
	if err != nil {
		log.Panicln(err)
	}
}

// shop makes orders while the consumer runs, and loses connections; the end is when all are billed.
func shop(conn *pgx.Conn) {
	ctx := context.Background()
	exec := func(sql string) {
		_, err := conn.Exec(ctx, sql)
		must(err)
	}
	for round := 0; round < 10; round++ {
		exec("INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70)")
		exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()")
		time.Sleep(100 * time.Millisecond)
	}
	for count := 0; count < 700; time.Sleep(100 * time.Millisecond) {
		must(conn.QueryRow(ctx, "SELECT count(*) FROM invoices").Scan(&count))
	}
	must(syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
}

func main() {
	// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
	conn, err := connect(context.Background())
	must(err)
	_, err = conn.Exec(context.Background(), `
		CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text);
		CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders);
		SELECT sno_create_feed('billing', 'orders')`)
	must(err)
	go shop(conn)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = snopgx.Consume(ctx, connect, "billing", "orders", pgx.RowToStructByName[Order], bill, snopgx.Options[Order]{})
	must(err)
}
