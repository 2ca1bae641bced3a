package sno

import (
	"errors"
	"fmt"
	"strings"
)

// Kind has a name and a metabyte: func (Order) Kind() (string, uint8) { return "order", 2 }, of type Order struct{}.
type Kind interface {
	Kind() (name string, metabyte uint8)
}

// ErrKind is the error for an ID of another kind.
var ErrKind = errors.New("the ID is of another kind")

// Of is an ID of a kind: type OrderID = sno.Of[Order]. Texts and JSON have order_9q7k4op826n2g222, databases the ID.
type Of[K Kind] struct{ ID }

func kind[K Kind]() (string, uint8) {
	var kind K
	return kind.Kind()
}

// As is an ID as one of a kind; ErrKind if its metabyte is another one.
func As[K Kind](id ID) (Of[K], error) {
	name, metabyte := kind[K]()
	if found := id.Fields().Metabyte; found != metabyte {
		return Of[K]{}, fmt.Errorf("invalid %s: %w: metabyte is %d instead of %d", name, ErrKind, found, metabyte)
	}
	return Of[K]{id}, nil
}

// ParseAs reads what String writes; ErrKind for the text of another kind.
func ParseAs[K Kind](text string) (Of[K], error) {
	name, _ := kind[K]()
	end := strings.LastIndexByte(text, '_')
	if end < 1 {
		return Of[K]{}, fmt.Errorf("invalid %s: the text does not begin with %s_", name, name)
	} else if text[:end] != name {
		return Of[K]{}, fmt.Errorf("invalid %s: %w: the text does not begin with %s_", name, ErrKind, name)
	}
	id, err := Parse(text[end+1:])
	if err != nil {
		return Of[K]{}, err
	}
	return As[K](id)
}

// String is the name and the ID: what people see.
func (id Of[K]) String() string {
	name, _ := kind[K]()
	return name + "_" + id.ID.String()
}

// MarshalText writes what String does, in JSON as well. The zero value is an error, unless its metabyte is the kind's.
func (id Of[K]) MarshalText() ([]byte, error) {
	_, err := As[K](id.ID)
	return []byte(id.String()), err
}

// UnmarshalText is ParseAs.
func (id *Of[K]) UnmarshalText(text []byte) (err error) {
	*id, err = ParseAs[K](string(text))
	return err
}

// Scan makes it a result of database/sql, and of pgx.
func (id *Of[K]) Scan(value any) (err error) {
	var scanned ID
	if err = scanned.Scan(value); err == nil {
		*id, err = As[K](scanned)
	}
	return err
}

// ScanBytes makes it a result of pgx in binary.
func (id *Of[K]) ScanBytes(value []byte) error {
	return id.Scan(value)
}
