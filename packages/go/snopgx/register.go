// Package snopgx teaches pgx, version 5, the PostgreSQL type sno.
package snopgx

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Register registers the type and its arrays on a connection, in a pool as AfterConnect. From then on IDs are
// transferred in binary and are scanned into sno.ID, sno.Of or []byte. The type's OID differs between databases.
func Register(ctx context.Context, conn *pgx.Conn) error {
	var oid, array uint32
	err := conn.QueryRow(ctx, "SELECT 'sno'::regtype::oid, 'sno[]'::regtype::oid").Scan(&oid, &array)
	if err != nil {
		return err
	}
	// The binary format is that of a bytea of ten bytes.
	id := &pgtype.Type{Name: "sno", OID: oid, Codec: pgtype.ByteaCodec{}}
	conn.TypeMap().RegisterType(id)
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "_sno", OID: array, Codec: &pgtype.ArrayCodec{ElementType: id}})
	return nil
}
