// What register asks node-postgres for. The driver itself: examples/node/types.js.
import assert from 'node:assert'
import { test } from 'node:test'
import { register } from '../pg.js'

test('arrays get the parser of arrays, IDs stay strings, and none is read in binary', async () => {
  // The type, and a domain over it.
  const kinds = [{ oid: '101', typarray: '102' }, { oid: '103', typarray: '104' }]
  const client = { query: async text => ({ rows: /^SELECT oid::text, typarray::text FROM pg_type/.test(text) ? kinds : [] }) }
  const parsers = new Map([['1009 text', text => [text]]])
  const place = (oid, format) => `${oid} ${format}`
  await register(client, {
    getTypeParser: (oid, format = 'text') => parsers.get(place(oid, format)),
    setTypeParser: (oid, format, parse) => parsers.set(...parse ? [place(oid, format), parse] : [place(oid, 'text'), format])
  })
  assert.deepStrictEqual([...parsers.keys()].sort(), ['1009 text', '101 binary', '102 binary', '102 text', '103 binary', '104 binary', '104 text'])
  for (const { oid, typarray } of kinds) {
    assert.strictEqual(parsers.get(`${typarray} text`), parsers.get('1009 text'))
    for (const type of [oid, typarray]) assert.throws(() => parsers.get(`${type} binary`)(Buffer.alloc(10)), /select id::text/)
  }
})
