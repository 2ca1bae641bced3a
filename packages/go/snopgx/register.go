// Package snopgx teaches pgx, version 5, the PostgreSQL type sno, and has a consumer of feeds.
package snopgx

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Register registers the type, the domains over it and their arrays on a connection, in a pool as AfterConnect. From then on
// IDs are transferred in binary and are scanned into sno.ID, sno.Of or []byte. The OIDs differ between databases.
func Register(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT oid::regtype::text, oid, typarray::regtype::text, typarray
		FROM pg_type WHERE 'sno'::regtype IN (oid, typbasetype)`)
	if err != nil {
		return err
	}
	var name, arrayName string
	var oid, array uint32
	_, err = pgx.ForEachRow(rows, []any{&name, &oid, &arrayName, &array}, func() error {
		// The binary format is that of a bytea of ten bytes.
		id := &pgtype.Type{Name: name, OID: oid, Codec: pgtype.ByteaCodec{}}
		conn.TypeMap().RegisterType(id)
		conn.TypeMap().RegisterType(&pgtype.Type{Name: arrayName, OID: array, Codec: &pgtype.ArrayCodec{ElementType: id}})
		return nil
	})
	return err
}
