// Sequelize: a data type for IDs, whose values are strings.
'use strict'

const assert = require('assert')
const { Sequelize, DataTypes, Op } = require('sequelize')
const { isSno, lowerBound } = require('sno')

class SNO extends DataTypes.ABSTRACT {
  static key = 'SNO'

  key = 'SNO'

  toSql () {
    return 'sno'
  }
}

async function main () {
  const { PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD } = process.env
  const sequelize = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD, {
    host: PGHOST, port: PGPORT, dialect: 'postgres', logging: false
  })
  const Event = sequelize.define('event', {
    id: { type: new SNO(), primaryKey: true, defaultValue: Sequelize.literal('sno_new(1)') },
    payload: DataTypes.TEXT
  }, { tableName: 'events', timestamps: false })
  await sequelize.sync()

  const event = await Event.create({ payload: 'first' })
  await Event.bulkCreate([{ payload: 'second' }, { payload: 'third' }])
  assert.match(event.id, /^[2-9a-x]{16}$/)

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const [key, last] = [event.id, event.id]
  const found = isSno(key) ? await Event.findByPk(key) : null
  const recent = await Event.findAll({ where: { id: { [Op.gte]: lowerBound(hourAgo) } }, order: ['id'] })
  const page = await Event.findAll({ where: { id: { [Op.gt]: last } }, order: ['id'], limit: 50 })

  assert.strictEqual(found.payload, 'first')
  assert.strictEqual((await Event.findAll({ where: { id: [event.id] } })).length, 1)
  assert.strictEqual(recent.length, 3)
  assert.deepStrictEqual(page.map(event => event.payload), ['second', 'third'])
  await sequelize.close()
}

main()
