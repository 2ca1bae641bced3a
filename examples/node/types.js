// node-postgres with the package sno: what is in an ID, bounds computed by the client, and arrays.
'use strict'

const assert = require('assert')
const { Pool, types } = require('pg')
const { fields, fromBytes, lowerBound, make, time, toBytes } = require('sno')
const { register } = require('sno/pg')

async function main () {
  const pool = new Pool()
  await register(pool, types)
  await pool.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')

  const { rows: [{ id }] } = await pool.query('INSERT INTO events (payload) VALUES ($1) RETURNING id', ['first'])
  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const { rows: recent } = await pool.query('SELECT id FROM events WHERE id >= $1', [lowerBound(hourAgo)])
  console.log(id, time(id), fields(id).metabyte)

  assert.deepStrictEqual(recent, [{ id }])
  assert(Math.abs(time(id) - Date.now()) < 60000 && fields(id).metabyte === 1, id)
  const all = async (query, ...parameters) => (await pool.query(query, parameters)).rows.map(row => row.id)
  const old = [1, 2, 3, 4].map(sequence => make({ time: new Date('2010-01-02'), sequence }))
  await pool.query('INSERT INTO events SELECT id, $2 FROM unnest($1::sno[]) id', [old, 'old'])
  const array = await pool.query('SELECT array_agg(id ORDER BY id) || NULL::sno AS ids, NULL::sno[] AS none FROM events')
  assert.deepStrictEqual(array.rows, [{ ids: [...old, id, null], none: null }])

  // A kind's domain, and arrays of it, which are registered once the domain exists.
  await pool.query('CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)')
  await register(pool, types)
  await pool.query('CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])')
  await pool.query('INSERT INTO kinds VALUES ($1, $2, $3)', [id, [id, null], [id, null]])
  const kinds = await pool.query('SELECT * FROM kinds WHERE id = $1', [id])
  assert.deepStrictEqual(kinds.rows, [{ id, others: [id, null], plain: [id, null] }])

  // Ten bytes, as a bytea: the driver's own binary mode decodes all values as UTF-8, and so loses some. IDs that are registered are refused.
  const binary = new Pool({ binary: true })
  await assert.rejects(binary.query('SELECT id FROM kinds WHERE id = $1', [id]), /id::text/)
  await assert.rejects(binary.query('SELECT others FROM kinds WHERE id = $1', [id]), /id::text/)
  assert.deepStrictEqual((await binary.query('SELECT id::text FROM kinds WHERE id = $1', [id])).rows, [{ id }])
  await binary.end()
  const { rows: [{ raw }] } = await pool.query('SELECT id::bytea AS raw FROM events WHERE id = $1', [id])

  assert.deepStrictEqual([fromBytes(raw), Buffer.from(toBytes(id))], [id, raw])
  assert.deepStrictEqual(await all('SELECT id FROM events WHERE id = $1', raw), [id])
  await pool.end()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
