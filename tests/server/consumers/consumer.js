// A consumer that does to each row what its payload says, for consumers.rs.
'use strict'

const { setTimeout: sleep } = require('timers/promises')
const { Client, types } = require('pg')
const { consume } = require('sno/consumer')

const options = process.argv.slice(2)
const has = option => options.includes(option)
const seen = new Map()

async function act (row, client) {
  const copy = () => client.query('INSERT INTO copy (id, payload) VALUES ($1, $2)', [row.id, row.payload])
  // Without a transaction, what fails would stay.
  if (!has('autocommit')) await copy()
  await actByPayload(row, client)
  if (has('autocommit')) await copy()
  return result(row)
}

// What the handler returns, without an error that is thrown.
const results = {
  settled: error => Promise.allSettled([null, Promise.reject(error)]),
  returned: error => error,
  pending: error => [sleep(100).then(() => { throw error })],
  lazy: function * (error) { yield error }
}

function result ({ id, payload }) {
  const [what, argument] = payload.split(' ')
  return seen.get(id) <= Number(argument) ? results[what]?.(new Error(payload)) : undefined
}

async function actByPayload ({ id, payload }, client) {
  const times = (seen.get(id) ?? 0) + 1
  seen.set(id, times)
  const [what, argument] = payload.split(' ')
  if ((what === 'fail' && times <= Number(argument)) || what === 'poison' || (what === 'flaky' && [2, 3].includes(times))) throw new Error(payload)
  if (what === 'slow' || (what === 'idle' && times === 1)) {
    console.log(payload)
    await sleep(Number(argument) * 1000)
  }
  if (what === 'cut' && times <= Number(argument)) {
    await client.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {})
    throw new Error(payload)
  }
  if (what === 'exit') process.exit(1)
  if (what === 'sqlstate' && times <= (argument === '57014' ? 1 : 3)) await client.query(`DO $$ BEGIN RAISE EXCEPTION SQLSTATE '${argument}'; END $$`)
  if (what === 'commit' || what === 'rollback') await client.query(what)
  if (payload === 'commit fail') throw new Error(payload)
  if (what === 'unawaited') client.query('SELECT 1/0').catch(() => {})
  if (what === 'swallow' && times === 1) await client.query('SELECT 1/0').catch(() => {})
}

/** What a copy does with a change. */
async function follow ({ id, record }, client) {
  await client.query('DELETE FROM items_copy WHERE id = $1', [id])
  if (record !== null) await client.query('INSERT INTO items_copy SELECT ($1::items).*', [record])
}

async function connect () {
  const client = new Client()
  // The server can end the session before the consumer listens.
  client.on('error', () => {})
  await client.connect()
  if (has('open')) await client.query('BEGIN')
  return client
}

// A type that this program cannot read.
const read = types.getTypeParser(1184)
types.setTypeParser(1184, text => {
  if (text === 'infinity') throw new RangeError('infinity is no time')
  return read(text)
})

const controller = new AbortController()
process.on('SIGTERM', () => controller.abort())
const batches = has('batches')
const handler = batches
  ? async (rows, client) => {
      const results = []
      for (const row of rows) results.push(await act(row, client))
      return results
    }
  : act
async function onPoison ({ id, payload }, error, client) {
  if (payload === 'poison late' && !seen.has(payload)) {
    seen.set(payload, 1)
    throw new Error('late')
  }
  await client.query('INSERT INTO failures VALUES ($1, $2)', [id, error.message])
}
const source = has('changes') ? ['changes', 'items_changes', follow] : ['feed', 'events', handler]
// The log of the tests is what goes to stderr.
const logger = { info: console.warn, warn: console.warn }
consume(connect, ...source, {
  logger,
  key: has('changes') ? 'changed' : 'id',
  attempts: has('once') ? 1 : 3, batchSize: 20, timeout: has('brief') ? 1 : 20, batches, autocommit: has('autocommit'), signal: controller.signal, ...has('on_poison') ? { onPoison } : {}, ...has('unknown') ? { batch_size: 1 } : {}
}).then(() => process.exit(), error => {
  console.error(`ended: ${error.message}`)
  process.exit(1)
})
