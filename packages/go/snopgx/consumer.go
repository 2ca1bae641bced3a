package snopgx

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	// Attempts is how often the handler may fail at a row before that is poison: 5 by default.
	Attempts int
	// OnPoison is called in the transaction that passes a row that is poison. Without it, the handler's error is returned.
	OnPoison func(ctx context.Context, tx Tx, row T, err error) error
	// Timeout is how long a wait for new rows lasts: 30 seconds by default.
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

// keyed is a row and the text of its key.
type keyed[T any] struct {
	key string
	row T
}

// place is which rows the handler had: those of the keys from start to end, or one of those with a key, as a view can have them.
type place struct {
	start, end string
	index      int
}

// failure is an error of the handler, and where in the batch it was.
type failure struct {
	cause   error
	place   place
	before  int
	isAlone bool
}

func (failure *failure) Error() string { return failure.cause.Error() }

// ended is the error for a handler that has ended the transaction.
type ended struct{ cause error }

func (ended *ended) Error() string { return "the handler ended the transaction" }

func (ended *ended) Unwrap() error { return ended.cause }

type consumer[T any] struct {
	Options[T]
	feed, source string
	scan         pgx.RowToFunc[T]
	handler      func(context.Context, Tx, []T) error
	batches      bool
	conn         *pgx.Conn
	// After a failure: how often which row has failed in a row; smaller batches up to a row.
	failed       place
	failures     int
	poison       error
	carefulUntil string
	limit        int
}

const maxPause = 10 * time.Second

func run[T any](ctx context.Context, connect func(context.Context) (*pgx.Conn, error), feed, source string,
	scan pgx.RowToFunc[T], handler func(context.Context, Tx, []T) error, options Options[T], batches bool) error {
	if options.Key == "" {
		options.Key = "id"
	}
	if options.BatchSize <= 0 {
		options.BatchSize = 100
	}
	if options.Attempts <= 0 {
		options.Attempts = 5
	}
	if options.Timeout <= 0 {
		options.Timeout = 30 * time.Second
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	c := &consumer[T]{Options: options, feed: feed, source: source, scan: scan, handler: handler, batches: batches,
		limit: options.BatchSize}
	// The end of the connection rolls back an open transaction, also if the handler panics.
	defer c.close()
	hasConnected, pause := false, 100*time.Millisecond
	for ctx.Err() == nil {
		err := func() (err error) {
			if c.conn == nil {
				if c.conn, err = connect(ctx); err != nil {
					c.conn = nil
					return err
				}
				if c.conn.PgConn().TxStatus() != 'I' {
					return errors.New("the new connection has an open transaction")
				}
				hasConnected = true
			}
			last, err := c.batch(ctx)
			if err != nil {
				return err
			}
			pause = 100 * time.Millisecond
			if last == "" {
				err = c.wait(ctx)
			}
			return err
		}()
		if err == nil {
			continue
		}
		var failed *failure
		var end *ended
		if errors.As(err, &end) || ctx.Err() == nil && !hasConnected {
			return err
		} else if errors.As(err, &failed) {
			if err := c.note(failed, pause); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			break
		} else {
			if !c.isTransient(err) && state(err) != "57014" {
				return err
			}
			c.warn(err, pause)
		}
		c.close()
		sleep(ctx, time.Duration(float64(pause)*(0.5+rand.Float64()/2)))
		pause = min(pause*2, maxPause)
	}
	return nil
}

// isTransient is whether an error does not come again for ever: a lost connection, a standby, lack of space, a conflict.
func (c *consumer[T]) isTransient(err error) bool {
	isLost := c.conn == nil && state(err) == "" || c.conn != nil && c.conn.IsClosed()
	return isLost || has(state(err), "08", "25006", "25P03", "25P04", "40", "53", "55P03", "57P")
}

func (c *consumer[T]) warn(err error, pause time.Duration) {
	message := "connecting again"
	if has(state(err), "25P03", "25P04") {
		message += ": the handler takes too long, take smaller batches"
	}
	c.Logger.Warn(message, "feed", c.feed, "in", pause, "error", err)
}

// batch handles the rows of one transaction, and returns the last key, or "" if there were none.
func (c *consumer[T]) batch(ctx context.Context) (last string, err error) {
	work := context.WithoutCancel(ctx)
	tx, err := c.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return "", err
	}
	// Without a prepared statement, which PgBouncer's transaction mode would not know.
	query := fmt.Sprintf("SELECT * FROM sno_feed($1, NULL::%s, $2)", c.source)
	result, err := tx.Query(ctx, query, pgx.QueryExecModeDescribeExec, c.feed, c.limit)
	if err != nil {
		return "", err
	}
	rows, err := pgx.CollectRows(result, c.keyed)
	if err != nil {
		return "", err
	}
	before := 0
	for index := 0; index < len(rows); {
		piece := rows[index : index+1]
		if c.batches {
			piece = rows
		}
		start, end := piece[0].key, piece[len(piece)-1].key
		if ctx.Err() != nil && last == "" {
			return "", ctx.Err()
		} else if ctx.Err() != nil && last != start && before == index-1 {
			// The rest is given back to the next consumer, in the transaction that has read it. After several rows of one
			// ID, as a view can have them, the server refuses that.
			if err = c.seek(work, last, last); err != nil {
				return "", err
			}
			break
		}
		if last != start {
			before = index
		}
		here := place{start, end, index - before}
		var cause error
		if here == c.failed && c.failures >= c.Attempts {
			for _, row := range piece {
				if cause == nil {
					cause = c.OnPoison(work, tx, row.row, c.poison)
				}
			}
		} else {
			values := make([]T, len(piece))
			for place, row := range piece {
				values[place] = row.row
			}
			cause = c.handler(work, tx, values)
		}
		status := c.conn.PgConn().TxStatus()
		if cause == nil && status == 'E' {
			cause = errors.New("the handler went on after an error of the server")
		}
		if cause == nil {
			last = end
		}
		if status == 'I' && !c.conn.IsClosed() {
			// If it was a COMMIT, the rest of the batch counts as read.
			after := last
			if after == "" {
				after = previous(rows[0].key)
			}
			return "", errors.Join(&ended{cause}, c.seek(work, after, rows[len(rows)-1].key))
		} else if cause != nil {
			return "", &failure{cause, here, before, rows[0].key == start && start == end}
		}
		index += len(piece)
	}
	if err = tx.Commit(work); err != nil || last == "" {
		return "", err
	}
	if c.failed.start <= last {
		c.failed, c.failures = place{}, 0
	}
	if c.limit = 1; c.carefulUntil <= last {
		c.carefulUntil, c.limit = "", c.BatchSize
	}
	return last, nil
}

// note says that the handler failed, and returns its error if that is the end.
func (c *consumer[T]) note(failed *failure, pause time.Duration) error {
	if c.isTransient(failed.cause) {
		c.warn(failed.cause, pause)
		return nil
	}
	if failed.place != c.failed {
		c.failed, c.failures = failed.place, 0
	}
	c.failures++
	c.poison = failed.cause
	c.Logger.Warn(fmt.Sprintf("failure %d at %s", c.failures, failed.place.start), "feed", c.feed, "error", failed.cause)
	if c.failures >= c.Attempts && failed.isAlone && c.OnPoison == nil {
		return failed.cause
	}
	// What is before it is committed by itself, then it is tried alone.
	c.carefulUntil, c.limit = max(c.carefulUntil, failed.place.end), max(failed.before, 1)
	return nil
}

// wait waits until the feed has rows, or for the timeout; some seconds later the server counts as gone.
func (c *consumer[T]) wait(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.Timeout+10*time.Second)
	defer cancel()
	interval := fmt.Sprintf("%f s", c.Timeout.Seconds())
	_, err := c.conn.Exec(limited, "CALL sno_wait_feed($1, $2::text::interval)", pgx.QueryExecModeExec, c.feed, interval)
	return err
}

// seek gives back what is after a key, if the feed has read up to another one.
func (c *consumer[T]) seek(ctx context.Context, after, read string) error {
	query := "SELECT sno_seek_feed($1, after => $2::text::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::text::sno"
	_, err := c.conn.Exec(ctx, query, pgx.QueryExecModeExec, c.feed, after, read)
	return err
}

func (c *consumer[T]) keyed(row pgx.CollectableRow) (keyed[T], error) {
	for place, field := range row.FieldDescriptions() {
		if field.Name == c.Key {
			raw := row.RawValues()[place]
			key := string(raw)
			if field.Format == pgx.BinaryFormatCode {
				key = base32Text.EncodeToString(raw)
			}
			value, err := c.scan(row)
			return keyed[T]{key, value}, err
		}
	}
	return keyed[T]{}, fmt.Errorf("the rows have no column %q", c.Key)
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

func has(state string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(state, prefix) {
			return true
		}
	}
	return false
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
