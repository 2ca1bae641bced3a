// Pools: each ID once, in order, not too old.
import assert from 'node:assert'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from '../pool.js'

/** Numbers as IDs; how often it was asked. */
function server () {
  const server = {
    numbers: 0,
    calls: 0,
    error: null,
    gate: Promise.resolve(),
    fetch: async count => {
      server.calls++
      await server.gate
      if (server.error) throw server.error
      server.numbers += count
      return Array.from({ length: count }, (_, place) => String(server.numbers - count + place))
    }
  }
  return server
}

const many = async (pool, count) => {
  const ids = []
  while (ids.length < count) ids.push(await pool.next())
  return ids
}
const range = (first, after) => Array.from({ length: after - first }, (_, place) => String(first + place))

test('in order, from two buffers, and a fetch holds nobody up', async () => {
  const from = server()
  const pool = new Pool(from.fetch, { size: 10 })
  assert.deepStrictEqual(await many(pool, 5), range(0, 5))
  await sleep(0)
  assert.strictEqual(from.numbers, 20)
  let open
  from.gate = new Promise(resolve => { open = resolve })
  assert.deepStrictEqual(await many(pool, 15), range(5, 20))
  open()
  assert.strictEqual(await pool.next(), '20')
})

test('each ID once', async () => {
  const from = server()
  const pool = new Pool(from.fetch, { size: 10 })
  const taken = await Promise.all(Array.from({ length: 50 }, () => many(pool, 20)))
  assert.strictEqual(new Set(taken.flat()).size, 1000)
  assert(from.calls <= 102, from.calls)
})

test('age', async () => {
  const pool = new Pool(server().fetch, { size: 10, maxAge: 50 })
  assert.strictEqual(await pool.next(), '0')
  await sleep(60)
  assert.strictEqual(await pool.next(), '10')
})

test('an error rejects and empties it', async () => {
  const from = server()
  const pool = new Pool(from.fetch, { size: 2 })
  await pool.next()
  from.error = new Error('the server is gone')
  await sleep(0)
  await assert.rejects(async () => { for (;;) await pool.next() }, from.error)
  from.error = null
  await many(pool, 1)
  await assert.rejects(new Pool(async () => []).next(), /no ID/)
  for (const options of [{ size: 0 }, { maxAge: 0 }, { size: NaN }]) assert.throws(() => new Pool(from.fetch, options), RangeError)
})

test('a background error empties it and is none of the process', async () => {
  const from = server()
  const pool = new Pool(from.fetch, { size: 10 })
  await many(pool, 4)
  from.error = new Error('the server is gone')
  await pool.next()
  await sleep(0)
  from.error = null
  assert.strictEqual(await pool.next(), '10')
})

test('what is fetched while it is cleared is dropped, and waited for by nobody else', async () => {
  const opens = []
  let numbers = 0
  const fetch = async () => {
    await new Promise(resolve => opens.push(resolve))
    return [String(++numbers), String(++numbers)]
  }
  const pool = new Pool(fetch, { size: 2 })
  const first = pool.next()
  pool.clear()
  const second = pool.next()
  assert.strictEqual(opens.length, 2)
  opens[0]()
  await sleep(0)
  // The IDs 1 and 2 are dropped; the fetch that is under way is for both.
  assert.strictEqual(opens.length, 2)
  opens[1]()
  assert.deepStrictEqual((await Promise.all([first, second])).sort(), ['3', '4'])
})
