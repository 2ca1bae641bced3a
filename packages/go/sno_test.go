package sno

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestVectors(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(must(os.ReadFile("../../core/tests/vectors/sno.tsv")))), "\n")[1:]
	if len(lines) != 122 {
		t.Fatal(len(lines))
	}
	for _, line := range lines {
		cells := strings.Split(line, "\t")
		number := func(place int) int64 { return must(strconv.ParseInt(cells[place], 10, 64)) }
		id := must(Parse(cells[1]))
		fields := Fields{time.Unix(0, number(2)).UTC(), number(3) == 1, uint8(number(4)), uint16(number(5)), uint16(number(6))}
		if hex.EncodeToString(id[:]) != cells[0] || id.String() != cells[1] || id.Fields() != fields || id.Time() != fields.Time {
			t.Error(line, id.Fields())
		}
		if must(Make(fields)) != id {
			t.Error(line)
		}
	}
}

func TestWhatIsNoID(t *testing.T) {
	for text, reason := range map[string]string{
		"":                  "length is 0 bytes instead of 16",
		"9q7k4op826n2g22":   "length is 15 bytes instead of 16",
		"9Q7k4op826n2g222":  "character 2 is not one of 2-9 and a-x",
		"9q7k4op826n2g22y":  "character 16 is not one of 2-9 and a-x",
		"9q7k4op826n2g22\n": "character 16 is not one of 2-9 and a-x",
	} {
		if id, err := Parse(text); err == nil || err.Error() != "invalid sno: "+reason || id != (ID{}) {
			t.Error(text, id, err)
		}
	}
	var id ID
	if id.Scan(nil) == nil || id.Scan(5) == nil || id.Scan([]byte("short")) == nil || id.ScanBytes(make([]byte, 11)) == nil {
		t.Error(id)
	}
	for _, at := range []time.Time{epoch.Add(-1), {}, epoch.Add((lastTick + 1) * tick)} {
		if _, err := Make(Fields{Time: at}); err == nil {
			t.Error(at)
		}
	}
}

func TestTexts(t *testing.T) {
	id := must(Parse("9q7k4op826n2g222"))
	text := string(must(json.Marshal(map[ID]ID{id: id})))
	var back map[ID]ID
	if text != `{"9q7k4op826n2g222":"9q7k4op826n2g222"}` || json.Unmarshal([]byte(text), &back) != nil || back[id] != id {
		t.Error(text, back)
	}
	for _, value := range []any{"9q7k4op826n2g222", []byte("9q7k4op826n2g222"), id[:], must(id.Value())} {
		var scanned ID
		if err := scanned.Scan(value); err != nil || scanned != id {
			t.Error(value, err)
		}
	}
	// Drivers would send bytes as a bytea.
	if must(id.Value()) != "9q7k4op826n2g222" {
		t.Error(id.Value())
	}
	if id.Compare(ID{}) <= 0 || id.Compare(id) != 0 {
		t.Error("order")
	}
}

func TestBounds(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 15, 372e6, time.UTC)
	first, last := ID{}, must(Parse("xxxxxxxxxxxxxxxx"))
	forever := time.Unix(1<<63-62135596801, 999999999)
	for _, pair := range []struct{ found, expected any }{
		{LowerBound(at).String(), "9q7k4op822222222"},
		{UpperBound(at).String(), "9q7k4op9xxxxxxxx"},
		{LowerBound(at.Add(1)), LowerBound(at.Add(4 * time.Millisecond))},
		{UpperBound(at.Add(4*time.Millisecond - 1)), UpperBound(at)},
		{UpperBound(at.Add(-1)), UpperBound(at.Add(-4 * time.Millisecond))},
		{LowerBound(first.Time()), first},
		{UpperBound(last.Time()), last},
		{LowerBound(last.Time()).String(), "xxxxxxxw22222222"},
		{LowerBound(first.Time().Add(-1)), first},
		{UpperBound(first.Time().Add(-1)), first},
		{LowerBound(last.Time().Add(1)), last},
		{UpperBound(last.Time().Add(time.Hour)), last},
		{LowerBound(time.Time{}), first},
		{UpperBound(time.UnixMilli(math.MaxInt64 / 2)), last},
		{LowerBound(forever), last},
		{UpperBound(forever), last},
		{UpperBound(time.UnixMilli(math.MinInt64)), first},
	} {
		if pair.found != pair.expected {
			t.Error(pair)
		}
	}
	if LowerBound(at).Compare(LowerBound(at.Add(1))) >= 0 {
		t.Error("the next tick")
	}
}
