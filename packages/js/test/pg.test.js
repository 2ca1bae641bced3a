// What register asks node-postgres for. The driver itself: examples/node/types.js.
import assert from 'node:assert'
import { test } from 'node:test'
import { register } from '../pg.js'

test('arrays get the parser of arrays, and IDs stay strings', async () => {
  // The arrays of the type, and of a domain over it.
  const arrays = [102, 104]
  const client = { query: async text => ({ rows: /^SELECT typarray AS oid FROM pg_type/.test(text) ? arrays.map(oid => ({ oid })) : [] }) }
  const parsers = new Map([[1009, text => [text]]])
  await register(client, { getTypeParser: oid => parsers.get(oid), setTypeParser: (oid, parse) => parsers.set(oid, parse) })
  assert.deepStrictEqual([...parsers.keys()], [1009, ...arrays])
  for (const oid of arrays) assert.strictEqual(parsers.get(oid), parsers.get(1009))
})
