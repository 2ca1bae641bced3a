// database/sql with lib/pq: IDs as values of the package sno.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"sno"

	"github.com/lib/pq"
)

func check(fact bool, what ...any) {
	if !fact {
		log.Panicln(what...)
	}
}

func must(err error) {
	check(err == nil, err)
}

func main() {
	// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
	db, err := sql.Open("postgres", "")
	must(err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")
	must(err)

	var id sno.ID
	var payload string
	err = db.QueryRow("INSERT INTO events (payload) VALUES ($1) RETURNING id", "first").Scan(&id)
	must(err)
	err = db.QueryRow("SELECT payload FROM events WHERE id = $1", id).Scan(&payload)
	must(err)
	err = db.QueryRow("SELECT payload FROM events WHERE id = ANY($1)", pq.Array([]sno.ID{id})).Scan(&payload)
	must(err)

	age := time.Since(id.Time())
	check(payload == "first" && age > -time.Minute && age < time.Minute, payload, id, age)
	// Ten bytes, both ways: for a bytea the driver sends them right, for a sno only with binary_parameters=yes.
	var raw []byte
	must(db.QueryRow("SELECT id::bytea FROM events WHERE id = $1", id).Scan(&raw))
	var back sno.ID
	must(db.QueryRow("SELECT id FROM events WHERE id = $1::bytea::sno", raw).Scan(&back))
	check(len(raw) == 10 && back == id, raw, back)
	inBinary, err := sql.Open("postgres", "binary_parameters=yes")
	must(err)
	defer inBinary.Close()
	must(inBinary.QueryRow("SELECT id FROM events WHERE id = $1", raw).Scan(&back))
	check(back == id, back)

	// Arrays and NULL.
	_, err = db.Exec("INSERT INTO events SELECT id, 'old' FROM unnest($1::sno[]) id",
		pq.Array([]sno.ID{{4: 2}, {4: 4}, {4: 4, 9: 1}, {4: 6}}))
	must(err)
	var ids []sno.ID
	must(db.QueryRow("SELECT array_agg(id ORDER BY id) FROM events").Scan(pq.Array(&ids)))
	check(len(ids) == 5 && ids[4] == id, ids)
	var none *sno.ID
	must(db.QueryRow("SELECT NULL::sno").Scan(&none))
	check(none == nil, none)

	// A kind's domain, and arrays of it.
	_, err = db.Exec("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1);" +
		"CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
	must(err)
	_, err = db.Exec("INSERT INTO kinds VALUES ($1, $2, $3)", id, pq.Array([]sno.ID{id}), pq.Array([]sno.ID{id}))
	must(err)
	var others, plain []sno.ID
	must(db.QueryRow("SELECT id, others, plain FROM kinds WHERE id = $1", id).Scan(&back, pq.Array(&others), pq.Array(&plain)))
	check(back == id && len(others) == 1 && len(plain) == 1 && others[0] == id && plain[0] == id, back, others, plain)

	// A range of time.
	var count int
	must(db.QueryRow("SELECT count(*) FROM events WHERE id >= $1", sno.LowerBound(time.Now().Add(-time.Hour))).Scan(&count))
	check(count == 1, count)

	// Pages: the last ID of one is where the next one starts.
	var seen []sno.ID
	for last := (sno.ID{}); ; last = seen[len(seen)-1] {
		rows, err := db.Query("SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT 2", last)
		must(err)
		before := len(seen)
		for rows.Next() {
			var next sno.ID
			must(rows.Scan(&next))
			seen = append(seen, next)
		}
		must(rows.Err())
		if len(seen) == before {
			break
		}
	}
	check(fmt.Sprint(seen) == fmt.Sprint(ids), seen)

	text, err := json.Marshal(map[string]sno.ID{"id": id})
	must(err)
	check(string(text) == `{"id":"`+id.String()+`"}`, string(text))
	_, err = db.Exec("SELECT $1::sno", "9Q7K4OP826N2G222")
	failure, ok := err.(*pq.Error)
	check(ok && failure.Code == "22P02", err)
}
