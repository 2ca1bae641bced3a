// pgx, version 5: IDs as strings; and as ten bytes, in binary, once the connection knows the type.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const alphabet = "23456789abcdefghijklmnopqrstuvwx"

// Sno is an ID as its ten bytes.
type Sno [10]byte

func (id Sno) String() string {
	var text [16]byte
	for half := 0; half < 2; half++ {
		number := uint64(id[half*5])<<32 | uint64(binary.BigEndian.Uint32(id[half*5+1:]))
		for place := 7; place >= 0; place-- {
			text[half*8+place] = alphabet[number&31]
			number >>= 5
		}
	}
	return string(text[:])
}

// Time is when the ID was made: the first 39 bits count 4 ms since 2010.
func (id Sno) Time() time.Time {
	ticks := int64(id[0])<<31 | int64(binary.BigEndian.Uint32(id[1:])>>1)
	return time.UnixMilli(1262304000000 + ticks*4).UTC()
}

// BytesValue makes it a parameter.
func (id Sno) BytesValue() ([]byte, error) {
	return id[:], nil
}

// ScanBytes makes it a result.
func (id *Sno) ScanBytes(src []byte) error {
	if len(src) != len(id) {
		return fmt.Errorf("a sno is 10 bytes long, not %d", len(src))
	}
	copy(id[:], src)
	return nil
}

// RegisterSno teaches a connection the type, whose OID is another one in each database. In binary it is
// transferred as a bytea is.
func RegisterSno(ctx context.Context, conn *pgx.Conn) error {
	var oid, array uint32
	err := conn.QueryRow(ctx, "SELECT 'sno'::regtype::oid, 'sno[]'::regtype::oid").Scan(&oid, &array)
	if err != nil {
		return err
	}
	sno := &pgtype.Type{Name: "sno", OID: oid, Codec: pgtype.ByteaCodec{}}
	conn.TypeMap().RegisterType(sno)
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "_sno", OID: array, Codec: &pgtype.ArrayCodec{ElementType: sno}})
	return nil
}

func check(fact bool, what ...any) {
	if !fact {
		log.Panicln(what...)
	}
}

func must(err error) {
	check(err == nil, err)
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

	must(RegisterSno(ctx, conn))
	var id Sno
	err = conn.QueryRow(ctx, "INSERT INTO events (payload) VALUES ($1) RETURNING id", "second").Scan(&id)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = $1 AND id = ANY($2)", id, []Sno{id}).Scan(&payload)
	must(err)

	age := time.Since(id.Time())
	check(payload == "second" && age > -time.Minute && age < time.Minute, id, age)
	must(conn.QueryRow(ctx, "SELECT id::text FROM events WHERE id = $1", id).Scan(&text))
	check(text == id.String(), text, id)

	// Arrays and NULL.
	old := []Sno{{4: 2}, {4: 4}, {4: 4, 9: 1}, {4: 6}}
	_, err = conn.Exec(ctx, "INSERT INTO events SELECT id, 'old' FROM unnest($1::sno[]) id", old)
	must(err)
	var ids []Sno
	must(conn.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM events").Scan(&ids))
	check(len(ids) == 6 && ids[5] == id && ids[2] == old[2], ids)
	var none *Sno
	must(conn.QueryRow(ctx, "SELECT NULL::sno WHERE $1::sno IS NULL", none).Scan(&none))
	check(none == nil, none)

	// A range of time.
	var count int
	hourAgo := time.Now().Add(-time.Hour)
	must(conn.QueryRow(ctx, "SELECT count(*) FROM events WHERE id >= $1::timestamptz", hourAgo).Scan(&count))
	check(count == 2, count)

	// Pages: the last ID of one is where the next one starts.
	var seen []Sno
	for last := (Sno{}); ; last = seen[len(seen)-1] {
		rows, err := conn.Query(ctx, "SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT 4", last)
		must(err)
		page, err := pgx.CollectRows(rows, pgx.RowTo[Sno])
		must(err)
		if len(page) == 0 {
			break
		}
		seen = append(seen, page...)
	}
	check(fmt.Sprint(seen) == fmt.Sprint(ids), seen)

	// Many rows at once, in binary.
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"events"}, []string{"id", "payload"},
		pgx.CopyFromRows([][]any{{Sno{4: 8}, "copied"}, {Sno{4: 10}, "copied"}}))
	must(err)
	check(copied == 2, copied)

	var failure *pgconn.PgError
	_, err = conn.Exec(ctx, "SELECT id FROM events WHERE id = '9Q7K4OP826N2G222'")
	check(errors.As(err, &failure) && failure.Code == "22P02", err)
}
