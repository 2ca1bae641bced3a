// What register asks node-postgres for. The driver itself: examples/node/types.js.
import assert from 'node:assert'
import { test } from 'node:test'
import { register } from '../pg.js'

test('arrays get the parser of arrays, and IDs stay strings', async () => {
  const oids = { sno: 101, 'sno[]': 102 }
  const client = { query: async text => ({ rows: [{ oid: oids[/'(.*)'::regtype::oid/.exec(text)[1]] }] }) }
  const parsers = new Map([[1009, text => [text]]])
  await register(client, { getTypeParser: oid => parsers.get(oid), setTypeParser: (oid, parse) => parsers.set(oid, parse) })
  assert.deepStrictEqual([...parsers.keys()], [1009, oids['sno[]']])
  assert.strictEqual(parsers.get(oids['sno[]']), parsers.get(1009))
})
