// node-postgres without any preparation: IDs are strings.
'use strict'

const assert = require('assert')
const { Client } = require('pg')

async function main () {
  // The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  const client = new Client()
  await client.connect()
  await client.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')

  const { rows: [{ id }] } = await client.query('INSERT INTO events (payload) VALUES ($1) RETURNING id', ['first'])
  await client.query('SELECT payload FROM events WHERE id = $1', [id])
  await client.query('SELECT payload FROM events WHERE id = ANY($1)', [[id]])

  assert.match(id, /^[2-9a-x]{16}$/)
  const ids = async (query, ...parameters) => (await client.query(query, parameters)).rows.map(row => row.id)
  assert.deepStrictEqual(await ids('SELECT id FROM events WHERE id = $1', id), [id])
  assert.deepStrictEqual(await ids('SELECT id FROM events WHERE id = ANY($1)', [id, '2222222222222222']), [id])

  // Ten bytes: a Buffer is sent in binary, and a bytea comes back as one.
  const raw = await client.query('SELECT id::bytea AS raw FROM events WHERE id = $1', [id])

  assert.strictEqual(raw.rows[0].raw.length, 10)
  assert.deepStrictEqual(await ids('SELECT id FROM events WHERE id = $1', raw.rows[0].raw), [id])
  // Without a cast an array is received as a string.
  const array = await client.query('SELECT array_agg(id) AS raw, array_agg(id)::text[] AS texts FROM events')
  assert.deepStrictEqual(array.rows, [{ raw: `{${id}}`, texts: [id] }])

  // A kind's domain, and arrays of it.
  await client.query('CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)')
  await client.query('CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])')
  await client.query('INSERT INTO kinds VALUES ($1, $2, $3)', [id, [id], [id]])
  const kinds = await client.query('SELECT id, others::text[], plain::text[] FROM kinds WHERE id = $1', [id])
  assert.deepStrictEqual(kinds.rows, [{ id, others: [id], plain: [id] }])

  // A Date is sent as text, and needs the cast.
  const recent = 'SELECT id FROM events WHERE id >= $1::timestamptz'
  assert.deepStrictEqual(await ids(recent, new Date(Date.now() - 3600 * 1000)), [id])
  assert.deepStrictEqual(await ids(recent, new Date(Date.now() + 3600 * 1000)), [])

  await assert.rejects(client.query('SELECT $1::sno', ['9Q7K4OP826N2G222']), { code: '22P02' })
  await client.end()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
