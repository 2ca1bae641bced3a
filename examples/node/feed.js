// An outbox: new rows go to a queue, each at least once, over lost connections and kill -9. With node-postgres.
'use strict'

const assert = require('assert')
const { spawn } = require('child_process')
const readline = require('readline')
const { setTimeout: sleep } = require('timers/promises')
const { Client } = require('pg')

// Sends each new row, and tells the feed so afterwards.
async function consume (send) {
  for (;;) {
    const client = new Client()
    client.on('error', () => {}) // The next query tells.
    try {
      await client.connect()
      for (;;) {
        await client.query('BEGIN')
        const { rows } = await client.query('SELECT * FROM sno_feed($1, NULL::events, $2)', ['outbox', 100])
        for (const row of rows) await send(row)
        await client.query('COMMIT')
        if (rows.length === 0) await sleep(100)
      }
    } catch {
      // What was not committed comes again.
      client.end().catch(() => {})
      await sleep(100)
    }
  }
}

// Another process that consumes; the rows that it sends.
function consumer () {
  const child = spawn(process.execPath, [__filename, 'consume'], { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, rows: readline.createInterface({ input: child.stdout }) }
}

async function main () {
  const [writer, late] = [new Client(), new Client()]
  await Promise.all([writer.connect(), late.connect()])
  await writer.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')
  await writer.query("SELECT sno_create_feed('outbox', 'events', margin => '0.1 s')")
  const insert = 'INSERT INTO events (payload) SELECT n FROM generate_series(1, 1000) n'
  await writer.query(insert)
  await late.query("BEGIN; INSERT INTO events (payload) VALUES ('commits late')")
  await writer.query(insert)

  const queue = new Map()
  const lost = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE query LIKE '%sno_feed(%' AND pid <> pg_backend_pid()`
  for (let round = 0; queue.size < 2001; round++) {
    if (round === 1) await late.query('COMMIT')
    const { child, rows } = consumer()
    let received = 0
    for await (const line of rows) {
      const row = JSON.parse(line)
      queue.set(row.id, row.payload) // The receiver ignores IDs that it has.
      if (++received % 150 === 0) await writer.query(lost)
      if (received === 600 || queue.size === 2001) break
    }
    child.kill('SIGKILL')
  }

  const { rows } = await writer.query('SELECT id, payload FROM events')
  assert.deepStrictEqual(queue, new Map([...queue.keys()].map(id => [id, rows.find(row => row.id === id).payload])))
  assert([...queue.values()].includes('commits late'))
  await Promise.all([writer.end(), late.end()])
}

const program = process.argv[2] === 'consume'
  ? consume(row => new Promise(resolve => process.stdout.write(JSON.stringify(row) + '\n', resolve)))
  : main()
program.catch(error => {
  console.error(error)
  process.exit(1)
})
