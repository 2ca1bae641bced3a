// IDs of the PostgreSQL type sno: strings of 16 characters that sort by time.

const ALPHABET = '23456789abcdefghijklmnopqrstuvwx'
const EPOCH = Date.UTC(2010, 0)
const TICK = 4
const LAST_TICK = 2 ** 39 - 1

export function parse (text) {
  if (typeof text !== 'string') throw new TypeError(`an ID is a string, not ${text === null ? null : typeof text}`)
  if (text.length !== 16) throw new RangeError(`invalid sno: length is ${text.length} instead of 16`)
  const wrong = text.search(/[^2-9a-x]/)
  if (wrong >= 0) throw new RangeError(`invalid sno: character ${wrong + 1} is not one of 2-9 and a-x`)
  return text
}

export function isSno (value) {
  return typeof value === 'string' && /^[2-9a-x]{16}$/.test(value)
}

// Numbers hold 53 bits, so an ID is two of 40: tick and tick-tock; metabyte, partition and sequence.
function halves (id) {
  parse(id)
  const half = text => [...text].reduce((number, character) => number * 32 + ALPHABET.indexOf(character), 0)
  return [half(id.slice(0, 8)), half(id.slice(8))]
}

function ofHalves (high, low) {
  const text = half => Array.from({ length: 8 }, (_, place) => ALPHABET[Math.floor(half / 32 ** (7 - place)) % 32]).join('')
  return text(high) + text(low)
}

export function fields (id) {
  const [high, low] = halves(id)
  return {
    time: new Date(EPOCH + Math.floor(high / 2) * TICK),
    tickTock: high % 2 === 1,
    metabyte: Math.floor(low / 2 ** 32),
    partition: Math.floor(low / 2 ** 16) % 2 ** 16,
    sequence: low % 2 ** 16
  }
}

export function time (id) {
  return fields(id).time
}

function ticks (time) {
  if (typeof time?.getTime !== 'function') throw new TypeError('a Date is required')
  const ticks = (time.getTime() - EPOCH) / TICK
  if (Number.isNaN(ticks)) throw new RangeError('invalid time')
  return ticks
}

export function make ({ time, tickTock = false, metabyte = 0, partition = 0, sequence = 0 }) {
  const tick = Math.floor(ticks(time))
  for (const [name, value, most] of [
    ['time', tick, LAST_TICK], ['metabyte', metabyte, 255], ['partition', partition, 65535], ['sequence', sequence, 65535]
  ]) {
    if (!(Number.isInteger(value) && value >= 0 && value <= most)) throw new RangeError(`${name} out of range`)
  }
  return ofHalves(tick * 2 + (tickTock ? 1 : 0), (metabyte * 2 ** 16 + partition) * 2 ** 16 + sequence)
}

export function lowerBound (time) {
  const tick = Math.ceil(ticks(time))
  return tick > LAST_TICK ? 'x'.repeat(16) : ofHalves(Math.max(tick, 0) * 2, 0)
}

export function upperBound (time) {
  const tick = Math.floor(ticks(time))
  return tick < 0 ? '2'.repeat(16) : ofHalves(Math.min(tick, LAST_TICK) * 2 + 1, 2 ** 40 - 1)
}

export function toBytes (id) {
  return Uint8Array.from(halves(id).flatMap(half => [4, 3, 2, 1, 0].map(place => Math.floor(half / 256 ** place) % 256)))
}

export function fromBytes (bytes) {
  // Not by instanceof: a test runner can have a Uint8Array of its own.
  if (Object.prototype.toString.call(bytes) !== '[object Uint8Array]') throw new TypeError('an ID is read from a Uint8Array')
  if (bytes.length !== 10) throw new RangeError(`invalid sno: ${bytes.length} bytes instead of 10`)
  const half = bytes => bytes.reduce((number, byte) => number * 256 + byte, 0)
  const all = [...bytes]
  return ofHalves(half(all.slice(0, 5)), half(all.slice(5)))
}
