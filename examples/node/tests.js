// Tests of an application with node-postgres: rows of any time, tests that roll back, and a consumer of a feed. The functions
// are those of Node.js; Jest's and Vitest's are the same.
'use strict'

const assert = require('assert')
const { after, before, test } = require('node:test')
const { Client } = require('pg')
const { lowerBound, make, time } = require('sno')
const { consume } = require('sno/consumer')

async function connect () {
  const client = new Client()
  client.on('error', () => {})
  await client.connect()
  return client
}

let client

before(async () => {
  client = await connect()
  await client.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')
  // In an application, a migration has created it.
  await client.query("SELECT sno_create_feed('export', 'events')")
})

after(() => client.end())

test('an event of last year', async () => {
  await client.query('BEGIN')
  const id = make({ time: new Date('2025-01-01'), metabyte: 1 })
  await client.query('INSERT INTO events VALUES ($1, $2)', [id, 'old'])
  await client.query("INSERT INTO events (payload) VALUES ('new')")
  const { rows } = await client.query('SELECT * FROM events WHERE id < $1', [lowerBound(new Date('2026-01-01'))])
  await client.query('ROLLBACK')
  assert.deepStrictEqual(rows.map(({ id, payload }) => [time(id).toISOString(), payload]), [['2025-01-01T00:00:00.000Z', 'old']])
})

test('each event once', async () => {
  // A feed returns rows that are committed.
  await client.query("INSERT INTO events (payload) SELECT n FROM generate_series(1, 3) n")
  // The horizon is at the last event now, so that the test does not wait for the margin.
  await client.query("SELECT sno_horizon('0') FROM pg_sleep(0.01)")
  const done = []
  const stop = new AbortController()
  const logger = { warn: console.warn }
  await consume(connect, 'export', 'events', ({ payload }) => {
    if (done.push(payload) === 3) stop.abort()
  }, { signal: stop.signal, logger })
  assert.deepStrictEqual(done, ['1', '2', '3'])
})
