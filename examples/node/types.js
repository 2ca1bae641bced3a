// node-postgres with type parsers: IDs as values of a class, in text and in binary, and arrays of them.
'use strict'

const assert = require('assert')
const { Client, types } = require('pg')

const ALPHABET = '23456789abcdefghijklmnopqrstuvwx'

class Sno {
  constructor (text) {
    if (!/^[2-9a-x]{16}$/.test(text)) throw new Error(`invalid sno: ${text}`)
    this.text = text
  }

  static fromBytes (bytes) {
    let number = BigInt('0x' + bytes.toString('hex'))
    let text = ''
    for (let place = 0; place < 16; place++, number >>= 5n) text = ALPHABET[Number(number & 31n)] + text
    return new Sno(text)
  }

  // When it was made: the first 39 bits count 4 ms since 2010.
  get time () {
    let number = 0
    for (const character of this.text.slice(0, 8)) number = number * 32 + ALPHABET.indexOf(character)
    return new Date(Date.UTC(2010, 0) + Math.floor(number / 2) * 4)
  }

  toString () { return this.text }

  toJSON () { return this.text }

  // What node-postgres sends for it.
  toPostgres () { return this.text }
}

// The type's OIDs are others in each database. `types` may be those of all clients, or a client's own (its `types`).
async function registerSno (client, types) {
  const { rows } = await client.query("SELECT 'sno'::regtype::oid, 'sno[]'::regtype::oid AS array")
  const [{ oid, array }] = rows
  types.setTypeParser(oid, text => new Sno(text))
  const texts = types.getTypeParser(1009) // text[]
  types.setTypeParser(array, text => texts(text).map(each => each && new Sno(each)))
}

async function main () {
  const client = new Client()
  await client.connect()
  await registerSno(client, types)
  await client.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')

  const { rows: [{ id }] } = await client.query('INSERT INTO events (payload) VALUES ($1) RETURNING id', ['first'])
  await client.query('SELECT payload FROM events WHERE id = $1', [id])
  await client.query('SELECT payload FROM events WHERE id = ANY($1)', [[id]])

  assert(id instanceof Sno && Math.abs(id.time - Date.now()) < 60000, id)
  const all = async (query, ...parameters) => (await client.query(query, parameters)).rows.map(row => row.id)
  assert.deepStrictEqual(await all('SELECT id FROM events WHERE id = $1', id), [id])
  assert.deepStrictEqual(await all('SELECT id FROM events WHERE id = ANY($1)', [id]), [id])
  const old = ['2223222222222222', '2224222222222222', '2225222222222222', '222g222222222222'].map(text => new Sno(text))
  await client.query('INSERT INTO events SELECT id, $2 FROM unnest($1::sno[]) id', [old, 'old'])
  const array = await client.query('SELECT array_agg(id ORDER BY id) || NULL::sno AS ids, NULL::sno AS none FROM events')
  assert.deepStrictEqual(array.rows, [{ ids: [...old, id, null], none: null }])

  // Ten bytes, as a bytea: the driver's own binary mode decodes all values as UTF-8, and so loses some.
  const { rows: [{ raw }] } = await client.query('SELECT id::bytea AS raw FROM events WHERE id = $1', [id])

  assert.deepStrictEqual([raw.length, Sno.fromBytes(raw)], [10, id])
  assert.deepStrictEqual(await all('SELECT id FROM events WHERE id = $1', raw), [id])
  const hourAgo = new Date(Date.now() - 3600 * 1000)
  assert.deepStrictEqual(await all('SELECT id FROM events WHERE id >= sno_lower($1)', hourAgo), [id])

  // Pages: the last ID of one is where the next one starts.
  const seen = []
  for (let last = new Sno('2222222222222222'), page; ; last = page[page.length - 1]) {
    page = await all('SELECT id FROM events WHERE id > $1 ORDER BY id LIMIT 2', last)
    if (page.length === 0) break
    seen.push(...page)
  }
  assert.deepStrictEqual(seen, [...old, id])
  await client.end()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
