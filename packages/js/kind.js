// Kinds of IDs, each with a name and a metabyte, written as order_9q7k4op826n2g222.
import { fields, parse } from './index.js'

export class WrongKindError extends RangeError {
  name = 'WrongKindError'
}

export function kind (name, metabyte) {
  if (!/^[a-z]([a-z0-9_]*[a-z0-9])?$/.test(name) || !(Number.isInteger(metabyte) && metabyte >= 0 && metabyte <= 255)) {
    throw new RangeError('a kind has a name of a-z, 0-9 and _, and a metabyte of 0 to 255')
  }
  function of (id) {
    const found = fields(id).metabyte
    if (found !== metabyte) throw new WrongKindError(`invalid ${name}: metabyte is ${found} instead of ${metabyte}`)
    return id
  }
  return {
    name,
    metabyte,
    of,
    tagged: id => `${name}_${of(id)}`,
    parse (text) {
      const end = typeof text === 'string' ? text.lastIndexOf('_') : -1
      if (end > 0 && text.slice(0, end) === name) return of(parse(text.slice(end + 1)))
      throw new (end > 0 ? WrongKindError : RangeError)(`invalid ${name}: the text does not begin with ${name}_`)
    }
  }
}
