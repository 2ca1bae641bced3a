// Package sno has the IDs of the PostgreSQL type sno, for database/sql, pgx and JSON. It needs no other package.
package sno

import (
	"bytes"
	"database/sql/driver"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

const alphabet = "23456789abcdefghijklmnopqrstuvwx"

var base32Text = base32.NewEncoding(alphabet)

// An ID has 39 bits of ticks of 4 ms.
const (
	tick     = 4 * time.Millisecond
	lastTick = 1<<39 - 1
)

// epoch is the start of the first tick.
var epoch = time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)

// ID is ten bytes that sort by time, written as 16 characters. The zero ID is the smallest.
type ID [10]byte

// Fields are what an ID is made of.
type Fields struct {
	Time      time.Time // the start of a tick of 4 ms
	TickTock  bool
	Metabyte  uint8
	Partition uint16
	Sequence  uint16
}

// Parse reads the 16 characters of an ID.
func Parse(text string) (id ID, err error) {
	if len(text) != 16 {
		return id, fmt.Errorf("invalid sno: length is %d bytes instead of 16", len(text))
	}
	// The decoder itself would skip the ends of lines.
	for place := 0; place < len(text); place++ {
		if strings.IndexByte(alphabet, text[place]) < 0 {
			return id, fmt.Errorf("invalid sno: character %d is not one of 2-9 and a-x", place+1)
		}
	}
	_, err = base32Text.Decode(id[:], []byte(text))
	return id, err
}

// String is the 16 characters.
func (id ID) String() string {
	return base32Text.EncodeToString(id[:])
}

// Compare is negative if the ID is the smaller one, zero if both are equal, else positive.
func (id ID) Compare(other ID) int {
	return bytes.Compare(id[:], other[:])
}

// Fields are all fields of the ID.
func (id ID) Fields() Fields {
	number := binary.BigEndian.Uint64(id[:])
	return Fields{
		Time:      epoch.Add(time.Duration(number>>25) * tick),
		TickTock:  number>>24&1 == 1,
		Metabyte:  uint8(number >> 16),
		Partition: uint16(number),
		Sequence:  binary.BigEndian.Uint16(id[8:]),
	}
}

// Time is when the ID was generated, to 4 ms.
func (id ID) Time() time.Time {
	return id.Fields().Time
}

// Make is the ID of these fields. It is not generated: nothing makes it unique.
func Make(fields Fields) (id ID, err error) {
	ticks, _ := since(fields.Time)
	if ticks < 0 || ticks > lastTick {
		return id, errors.New("time out of range")
	}
	number := uint64(ticks)<<25 | uint64(fields.Metabyte)<<16 | uint64(fields.Partition)
	if fields.TickTock {
		number |= 1 << 24
	}
	binary.BigEndian.PutUint64(id[:], number)
	binary.BigEndian.PutUint16(id[8:], fields.Sequence)
	return id, nil
}

// LowerBound is the smallest ID at or after a time: id >= LowerBound(t) is sno_time(id) >= t.
func LowerBound(at time.Time) (id ID) {
	ticks, rest := since(at)
	if rest > 0 {
		ticks++
	}
	if ticks > lastTick {
		copy(id[:], bytes.Repeat([]byte{255}, 10))
	} else if ticks > 0 {
		binary.BigEndian.PutUint64(id[:], uint64(ticks)<<25)
	}
	return id
}

// UpperBound is the largest ID at or before a time: id <= UpperBound(t) is sno_time(id) <= t.
func UpperBound(at time.Time) (id ID) {
	if ticks, _ := since(at); ticks >= 0 {
		copy(id[:], bytes.Repeat([]byte{255}, 10))
		if ticks < lastTick {
			binary.BigEndian.PutUint64(id[:], uint64(ticks+1)<<25-1)
		}
	}
	return id
}

// since counts the whole ticks from the epoch to a time, and returns the rest. Sub saturates at 292 years, where no ID has
// its time either.
func since(at time.Time) (ticks int64, rest time.Duration) {
	past := at.Sub(epoch)
	ticks, rest = int64(past/tick), past%tick
	if rest < 0 {
		return ticks - 1, rest + tick
	}
	return ticks, rest
}

// MarshalText writes the 16 characters, in JSON as well.
func (id ID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// UnmarshalText reads the 16 characters.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = Parse(string(text))
	return err
}

// Value makes an ID a parameter of database/sql.
func (id ID) Value() (driver.Value, error) {
	return id.String(), nil
}

// Scan makes an ID a result of database/sql; *ID and sql.Null[ID] are for NULL.
func (id *ID) Scan(value any) error {
	switch value := value.(type) {
	case string:
		return id.UnmarshalText([]byte(value))
	case []byte:
		if len(value) == len(id) {
			return id.ScanBytes(value)
		}
		return id.UnmarshalText(value)
	default:
		return fmt.Errorf("invalid sno: %T", value)
	}
}

// BytesValue makes an ID a parameter of pgx in binary, which bytea is as well.
func (id ID) BytesValue() ([]byte, error) {
	return id[:], nil
}

// ScanBytes makes an ID a result of pgx in binary.
func (id *ID) ScanBytes(value []byte) error {
	if len(value) != len(id) {
		return fmt.Errorf("invalid sno: %d bytes instead of 10", len(value))
	}
	copy(id[:], value)
	return nil
}
