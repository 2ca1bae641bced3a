// A shop's day, with pgx: kinds in URLs, an order with its lines, a retry, a pool of IDs, pages, the last hour, a feed.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"sno"
	"sno/snopgx"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type Order struct{}

func (Order) Kind() (string, uint8) { return "order", 2 }

type OrderID = sno.Of[Order]

const schema = `
	CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 2);
	CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2), request uuid UNIQUE, customer text);
	CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id order_id NOT NULL REFERENCES orders, item text);
	CREATE TABLE visits (id sno PRIMARY KEY, path text)`

// Buy inserts an order and its lines, in a batch. With the same request again, it returns the same order: the client
// repeats it if no answer came.
func Buy(ctx context.Context, conn *pgx.Conn, request, customer string, items []string) (id OrderID, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		insert := "INSERT INTO orders (request, customer) VALUES ($1, $2) ON CONFLICT (request) DO NOTHING RETURNING id"
		err := tx.QueryRow(ctx, insert, request, customer).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return tx.QueryRow(ctx, "SELECT id FROM orders WHERE request = $1", request).Scan(&id)
		} else if err != nil {
			return err
		}
		lines := &pgx.Batch{}
		for _, item := range items {
			lines.Queue("INSERT INTO lines (order_id, item) VALUES ($1, $2)", id, item)
		}
		return tx.SendBatch(ctx, lines).Close()
	})
	return id, err
}

// Answer is the answer to /orders/TEXT.
type Answer struct {
	Status int      `json:"-"`
	ID     OrderID  `json:"id"`
	Items  []string `json:"items"`
}

func Show(ctx context.Context, conn *pgx.Conn, text string) (answer Answer, err error) {
	answer.Status = 404
	if answer.ID, err = sno.ParseAs[Order](text); err != nil {
		return answer, nil
	}
	rows, err := conn.Query(ctx, "SELECT item FROM lines WHERE order_id = $1 ORDER BY id", answer.ID)
	if err != nil {
		return answer, err
	}
	if answer.Items, err = pgx.CollectRows(rows, pgx.RowTo[string]); len(answer.Items) > 0 {
		answer.Status = 200
	}
	return answer, err
}

// Page returns up to two orders, the newest first; the last one is the cursor of the next page.
func Page(ctx context.Context, conn *pgx.Conn, last sno.ID) ([]OrderID, error) {
	rows, err := conn.Query(ctx, "SELECT id FROM orders WHERE id < $1 ORDER BY id DESC LIMIT 2", last)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[OrderID])
}

func check(fact bool, what ...any) {
	if !fact {
		log.Panicln(what...)
	}
}

func must[T any](value T, err error) T {
	check(err == nil, err)
	return value
}

func connect(ctx context.Context) *pgx.Conn {
	// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
	return must(pgx.Connect(ctx, ""))
}

func main() {
	ctx := context.Background()
	conn, fetcher := connect(ctx), connect(ctx)
	must(conn.Exec(ctx, schema))
	check(snopgx.Register(ctx, conn) == nil && snopgx.Register(ctx, fetcher) == nil)

	request := func() string {
		b := make([]byte, 16)
		must(rand.Read(b))
		return fmt.Sprintf("%x", b)
	}
	again := request()
	first := must(Buy(ctx, conn, again, "ann", []string{"desk", "chair"}))
	check(must(Buy(ctx, conn, again, "ann", []string{"desk", "chair"})) == first, first)
	orders := []OrderID{first}
	for len(orders) < 5 {
		orders = append(orders, must(Buy(ctx, conn, request(), "bob", []string{"lamp"})))
	}
	answer := must(Show(ctx, conn, first.String()))
	text := string(must(json.Marshal(answer)))
	check(answer.Status == 200 && text == `{"id":"`+first.String()+`","items":["desk","chair"]}`, text)
	check(strings.HasPrefix(text, `{"id":"order_`), text)

	// A visit is written when there is time; its ID is in the log at once.
	fetch := func(count int) ([]sno.ID, error) {
		rows, err := fetcher.Query(ctx, "SELECT sno_new(3) FROM generate_series(1, $1)", count)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, pgx.RowTo[sno.ID])
	}
	pool := &sno.Pool{Fetch: fetch}
	var visits [][]any
	for len(visits) < 1000 {
		visits = append(visits, []any{must(pool.Next(ctx)), "/desks"})
	}
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"visits"}, []string{"id", "path"}, pgx.CopyFromRows(visits))
	check(err == nil && copied == 1000, copied, err)

	// Another kind, another text: not found, and the server is not asked.
	visit := visits[0][0].(sno.ID)
	for _, wrong := range []string{"visit_" + visit.String(), "order_" + visit.String(), first.ID.String(), "", "order_"} {
		check(must(Show(ctx, nil, wrong)).Status == 404, wrong)
	}
	_, err = sno.As[Order](visit)
	check(errors.Is(err, sno.ErrKind), err)
	var failure *pgconn.PgError
	_, err = conn.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", visit)
	check(errors.As(err, &failure) && failure.Code == "23514", err)

	var seen []OrderID
	for last := sno.UpperBound(time.Now().Add(time.Hour)); ; last = seen[len(seen)-1].ID {
		page := must(Page(ctx, conn, last))
		if len(page) == 0 {
			break
		}
		seen = append(seen, page...)
	}
	slices.Reverse(seen)
	check(slices.Equal(seen, orders), seen)

	var count int
	hourAgo := sno.LowerBound(time.Now().Add(-time.Hour))
	check(conn.QueryRow(ctx, "SELECT count(*) FROM orders WHERE id >= $1", hourAgo).Scan(&count) == nil && count == 5, count)

	// A feed: each order once. What is done about it belongs into the statement, or into a transaction with it.
	must(conn.Exec(ctx, "SELECT sno_create_feed('invoices', 'orders')"))
	var billed []OrderID
	for len(billed) < len(orders) {
		rows := must(conn.Query(ctx, "SELECT id FROM sno_feed('invoices', NULL::orders)"))
		billed = append(billed, must(pgx.CollectRows(rows, pgx.RowTo[OrderID]))...)
		time.Sleep(100 * time.Millisecond)
	}
	check(slices.Equal(billed, orders), billed)
}
