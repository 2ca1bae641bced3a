// TypeORM: IDs are strings, in a column whose type the driver has to be told.
'use strict'

const assert = require('assert')
const { lowerBound } = require('sno')
const { DataSource, EntitySchema, In, MoreThan, MoreThanOrEqual } = require('typeorm')

const Event = new EntitySchema({
  name: 'Event',
  tableName: 'events',
  columns: {
    id: { type: 'sno', primary: true, default: () => 'sno_new(1)' },
    payload: { type: 'text', nullable: true }
  }
})

async function main () {
  const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env
  const source = new DataSource({
    type: 'postgres',
    host: PGHOST,
    port: Number(PGPORT),
    database: PGDATABASE,
    username: PGUSER,
    password: PGPASSWORD,
    entities: [Event]
  })
  // TypeORM takes no type that it does not know.
  source.driver.supportedDataTypes.push('sno')
  await source.initialize()
  await source.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')
  const events = source.getRepository(Event)

  const { identifiers: [{ id }] } = await events.insert({ payload: 'first' })
  await events.insert([{ payload: 'second' }, { payload: 'third' }])
  assert.match(id, /^[2-9a-x]{16}$/)
  assert.strictEqual((await events.findOneBy({ id })).payload, 'first')
  assert.strictEqual((await events.findBy({ id: In([id]) })).length, 1)

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const recent = await events.find({
    where: { id: MoreThanOrEqual(lowerBound(hourAgo)) },
    order: { id: 'ASC' }
  })
  assert.strictEqual(recent.length, 3)

  const page = await events.find({ where: { id: MoreThan(id) }, order: { id: 'ASC' }, take: 2 })
  assert.deepStrictEqual(page.map(event => event.payload), ['second', 'third'])
  await source.destroy()
}

main()
