// TypeORM: IDs are strings, in a column whose type the driver has to be told.
'use strict'

const assert = require('assert')
const { isSno, lowerBound } = require('sno')
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
  // TypeORM refuses types that it does not know.
  source.driver.supportedDataTypes.push('sno')
  await source.initialize()
  await source.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')
  const events = source.getRepository(Event)

  const { identifiers: [event] } = await events.insert({ payload: 'first' })
  await events.insert([{ payload: 'second' }, { payload: 'third' }])
  assert.match(event.id, /^[2-9a-x]{16}$/)

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const [key, last] = [event.id, event.id]
  const found = isSno(key) ? await events.findOneBy({ id: key }) : null
  const recent = await events.find({ where: { id: MoreThanOrEqual(lowerBound(hourAgo)) }, order: { id: 'ASC' } })
  const page = await events.find({ where: { id: MoreThan(last) }, order: { id: 'ASC' }, take: 50 })

  assert.strictEqual(found.payload, 'first')
  assert.strictEqual((await events.findBy({ id: In([event.id]) })).length, 1)
  assert.strictEqual(recent.length, 3)
  assert.deepStrictEqual(page.map(event => event.payload), ['second', 'third'])
  await source.destroy()
}

main()
