// node-postgres: IDs are strings without it, arrays of them with it, as are those of domains over the type. The driver's option
// `binary: true` decodes all bytes as UTF-8, and so loses some: an error, with it.
const TEXT_ARRAY = 1009

const refuse = () => {
  throw new TypeError('node-postgres garbles IDs with binary: true: leave that out, or select id::text')
}

export async function register (client, types = client) {
  // Other OIDs in each database; as texts, which binary: true leaves whole.
  const { rows } = await client.query("SELECT oid::text, typarray::text FROM pg_type WHERE 'sno'::regtype IN (oid, typbasetype)")
  for (const { oid, typarray } of rows) {
    types.setTypeParser(Number(typarray), types.getTypeParser(TEXT_ARRAY))
    for (const type of [oid, typarray]) types.setTypeParser(Number(type), 'binary', refuse)
  }
}
