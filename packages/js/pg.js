// node-postgres: IDs are strings without it, arrays of them with it.
const TEXT_ARRAY = 1009

export async function register (client, types = client) {
  // Another OID in each database.
  const { rows: [{ oid }] } = await client.query("SELECT 'sno[]'::regtype::oid AS oid")
  types.setTypeParser(oid, types.getTypeParser(TEXT_ARRAY))
}
