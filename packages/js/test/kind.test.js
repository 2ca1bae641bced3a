// Kinds: names and metabytes.
import assert from 'node:assert'
import { test } from 'node:test'
import { fields, make } from '../index.js'
import { kind, WrongKindError } from '../kind.js'

const ID = '9q7k4op826n2g222'
const event = kind('event', 1)
const order = kind('order', 2)
const other = make({ time: fields(ID).time, metabyte: 2 })

test('there and back', () => {
  assert.strictEqual(event.tagged(ID), `event_${ID}`)
  assert.strictEqual(event.parse(`event_${ID}`), ID)
  assert.strictEqual(event.of(ID), ID)
  assert.strictEqual(kind('order_item', 1).parse(`order_item_${ID}`), ID)
})

test('another kind', () => {
  for (const wrong of [() => event.parse(order.tagged(other)), () => event.parse(`event_${other}`), () => event.parse(`order_${ID}`), () => event.of(other), () => event.tagged(other)]) {
    assert.throws(wrong, error => error instanceof WrongKindError && error instanceof RangeError && error.name === 'WrongKindError')
  }
  assert.throws(() => event.of(other), { message: 'invalid event: metabyte is 2 instead of 1' })
  assert.throws(() => event.parse(order.tagged(other)), { message: 'invalid event: the text does not begin with event_' })
})

test('what is no ID, and what is no kind', () => {
  for (const text of ['', ID, 'event', 'event_', `_${ID}`, `event_${ID} `, `event_${ID.toUpperCase()}`, undefined, 5, null, { toString: () => `event_${ID}` }, Object.create(null)]) {
    assert.throws(() => event.parse(text), { name: 'RangeError' })
  }
  for (const [name, metabyte] of [['', 1], ['Order', 1], ['1st', 1], ['order_', 1], ['order', 256], ['order', -1], ['order', 0.5], ['order']]) {
    assert.throws(() => kind(name, metabyte), RangeError)
  }
})
