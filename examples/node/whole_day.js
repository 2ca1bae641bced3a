// A shop's day, with node-postgres: kinds in URLs, an order with its lines, a retry, a pool of IDs, pages, the last hour, a feed.
'use strict'

const assert = require('assert')
const { randomUUID } = require('crypto')
const { setTimeout: sleep } = require('timers/promises')
const pg = require('pg')
const { lowerBound } = require('sno')
const { kind } = require('sno/kind')
const { Pool } = require('sno/pool')

const order = kind('order', 2)
const visit = kind('visit', 3)

const SCHEMA = `
  CREATE DOMAIN order_id AS sno CHECK (sno_metabyte(VALUE) = 2);
  CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT sno_new(2), request uuid UNIQUE, customer text);
  CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id order_id NOT NULL REFERENCES orders, item text);
  CREATE TABLE visits (id sno PRIMARY KEY, path text);
`

/** An order and its lines, in one statement. With the same request again, the same order: the client repeats it if no answer came. */
async function buy (db, request, customer, items) {
  const { rows: [added] } = await db.query(`
    WITH added AS (
      INSERT INTO orders (request, customer) VALUES ($1, $2) ON CONFLICT (request) DO NOTHING RETURNING id
    ), lines AS (
      INSERT INTO lines (order_id, item) SELECT id, item FROM added, unnest($3::text[]) AS item
    )
    SELECT id FROM added`, [request, customer, items])
  if (added) return order.of(added.id)
  const { rows: [known] } = await db.query('SELECT id FROM orders WHERE request = $1', [request])
  return order.of(known.id)
}

/** The answer to /orders/TEXT: a status and a body. */
async function show (db, text) {
  let id
  try {
    id = order.parse(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { status: 404 }
  }
  const { rows } = await db.query('SELECT item FROM lines WHERE order_id = $1 ORDER BY id', [id])
  return rows.length > 0 ? { status: 200, id: order.tagged(id), items: rows.map(row => row.item) } : { status: 404 }
}

/** Up to two orders, the newest first, and the cursor of the next page. */
async function page (db, after) {
  const last = after ? order.parse(after) : 'x'.repeat(16)
  const { rows } = await db.query('SELECT id FROM orders WHERE id < $1 ORDER BY id DESC LIMIT 2', [last])
  const ids = rows.map(row => order.tagged(order.of(row.id)))
  return { ids, next: ids.at(-1) }
}

async function main () {
  // The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  const db = new pg.Pool()
  await db.query(SCHEMA)

  const request = randomUUID()
  const first = await buy(db, request, 'ann', ['desk', 'chair'])
  assert.strictEqual(await buy(db, request, 'ann', ['desk', 'chair']), first)
  const others = []
  while (others.length < 4) others.push(await buy(db, randomUUID(), 'bob', ['lamp']))
  assert.strictEqual((await db.query('SELECT id FROM lines')).rowCount, 6)

  assert.deepStrictEqual(await show(db, order.tagged(first)), { status: 200, id: order.tagged(first), items: ['desk', 'chair'] })

  // A visit is written when there is time; its ID is in the log at once.
  const fetch = async count => {
    const { rows } = await db.query('SELECT sno_new(3) AS id FROM generate_series(1, $1)', [count])
    return rows.map(row => visit.of(row.id))
  }
  const pool = new Pool(fetch)
  const visits = []
  while (visits.length < 1000) visits.push(await pool.next())
  await db.query('INSERT INTO visits SELECT id, $2 FROM unnest($1::sno[]) AS id', [visits, '/desks'])
  assert.strictEqual((await db.query('SELECT id FROM visits')).rowCount, 1000)

  // Another kind, another text: not found, and the server is not asked.
  const nobody = { query: () => assert.fail('the server was asked') }
  for (const wrong of [visit.tagged(visits[0]), `order_${visits[0]}`, first, order.tagged(first).toUpperCase(), '', 'order_', undefined]) {
    assert.deepStrictEqual(await show(nobody, wrong), { status: 404 })
  }
  await assert.rejects(db.query('INSERT INTO orders (id) VALUES ($1)', [visits[0]]), { code: '23514' })

  const seen = []
  for (let { ids, next } = await page(db); next; { ids, next } = await page(db, next)) seen.push(...ids)
  assert.deepStrictEqual(seen, [first, ...others].reverse().map(order.tagged))

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  assert.strictEqual((await db.query('SELECT id FROM orders WHERE id >= $1', [lowerBound(hourAgo)])).rowCount, 5)

  // A feed: each order once. What is done about it belongs into the statement, or into a transaction with it.
  await db.query("SELECT sno_create_feed('invoices', 'orders')")
  const billed = []
  while (billed.length < 5) {
    const { rows } = await db.query("SELECT id FROM sno_feed('invoices', NULL::orders)")
    billed.push(...rows.map(row => row.id))
    await sleep(100)
  }
  assert.deepStrictEqual(billed, [first, ...others])
  await db.end()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
