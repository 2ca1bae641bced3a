package snopgx

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Tx is the open transaction of a handler, a pgx.Tx without what ends it; with Autocommit, it is the connection.
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
	// Autocommit leaves no transaction open while the handler works, for what it sends elsewhere: the position is stored after it, and
	// rows can come again.
	Autocommit bool
	// Attempts is how often the handler, or scan, may fail at a row before that is poison, which the server counts: 5 by default.
	Attempts int
	// OnPoison is called as the handler, and passes a row that is poison. Without it, the handler's error is returned. If the row
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
// connect returns a new connection, which the consumer closes. source is the table of the feed, or its view of changes, as SQL writes it; scan
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
	again   = "08 25006 25P03 25P04 40 53 55P03 57014 57P"
	begin   = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	advance = "SELECT sno_advance_feed($1, $2::text::sno, $3::text::regclass)"
	fail    = "SELECT sno_fail_feed($1, $2::text::sno, $3, $4::text::sno, source => $5::text::regclass)"
	// No longer than the server lets a statement take.
	wait = `CALL sno_wait_feed($1, least($2::text::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')), source => $3::text::regclass)`
	server = `SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))`
	// How long an answer may take: a statement beyond the length of a wait; after the stop.
	patience, patienceAfterStop = 10 * time.Second, 5 * time.Second
	firstPause, maxPause        = 100 * time.Millisecond, 10 * time.Second
)

// failed is an error of the handler, or of the commit of its work, at rows from one key up to another.
type failed struct {
	cause       error
	first, last string
}

func (e *failed) Error() string { return e.cause.Error() }

var errHidden = errors.New("the handler went on after an error of the server")

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
	// The key that has failed too often, and why.
	poison      string
	poisonCause error
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
		pause: firstPause}
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
			if err = c.fail(ctx, failure); err == nil {
				continue
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err = c.check(err); err != nil {
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

// batch handles the rows of one call, or waits if there are none.
func (c *consumer[T]) batch(ctx context.Context) error {
	limited, cancel := c.limited(ctx, true)
	defer cancel()
	var open pgx.Tx
	var tx Tx = c.conn
	if !c.Autocommit {
		var err error
		if open, err = c.conn.BeginTx(limited, pgx.TxOptions{BeginQuery: begin}); err != nil {
			return err
		}
		tx, c.hasConnected = open, true
	}
	c.isBegun = true
	query := fmt.Sprintf("SELECT * FROM sno_peek_feed($1, NULL::%s, $2)", c.source)
	result, err := tx.Query(limited, query, pgx.QueryExecModeExec, c.feed, c.BatchSize)
	if err != nil {
		return err
	}
	if c.rows, err = pgx.CollectRows(result, c.read); err != nil {
		return err
	}
	c.hasConnected = true
	done, err := c.handle(ctx, tx)
	if err == nil {
		err = c.acknowledge(ctx, open, done)
	}
	if err != nil {
		return err
	}
	if done >= c.poison {
		c.poison, c.poisonCause = "", nil
	}
	c.pause = firstPause
	if len(c.rows) == 0 {
		err = c.exec(ctx, true, wait, c.feed, fmt.Sprintf("%f s", c.Timeout.Seconds()), c.source)
	}
	c.hasOtherError = c.hasOtherError && err != nil
	return err
}

// handle calls the handler for the rows, and returns the last key that is done, or "".
func (c *consumer[T]) handle(ctx context.Context, tx Tx) (done string, err error) {
	count := 1
	if c.batches {
		count = len(c.rows)
	}
	for index := 0; index < len(c.rows); index += count {
		first, last := c.rows[index].key, c.rows[index+count-1].key
		// The rest is for the next consumer. The rows of one key, of which a table can have several, belong together.
		if ctx.Err() != nil && done != first {
			break
		}
		isPoison := first == last && first == c.poison
		if isPoison && c.OnPoison == nil && done != "" {
			break
		} else if isPoison && c.OnPoison == nil {
			return "", &final{c.poisonCause}
		}
		if c.Autocommit && done != "" && done != first {
			if err = c.advance(ctx, done); err != nil {
				return "", err
			}
		}
		cause := c.call(context.WithoutCancel(ctx), tx, c.rows[index:index+count], isPoison)
		if cause != nil && c.isTransient(cause) && (state(cause) != "57014" || c.conn.IsClosed()) {
			return "", &lost{cause}
		} else if cause != nil && state(cause) == "25P02" && !c.Autocommit {
			// It was in one of the rows before.
			return "", &failed{errHidden, c.rows[0].key, last}
		} else if cause != nil {
			return "", &failed{cause, first, last}
		}
		done = last
	}
	if done == "" {
		err = ctx.Err()
	}
	return done, err
}

func (c *consumer[T]) call(ctx context.Context, tx Tx, rows []row, isPoison bool) error {
	values := make([]T, len(rows))
	for number, row := range rows {
		var err error
		if values[number], err = c.scan(row); err != nil && !isPoison {
			return &Unreadable{row.key, row.sent(), err}
		}
	}
	if !isPoison {
		return c.handler(ctx, tx, values)
	}
	for _, value := range values {
		if err := c.OnPoison(ctx, tx, value, c.poisonCause); err != nil {
			return err
		}
	}
	return nil
}

func (c *consumer[T]) advance(ctx context.Context, done string) error {
	limited, cancel := c.limited(ctx, false)
	defer cancel()
	isNew := false
	err := c.conn.QueryRow(limited, advance, pgx.QueryExecModeExec, c.feed, done, c.source).Scan(&isNew)
	if err == nil && c.Autocommit && !isNew {
		return &lost{errors.New("another consumer has sent the same rows")}
	}
	return err
}

// acknowledge says that rows up to a key are done, in one transaction with the work, if there is one.
func (c *consumer[T]) acknowledge(ctx context.Context, open pgx.Tx, done string) (err error) {
	if done != "" && open != nil && c.conn.PgConn().TxStatus() == 'I' && !c.conn.IsClosed() {
		return &final{errors.New("the handler ended the transaction")}
	}
	if done != "" {
		err = c.advance(ctx, done)
	}
	if open != nil && err == nil {
		limited, cancel := c.limited(ctx, false)
		defer cancel()
		err = open.Commit(limited)
	}
	if err == nil || done == "" || open == nil || c.isTransient(err) {
		return err
	}
	if state(err) == "25P02" || errors.Is(err, pgx.ErrTxCommitRollback) {
		err = errHidden
	}
	// It is one of these rows, for example by a constraint that is deferred.
	return &failed{err, c.rows[0].key, done}
}

// fail has the server count a failure, and remembers what has failed too often.
func (c *consumer[T]) fail(ctx context.Context, failure *failed) (err error) {
	limited, cancel := c.limited(ctx, false)
	defer cancel()
	if !c.Autocommit {
		err = c.exec(limited, false, "ROLLBACK")
	}
	tries := 0
	if err == nil {
		err = c.conn.QueryRow(limited, fail, pgx.QueryExecModeExec, c.feed, failure.first, failure.Error(), failure.last, c.source).Scan(&tries)
	}
	c.Logger.Warn(fmt.Sprintf("failure %d at %s", tries, failure.first), "feed", c.feed, "error", failure.cause)
	// What the handler has returned, and not OnPoison.
	if tries >= c.Attempts && c.poison != failure.first {
		c.poison, c.poisonCause = failure.first, failure.cause
	}
	return err
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

// state is the SQLSTATE of an error, or "".
func state(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}
