package snopgx

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Tx is the open transaction of a handler: a pgx.Tx, without what ends it.
type Tx interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// Options of a consumer, whose zero values are the defaults.
type Options[T any] struct {
	// Key is the column by which the feed is read: id by default.
	Key string
	// BatchSize is how many rows are read in one transaction: 100 by default.
	BatchSize int
	// Attempts is how often the handler, or scan, may fail at a row before that is poison: 5 by default.
	Attempts int
	// OnPoison is called in the transaction that passes a row that is poison. Without it, the handler's error is returned. If the row
	// could not be scanned, it is the zero value, and err is an *Unreadable.
	OnPoison func(ctx context.Context, tx Tx, row T, err error) error
	// Timeout is how long a wait for new rows lasts: 2 seconds by default. The server goes on with a wait whose consumer has ended.
	Timeout time.Duration
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

// Consume calls a handler for each new row of a feed, until ctx is done: then it returns nil, after the row that is being
// handled.
//
// connect returns a new connection, which the consumer closes. source is the table or the view of the feed, as SQL writes it; scan
// reads a row, as pgx.RowToStructByName does. What the handler writes with the transaction is committed together with the
// feed's position, after it has returned nil, once for up to BatchSize rows. The handler's context is not done when ctx is.
func Consume[T any](ctx context.Context, connect func(context.Context) (*pgx.Conn, error), feed, source string,
	scan pgx.RowToFunc[T], handler func(context.Context, Tx, T) error, options Options[T]) error {
	one := func(ctx context.Context, tx Tx, rows []T) error { return handler(ctx, tx, rows[0]) }
	return run(ctx, connect, feed, source, scan, one, options, false)
}

// ConsumeBatches is Consume with a handler that gets all rows of a transaction at once.
func ConsumeBatches[T any](ctx context.Context, connect func(context.Context) (*pgx.Conn, error), feed, source string,
	scan pgx.RowToFunc[T], handler func(context.Context, Tx, []T) error, options Options[T]) error {
	return run(ctx, connect, feed, source, scan, handler, options, true)
}

// Unreadable is the error for a row that scan has refused, with its columns as the server sent them.
type Unreadable struct {
	Key    string
	Values map[string][]byte
	Err    error
}

func (e *Unreadable) Error() string { return fmt.Sprintf("row %s cannot be read: %v", e.Key, e.Err) }

func (e *Unreadable) Unwrap() error { return e.Err }

const (
	// The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
	again = "08 25006 25P03 25P04 40 53 55P03 57014 57P"
	begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	seek  = "SELECT sno_seek_feed($1, after => $2::text::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::text::sno"
	// No longer than the server lets a statement take.
	wait = `CALL sno_wait_feed($1, least($2::text::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')))`
	server = `SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))`
	// How long an answer may take: a statement beyond the length of a wait; after the stop.
	patience, patienceAfterStop = 10 * time.Second, 5 * time.Second
	firstPause, maxPause        = 100 * time.Millisecond, 10 * time.Second
)

// place is a row: a key, and its number among the rows of this key.
type place struct {
	key    string
	number int
}

// tried is how often a row has failed, and why.
type tried struct {
	count int
	cause error
}

// failed is an error of the handler, or of the commit of its work, at rows of the batch. The first row with their key is first.
type failed struct {
	cause             error
	first, index, end int
}

func (e *failed) Error() string { return e.cause.Error() }

// lost is an error of the handler that came with its connection or transaction, and not because of the row.
type lost struct{ error }

func (e *lost) Unwrap() error { return e.error }

// final is an error after which nothing is tried again.
type final struct{ error }

func (e *final) Unwrap() error { return e.error }

type consumer[T any] struct {
	Options[T]
	feed, source string
	scan         pgx.RowToFunc[T]
	handler      func(context.Context, Tx, []T) error
	batches      bool
	conn         *pgx.Conn
	pause        time.Duration
	hasConnected bool
	// Whether the transaction has begun; whether the last error was another one than those of again.
	isBegun, hasOtherError bool
	rows                   []row
	// What has failed; and small batches, up to a key.
	failures     map[place]tried
	carefulUntil string
	limit        int
}

func run[T any](ctx context.Context, connect func(context.Context) (*pgx.Conn, error), feed, source string,
	scan pgx.RowToFunc[T], handler func(context.Context, Tx, []T) error, options Options[T], batches bool) error {
	if options.BatchSize < 0 || options.Attempts < 0 || options.Timeout < 0 {
		return errors.New("batch size, attempts and timeout must be positive")
	}
	options.Key = cmp.Or(options.Key, "id")
	options.BatchSize = cmp.Or(options.BatchSize, 100)
	options.Attempts = cmp.Or(options.Attempts, 5)
	options.Timeout = cmp.Or(options.Timeout, 2*time.Second)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	c := &consumer[T]{Options: options, feed: feed, source: source, scan: scan, handler: handler, batches: batches,
		pause: firstPause, failures: map[place]tried{}, limit: options.BatchSize}
	// The end of the connection rolls back an open transaction, also if the handler panics.
	defer c.close()
	for ctx.Err() == nil {
		c.isBegun, c.rows = false, nil
		err := c.open(ctx, connect)
		if err == nil {
			err = c.batch(ctx)
		}
		var failure *failed
		var end *final
		switch {
		case err == nil:
			continue
		case errors.As(err, &end):
			return end.error
		case errors.As(err, &failure):
			err = c.note(failure)
		case ctx.Err() != nil:
			return nil
		default:
			err = c.check(err)
		}
		if err != nil {
			return err
		}
		c.close()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(float64(c.pause) * (0.5 + rand.Float64()/2))):
		}
		c.pause = min(c.pause*2, maxPause)
	}
	return nil
}

// limited is the context of a statement of the consumer's own. Unless that is stoppable, the end of ctx leaves it some time.
func (c *consumer[T]) limited(ctx context.Context, isStoppable bool) (context.Context, context.CancelFunc) {
	if isStoppable {
		return context.WithTimeout(ctx, c.Timeout+patience)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout+patience)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(patienceAfterStop, cancel) })
	return limited, func() { stop(); cancel() }
}

// exec runs a statement without preparing it, since PgBouncer's transaction mode would not know it.
func (c *consumer[T]) exec(ctx context.Context, isStoppable bool, sql string, arguments ...any) error {
	limited, cancel := c.limited(ctx, isStoppable)
	defer cancel()
	_, err := c.conn.Exec(limited, sql, append([]any{pgx.QueryExecModeExec}, arguments...)...)
	return err
}

func (c *consumer[T]) open(ctx context.Context, connect func(context.Context) (*pgx.Conn, error)) (err error) {
	if c.conn != nil {
		return nil
	}
	limited, cancel := c.limited(ctx, true)
	defer cancel()
	if c.conn, err = connect(limited); err != nil {
		c.conn = nil
		return err
	}
	if c.conn.PgConn().TxStatus() != 'I' {
		return &final{errors.New("the new connection has an open transaction")}
	}
	var where string
	if err = c.conn.QueryRow(limited, server, pgx.QueryExecModeExec).Scan(&where); err == nil {
		c.Logger.Info("reads "+c.source+" "+where, "feed", c.feed, "batch size", c.BatchSize)
	}
	return err
}

// batch handles the rows of one transaction, or waits if there are none.
func (c *consumer[T]) batch(ctx context.Context) error {
	limited, cancel := c.limited(ctx, true)
	defer cancel()
	tx, err := c.conn.BeginTx(limited, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return err
	}
	c.isBegun, c.hasConnected = true, true
	query := fmt.Sprintf("SELECT * FROM sno_feed($1, NULL::%s, $2)", c.source)
	result, err := tx.Query(limited, query, pgx.QueryExecModeDescribeExec, c.feed, c.limit)
	if err != nil {
		return err
	}
	if c.rows, err = pgx.CollectRows(result, c.read); err != nil {
		return err
	}
	last, err := c.handle(ctx, tx)
	if err != nil {
		return err
	}
	work, cancelWork := c.limited(ctx, false)
	defer cancelWork()
	if err = tx.Commit(work); err != nil {
		if len(c.rows) == 0 || c.isTransient(err) {
			return err
		}
		// It is one of these rows, for example by a constraint that is deferred.
		return &failed{err, 0, 0, len(c.rows)}
	}
	c.pause = firstPause
	if last == "" {
		err = c.exec(ctx, true, wait, c.feed, fmt.Sprintf("%f s", c.Timeout.Seconds()))
	} else {
		maps.DeleteFunc(c.failures, func(place place, _ tried) bool { return place.key <= last })
		if c.limit = c.BatchSize; c.carefulUntil > last {
			c.limit = 1
		}
	}
	c.hasOtherError = c.hasOtherError && err != nil
	return err
}

// handle calls the handler for the rows, and returns the last key that is done, or "".
func (c *consumer[T]) handle(ctx context.Context, tx pgx.Tx) (last string, err error) {
	first, count := 0, 1
	if c.batches {
		count = len(c.rows)
	}
	for index := 0; index < len(c.rows); index += count {
		key := c.rows[index].key
		if ctx.Err() != nil && last == "" {
			return "", ctx.Err()
		} else if ctx.Err() != nil && last != key && first == index-1 {
			// The rest is given back to the next consumer, in the transaction that has read it. After several rows of one
			// ID, as a view can have them, the server refuses that.
			return last, c.exec(ctx, false, seek, c.feed, last, last)
		}
		if last != key {
			first = index
		}
		cause := c.call(context.WithoutCancel(ctx), tx, first, index, index+count)
		status := c.conn.PgConn().TxStatus()
		if cause == nil && status == 'E' {
			cause = errors.New("the handler went on after an error of the server")
		}
		if cause == nil {
			last = c.rows[index+count-1].key
		}
		if status == 'I' && !c.conn.IsClosed() {
			// If it was a COMMIT, the rest of the batch counts as read.
			after := cmp.Or(last, previous(c.rows[0].key))
			err = c.exec(ctx, false, seek, c.feed, after, c.rows[len(c.rows)-1].key)
			return "", &final{errors.Join(errors.New("the handler ended the transaction"), cause, err)}
		} else if cause != nil && c.isTransient(cause) && (state(cause) != "57014" || c.conn.IsClosed()) {
			return "", &lost{cause}
		} else if cause != nil {
			return "", &failed{cause, first, index, index + count}
		}
	}
	return last, nil
}

func (c *consumer[T]) call(ctx context.Context, tx Tx, first, index, end int) error {
	tries := c.failures[place{c.rows[index].key, index - first}]
	isPoison := c.OnPoison != nil && tries.count >= c.Attempts && c.rows[index].key == c.rows[end-1].key
	values := make([]T, end-index)
	for number, row := range c.rows[index:end] {
		var err error
		if values[number], err = c.scan(row); err != nil && !isPoison {
			return &Unreadable{row.key, row.sent(), err}
		}
	}
	if !isPoison {
		return c.handler(ctx, tx, values)
	}
	for _, value := range values {
		if err := c.OnPoison(ctx, tx, value, tries.cause); err != nil {
			return err
		}
	}
	return nil
}

// note counts a failure, and returns its error if that is the end.
func (c *consumer[T]) note(failure *failed) error {
	start, end, count := c.rows[failure.index].key, c.rows[failure.end-1].key, 1
	// A failure of several keys counts for none of them.
	for index := failure.index; start == end && index < failure.end; index++ {
		here := place{start, index - failure.first}
		tries := c.failures[here]
		// What the handler has returned, and not OnPoison.
		if tries.count < c.Attempts {
			tries.cause = failure.cause
		}
		tries.count++
		c.failures[here], count = tries, tries.count
	}
	c.Logger.Warn(fmt.Sprintf("failure %d at %s", count, start), "feed", c.feed, "error", failure.cause)
	if count >= c.Attempts && failure.first == 0 && start == end && c.OnPoison == nil {
		return failure.cause
	}
	// What is before it is committed by itself, then it is tried alone.
	c.carefulUntil, c.limit = max(c.carefulUntil, end), max(failure.first, 1)
	return nil
}

// check returns an error that does not go away: of the first connection, or another one than those of again, if it comes twice in a row.
func (c *consumer[T]) check(err error) error {
	var handler *lost
	// In PgBouncer's statement mode, the first BEGIN is an error.
	c.hasConnected = c.hasConnected || c.conn != nil && state(err) != "08P01"
	isStandby := !c.isBegun && state(err) == "0A000"
	isOther := !errors.As(err, &handler) && !c.isTransient(err) && !isStandby
	if !c.hasConnected || isOther && c.hasOtherError {
		return err
	}
	c.hasOtherError = c.hasOtherError || isOther
	message := "connecting again"
	if len(c.rows) > 0 && strings.HasPrefix(state(err), "25P0") && state(err) != "25P02" {
		message += ": the handler takes too long, take smaller batches"
	}
	c.Logger.Warn(message, "feed", c.feed, "in", c.pause, "error", err)
	return nil
}

// isTransient is whether an error does not come again for ever: a lost connection, a standby, lack of space, a conflict.
func (c *consumer[T]) isTransient(err error) bool {
	state := state(err)
	isListed := slices.ContainsFunc(strings.Fields(again), func(prefix string) bool { return strings.HasPrefix(state, prefix) })
	return isListed || c.conn == nil && state == "" || c.conn != nil && c.conn.IsClosed()
}

func (c *consumer[T]) close() {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		c.conn.Close(ctx)
		// A statement that was given up is cancelled in the background, unless the process ends before.
		select {
		case <-c.conn.PgConn().CleanupDone():
		case <-ctx.Done():
		}
		c.conn = nil
	}
}

// row is a row as the server sent it, which pgx's functions scan.
type row struct {
	pgx.Rows
	key    string
	fields []pgconn.FieldDescription
	values [][]byte
	types  *pgtype.Map
}

// read keeps a row.
func (c *consumer[T]) read(from pgx.CollectableRow) (row, error) {
	kept := row{types: c.conn.TypeMap(), fields: slices.Clone(from.FieldDescriptions())}
	for _, value := range from.RawValues() {
		kept.values = append(kept.values, bytes.Clone(value))
	}
	place := slices.IndexFunc(kept.fields, func(field pgconn.FieldDescription) bool { return field.Name == c.Key })
	if place < 0 {
		return kept, &final{fmt.Errorf("the rows have no column %q", c.Key)}
	}
	kept.key = string(kept.values[place])
	if kept.fields[place].Format == pgx.BinaryFormatCode {
		kept.key = base32Text.EncodeToString(kept.values[place])
	}
	return kept, nil
}

func (r row) FieldDescriptions() []pgconn.FieldDescription { return r.fields }

func (r row) RawValues() [][]byte { return r.values }

func (r row) Scan(to ...any) error {
	if len(to) == 1 {
		if scanner, ok := to[0].(pgx.RowScanner); ok {
			return scanner.ScanRow(r)
		}
	}
	return pgx.ScanRow(r.types, r.fields, r.values, to...)
}

func (r row) Values() ([]any, error) {
	values := make([]any, len(r.values))
	for place, field := range r.fields {
		var err error
		if value := r.values[place]; value != nil {
			values[place] = string(value)
			if known, ok := r.types.TypeForOID(field.DataTypeOID); ok {
				values[place], err = known.Codec.DecodeValue(r.types, field.DataTypeOID, field.Format, value)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r row) sent() map[string][]byte {
	values := map[string][]byte{}
	for place, field := range r.fields {
		values[field.Name] = r.values[place]
	}
	return values
}

var base32Text = base32.NewEncoding("23456789abcdefghijklmnopqrstuvwx")

// previous is the ID before an ID.
func previous(key string) string {
	raw, _ := base32Text.DecodeString(key)
	number := new(big.Int).SetBytes(raw)
	if number.Sign() > 0 {
		number.Sub(number, big.NewInt(1))
	}
	return base32Text.EncodeToString(number.FillBytes(make([]byte, 10)))
}

// state is the SQLSTATE of an error, or "".
func state(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}
