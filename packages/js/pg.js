// node-postgres: IDs are strings without it, arrays of them with it, as are those of domains over the type.
const TEXT_ARRAY = 1009

export async function register (client, types = client) {
  // Other OIDs in each database.
  const { rows } = await client.query("SELECT typarray AS oid FROM pg_type WHERE 'sno'::regtype IN (oid, typbasetype)")
  for (const { oid } of rows) types.setTypeParser(oid, types.getTypeParser(TEXT_ARRAY))
}
