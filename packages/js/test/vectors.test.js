// IDs, fields and bounds, held to the vectors of the core.
import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fields, fromBytes, isSno, lowerBound, make, parse, time, toBytes, upperBound } from '../index.js'

function vectors (name) {
  const lines = readFileSync(new URL(`../../../core/tests/vectors/${name}`, import.meta.url), 'utf8').trimEnd().split('\n')
  const names = lines.shift().split('\t')
  return lines.map(line => Object.fromEntries(line.split('\t').map((value, place) => [names[place], value])))
}

const [FIRST, LAST] = ['2'.repeat(16), 'x'.repeat(16)]

test('fields, bytes and texts', () => {
  const rows = vectors('sno.tsv')
  assert.strictEqual(rows.length, 122)
  for (const row of rows) {
    const numbers = { metabyte: Number(row.metabyte), partition: Number(row.partition), sequence: Number(row.sequence) }
    const expected = { time: new Date(Number(BigInt(row.unix_ns) / 1000000n)), tickTock: row.tick_tock === '1', ...numbers }
    assert.deepStrictEqual(fields(row.text), expected)
    assert.strictEqual(make(expected), row.text)
    assert.deepStrictEqual(time(row.text), expected.time)
    assert.strictEqual(Buffer.from(toBytes(row.text)).toString('hex'), row.hex)
    assert.strictEqual(fromBytes(Buffer.from(row.hex, 'hex')), row.text)
    assert.strictEqual(fromBytes(new Uint8Array(Buffer.from(row.hex, 'hex'))), row.text)
  }
  const byBytes = rows.map(row => row.hex).sort().map(hex => fromBytes(Buffer.from(hex, 'hex')))
  assert.deepStrictEqual(rows.map(row => row.text).sort(), byBytes)
})

test('what is no ID', () => {
  for (const [text, reason] of [
    ['', 'length is 0 instead of 16'],
    ['9q7k4op826n2g222\n', 'length is 17 instead of 16'],
    ['9Q7k4op826n2g222', 'character 2 is not one of 2-9 and a-x'],
    ['9q7k4op826n2g22\n', 'character 16 is not one of 2-9 and a-x']
  ]) {
    assert.throws(() => parse(text), { name: 'RangeError', message: `invalid sno: ${reason}` })
    assert.throws(() => fields(text), RangeError)
    assert(!isSno(text))
  }
  assert.strictEqual(parse(LAST), LAST)
  assert(isSno(LAST) && !isSno(5) && !isSno([LAST]))
  assert.throws(() => fromBytes(new Uint8Array(9)), RangeError)
  assert.throws(() => parse(5), { name: 'TypeError', message: 'an ID is a string, not number' })
  for (const wrong of ['0123456789', new Uint16Array(10), new Int8Array(10), new Array(10).fill(0), undefined]) assert.throws(() => fromBytes(wrong), TypeError)
  const now = new Date()
  for (const wrong of [{ metabyte: 256 }, { metabyte: -1 }, { metabyte: 0.5 }, { partition: 65536 }, { sequence: 65536 },
    { time: new Date(Date.UTC(2010, 0) - 1) }, { time: new Date(Date.UTC(2079, 9)) }, { time: new Date(NaN) }]) {
    assert.throws(() => make({ time: now, ...wrong }), RangeError, JSON.stringify(wrong))
  }
  assert.strictEqual(make({ time: now, tickTock: 'yes' }), make({ time: now, tickTock: true }))
  assert.strictEqual(fromBytes(toBytes(LAST)), LAST)
})

test('bounds', () => {
  const at = new Date('2026-11-21T09:30:15.372Z')
  const after = ms => new Date(at.getTime() + ms)
  assert.strictEqual(lowerBound(at), '9q7k4op822222222')
  assert.strictEqual(upperBound(at), '9q7k4op9xxxxxxxx')
  assert.strictEqual(lowerBound(after(1)), lowerBound(after(4)))
  assert(lowerBound(at) < lowerBound(after(1)))
  assert.strictEqual(upperBound(after(3)), upperBound(at))
  assert.strictEqual(upperBound(after(-1)), upperBound(after(-4)))
  const [first, last] = [time(FIRST), time(LAST)]
  assert.deepStrictEqual([lowerBound(first), upperBound(last)], [FIRST, LAST])
  assert.strictEqual(lowerBound(last), 'xxxxxxxw22222222')
  const [before, late] = [new Date(first - 1), new Date(last.getTime() + 4)]
  assert.deepStrictEqual([lowerBound(before), upperBound(before)], [FIRST, FIRST])
  assert.deepStrictEqual([lowerBound(late), upperBound(late)], [LAST, LAST])
  assert.throws(() => lowerBound(new Date('no time')), RangeError)
  for (const wrong of [null, undefined, '2026', 1767225600, []]) {
    assert.throws(() => lowerBound(wrong), new TypeError('a Date is required'))
  }
})
