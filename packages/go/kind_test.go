package sno

import (
	"encoding/json"
	"errors"
	"testing"
)

type event struct{}

func (event) Kind() (string, uint8) { return "event", 1 }

type order struct{}

func (order) Kind() (string, uint8) { return "order", 2 }

type item struct{}

func (item) Kind() (string, uint8) { return "order_item", 1 }

type eventID = Of[event]

const plain = "9q7k4op826n2g222"

func TestKinds(t *testing.T) {
	id := must(ParseAs[event]("event_" + plain))
	text := string(must(json.Marshal(map[string]eventID{"id": id})))
	var back map[string]eventID
	if text != `{"id":"event_`+plain+`"}` || json.Unmarshal([]byte(text), &back) != nil || back["id"] != id {
		t.Error(text, back)
	}
	if id := must(ParseAs[item]("order_item_" + plain)); id.String() != "order_item_"+plain {
		t.Error(id)
	}
	var scanned, binary eventID
	if scanned.Scan(must(id.Value())) != nil || binary.ScanBytes(must(id.BytesValue())) != nil || scanned != id || binary != id {
		t.Error(scanned, binary)
	}
	if must(id.Value()) != plain || id.String() != "event_"+plain || must(As[event](id.ID)) != id {
		t.Error(id)
	}
}

func TestAnotherKind(t *testing.T) {
	fields := must(Parse(plain)).Fields()
	fields.Metabyte = 2
	other := must(As[order](must(Make(fields))))
	var id eventID
	errs := []error{id.UnmarshalText([]byte(other.String())), id.UnmarshalText([]byte("event_" + other.ID.String())),
		id.UnmarshalText([]byte("order_" + plain)),
		id.Scan(other.ID.String()), id.ScanBytes(other.ID[:])}
	for place, err := range errs {
		if !errors.Is(err, ErrKind) || id != (eventID{}) {
			t.Error(place, id, err)
		}
	}
	if errs[3].Error() != "invalid event: the ID is of another kind: metabyte is 2 instead of 1" {
		t.Error(errs[3])
	}
	if text, err := json.Marshal(id); !errors.Is(err, ErrKind) {
		t.Error("the zero value", string(text), err)
	}
}

func TestWhatIsNoKind(t *testing.T) {
	for _, text := range []string{"", plain, "event", "event_", "_" + plain, "event_" + plain + " ", "event_9Q7K4OP826N2G222"} {
		if id, err := ParseAs[event](text); err == nil || errors.Is(err, ErrKind) || id != (eventID{}) {
			t.Error(text, id, err)
		}
	}
	var id eventID
	if id.Scan(5) == nil || id.ScanBytes(nil) == nil {
		t.Error(id)
	}
}
