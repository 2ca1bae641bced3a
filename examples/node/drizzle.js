// Drizzle, with the column type of the package sno.
'use strict'

const assert = require('assert')
const { Pool } = require('pg')
const { drizzle } = require('drizzle-orm/node-postgres')
const { pgTable, text } = require('drizzle-orm/pg-core')
const { asc, eq, gt, gte, inArray, sql } = require('drizzle-orm')
const { isSno, lowerBound } = require('sno')
const { sno } = require('sno/drizzle')

const events = pgTable('events', {
  id: sno('id').primaryKey().default(sql`sno_new(1)`),
  payload: text('payload')
})

async function main () {
  // The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  const pool = new Pool()
  const db = drizzle(pool)
  // What drizzle-kit writes into a migration.
  await db.execute('CREATE TABLE "events" ("id" "sno" PRIMARY KEY DEFAULT sno_new(1) NOT NULL, "payload" text)')

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const [first] = await db.insert(events).values([{ payload: 'first' }, { payload: 'second' }]).returning()
  const key = first.id
  const last = first.id

  const [event] = await db.insert(events).values({ payload: 'third' }).returning()
  const [found] = isSno(key) ? await db.select().from(events).where(eq(events.id, key)) : []
  const recent = await db.select().from(events).where(gte(events.id, lowerBound(hourAgo))).orderBy(asc(events.id))
  const page = await db.select().from(events).where(gt(events.id, last)).orderBy(asc(events.id)).limit(50)

  assert.match(event.id, /^[2-9a-x]{16}$/)
  assert.deepStrictEqual(found, first)
  assert.strictEqual((await db.select().from(events).where(inArray(events.id, [event.id]))).length, 1)
  assert.strictEqual(recent.length, 3)
  assert.deepStrictEqual(page.map(event => event.payload), ['second', 'third'])
  await pool.end()
}

main()
