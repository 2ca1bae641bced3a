// An invoice for each order, exactly once, with node-postgres: the program ends at SIGTERM, after the order that it is at.
'use strict'

const assert = require('assert')
const { setTimeout: sleep } = require('timers/promises')
const { Client } = require('pg')
const { consume } = require('sno/consumer')

async function connect () {
  const client = new Client({ connectionTimeoutMillis: 10_000 })
  // The server can end the session before the consumer listens.
  client.on('error', () => {})
  await client.connect()
  return client
}

const bill = (order, client) => client.query('INSERT INTO invoices (order_id) VALUES ($1)', [order.id])

/** Orders are made while the consumer runs, and connections are lost; the end is when all are billed. */
async function shop (client) {
  for (let round = 0; round < 10; round++) {
    await client.query("INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70)")
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()")
    await sleep(100)
  }
  while ((await client.query('SELECT FROM invoices')).rowCount < 700) await sleep(100)
  process.kill(process.pid, 'SIGTERM')
}

async function main () {
  // The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  const client = await connect()
  await client.query('CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text)')
  await client.query('CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders)')
  await client.query("SELECT sno_create_feed('billing', 'orders')")
  const ended = shop(client)

  const stop = new AbortController()
  process.on('SIGTERM', () => stop.abort())
  await consume(connect, 'billing', 'orders', bill, { signal: stop.signal })

  await ended
  assert.strictEqual((await client.query('SELECT FROM invoices')).rowCount, 700)
  await client.end()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
