// pgx: IDs as strings, and as ten bytes in binary once the connection knows the type.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
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

// EncodeBinary makes it a parameter.
func (id Sno) EncodeBinary(_ *pgtype.ConnInfo, buf []byte) ([]byte, error) {
	return append(buf, id[:]...), nil
}

// DecodeBinary makes it a result.
func (id *Sno) DecodeBinary(_ *pgtype.ConnInfo, src []byte) error {
	if len(src) != len(id) {
		return fmt.Errorf("a sno is 10 bytes long, not %d", len(src))
	}
	copy(id[:], src)
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

	var id, payload string
	err = conn.QueryRow(ctx, "INSERT INTO events (payload) VALUES ($1) RETURNING id", "first").Scan(&id)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = $1", id).Scan(&payload)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = ANY($1::text[]::sno[])", []string{id}).Scan(&payload)
	must(err)
	check(len(id) == 16 && payload == "first", id, payload)

	// In binary, which a format code asks for, without anything to be registered.
	var raw Sno
	inBinary := pgx.QueryResultFormats{pgx.BinaryFormatCode}
	err = conn.QueryRow(ctx, "SELECT id FROM events WHERE id = $1", inBinary, id).Scan(&raw)
	must(err)
	err = conn.QueryRow(ctx, "SELECT payload FROM events WHERE id = $1", raw).Scan(&payload)
	must(err)

	age := time.Since(raw.Time())
	check(raw.String() == id && age > -time.Minute && age < time.Minute, raw, id, age)
	// Ten plain bytes do as well.
	var back string
	must(conn.QueryRow(ctx, "SELECT id FROM events WHERE id = $1", raw[:]).Scan(&back))
	check(back == id, back)

	// Arrays and NULL.
	_, err = conn.Exec(ctx, "INSERT INTO events SELECT id, 'old' FROM unnest($1::text[]::sno[]) id",
		[]string{"2223222222222222", "2224222222222222", "2225222222222222", "222g222222222222"})
	must(err)
	var ids []string
	must(conn.QueryRow(ctx, "SELECT array_agg(id ORDER BY id)::text[] FROM events").Scan(&ids))
	check(len(ids) == 5 && ids[4] == id, ids)
	var none *string
	must(conn.QueryRow(ctx, "SELECT NULL::sno").Scan(&none))
	check(none == nil, none)

	// A range of time.
	var count int
	hourAgo := time.Now().Add(-time.Hour)
	must(conn.QueryRow(ctx, "SELECT count(*) FROM events WHERE id >= $1::timestamptz", hourAgo).Scan(&count))
	check(count == 1, count)

	// Pages: the last ID of one is where the next one starts.
	var seen []string
	for last := "2222222222222222"; ; last = seen[len(seen)-1] {
		rows, err := conn.Query(ctx, "SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT 2", last)
		must(err)
		before := len(seen)
		for rows.Next() {
			var next string
			must(rows.Scan(&next))
			seen = append(seen, next)
		}
		must(rows.Err())
		if len(seen) == before {
			break
		}
	}
	check(fmt.Sprint(seen) == fmt.Sprint(ids), seen)
}
