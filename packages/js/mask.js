// Masks of IDs, as sno_mask and sno_unmask make them in SQL: FF1 of NIST SP 800-38G, with radix 32 and 16 numerals, so that
// each of its halves is five bytes.
import { createCipheriv } from 'node:crypto'
import { fromBytes, parse, toBytes } from './index.js'

const ROUNDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
const HALF = 2 ** 40

export function mask (id, key, context = '') {
  return convert(id, key, context, ([left, right], pad) => ROUNDS.reduce(
    ([left, right], round) => [right, (left + pad(round, right)) % HALF], [left, right]))
}

export function unmask (masked, key, context = '') {
  return convert(masked, key, context, ([left, right], pad) => ROUNDS.reduceRight(
    ([left, right], round) => [(right - pad(round, left) + HALF) % HALF, left], [left, right]))
}

export function masks (key, context = '') {
  return { mask: id => mask(id, key, context), unmask: masked => unmask(masked, key, context) }
}

function convert (text, key, context, rounds) {
  // The digits of a key are as long as another key.
  if (Object.prototype.toString.call(key) !== '[object Uint8Array]') throw new TypeError('a key is a Buffer or a Uint8Array')
  if (![16, 24, 32].includes(key.length)) throw new RangeError(`a key is 16, 24 or 32 bytes long, not ${key.length}`)
  const tweak = Buffer.from(context)
  const head = Buffer.from([1, 2, 1, 0, 0, 32, 10, 8, 0, 0, 0, 16, 0, 0, 0, 0])
  head.writeUInt32BE(tweak.length, 12)
  const zeros = Buffer.alloc((16 - (tweak.length + 6) % 16) % 16)
  const pad = (round, half) => {
    const last = Buffer.alloc(6, round)
    last.writeUIntBE(half, 1, 5)
    const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, Buffer.alloc(16)).setAutoPadding(false)
    const blocks = cipher.update(Buffer.concat([head, tweak, zeros, last]))
    // The number is the first 12 bytes of the last block, modulo 2^40.
    return blocks.readUIntBE(blocks.length - 9, 5)
  }
  const bytes = Buffer.from(toBytes(parse(text)))
  const halves = rounds([bytes.readUIntBE(0, 5), bytes.readUIntBE(5, 5)], pad)
  halves.forEach((half, place) => bytes.writeUIntBE(half, place * 5, 5))
  return fromBytes(bytes)
}
