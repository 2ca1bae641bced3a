// Prisma 7, whose client asks the server by the driver pg. The model is in schema.prisma.
'use strict'

const assert = require('assert')
const { execFileSync } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')
const { Pool } = require('pg')
const { PrismaPg } = require('@prisma/adapter-pg')
const { isSno, lowerBound, time } = require('sno')

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Generates the client of the model into a folder. */
function generate (folder) {
  const schema = path.join(folder, 'schema.prisma')
  fs.copyFileSync(path.join(__dirname, 'schema.prisma'), schema)
  const program = require.resolve('prisma/build/index.js')
  // It looks for the client beside the model.
  fs.symlinkSync(path.resolve(program, '../../..'), path.join(folder, 'node_modules'))
  // Migrations need a program that is no part of the package; the client doesn't.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  execFileSync(process.execPath, [program, 'generate', '--schema', schema], { env, cwd: folder, stdio: 'pipe' })
  return require(path.join(folder, 'client'))
}

async function main (folder) {
  const { PrismaClient } = generate(folder)
  // The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  const pool = new Pool()
  await pool.query('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)')
  await pool.query('CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT sno_to_uuidv7(sno_new(2)), payload text)')
  await pool.end()
  const prisma = new PrismaClient({ adapter: new PrismaPg({}) })

  const hourAgo = new Date(Date.now() - 3600 * 1000)
  const first = await prisma.events.create({ data: { payload: 'first' } })
  await prisma.events.create({ data: { payload: 'second' } })
  const key = first.id
  const last = first.id

  const event = await prisma.events.create({ data: { payload: 'third' } })
  const found = isSno(key) ? await prisma.events.findUnique({ where: { id: key } }) : null
  const recent = await prisma.events.findMany({ where: { id: { gte: lowerBound(hourAgo) } }, orderBy: { id: 'asc' } })
  const page = await prisma.events.findMany({ where: { id: { gt: last } }, orderBy: { id: 'asc' }, take: 50 })

  assert.match(event.id, /^[2-9a-x]{16}$/)
  assert.deepStrictEqual(found, first)
  assert.deepStrictEqual(recent.map(row => row.payload), ['first', 'second', 'third'])
  assert.deepStrictEqual(page.map(row => row.payload), ['second', 'third'])
  // A field that is computed from the ID.
  const compute = ({ id }) => time(id)
  const timed = prisma.$extends({ result: { events: { createdAt: { needs: { id: true }, compute } } } })
  const { createdAt } = await timed.events.findUnique({ where: { id: key } })
  assert.deepStrictEqual(createdAt, time(key))
  await prisma.events.deleteMany()
  // The bound of a uuid comes from the server.
  const [{ bound }] = await prisma.$queryRaw`SELECT sno_to_uuidv7(sno_lower(${hourAgo}::timestamptz)) AS bound`

  for (const [model, text, lower] of [
    [prisma.orders, UUID, bound],
    [prisma.events, /^[2-9a-x]{16}$/, lowerBound(hourAgo)]
  ]) {
    const first = await model.create({ data: { payload: 'first' } })
    assert.match(first.id, text)
    await model.createMany({ data: [{ payload: 'second' }, { payload: 'third' }] })
    assert.deepStrictEqual(await model.findUnique({ where: { id: first.id } }), first)
    assert.strictEqual((await model.findMany({ where: { id: { in: [first.id] } } })).length, 1)

    const recent = await model.findMany({ where: { id: { gte: lower } }, orderBy: { id: 'asc' } })
    assert.deepStrictEqual(recent.map(row => row.payload), ['first', 'second', 'third'])

    const page = await model.findMany({ where: { id: { gt: first.id } }, orderBy: { id: 'asc' }, take: 1 })
    assert.deepStrictEqual(page.map(row => row.payload), ['second'])
    await model.update({ where: { id: first.id }, data: { payload: 'changed' } })
    await model.delete({ where: { id: first.id } })
  }
  await prisma.$disconnect()
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sno-prisma-'))
main(folder).finally(() => fs.rmSync(folder, { recursive: true }))
