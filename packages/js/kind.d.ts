import type { Sno } from './index.js'

/** An ID is of another kind. */
export class WrongKindError extends RangeError {}

/** `type OrderId = IdOf<typeof order>` is `Sno<'order'>`. */
export type IdOf<K extends Kind<string>> = K extends Kind<infer Name> ? Sno<Name> : never

export interface Kind<Name extends string> {
  readonly name: Name
  readonly metabyte: number
  /** The ID of 16 characters, as the database has it; a WrongKindError if its metabyte is another one. */
  of (id: string): Sno<Name>
  /** The name and the ID: what people see. */
  tagged (id: Sno<Name>): string
  /** Reads what `tagged` writes. Any other text is a RangeError, one of another kind a WrongKindError. */
  parse (text: string): Sno<Name>
}

/** `kind('order', 2)` */
export function kind<Name extends string> (name: Name, metabyte: number): Kind<Name>
