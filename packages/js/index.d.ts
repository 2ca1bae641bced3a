declare const sno: unique symbol

/** An ID: a string of 16 characters. JSON, URLs and drivers take it as it is, and `<` compares times. `Sno<'order'>` is of a kind. */
export type Sno<Kind extends string = string> = string & { readonly [sno]: Kind }

export interface Fields {
  /** The start of a tick of 4 ms. */
  time: Date
  tickTock: boolean
  /** The byte of the application, 0 to 255. */
  metabyte: number
  /** Which server generated the ID, and which of its generators: 0 to 65535. */
  partition: number
  sequence: number
}

/** The text as an ID; a RangeError says what is wrong with it if it is not one. */
export function parse (text: string): Sno
export function isSno (value: unknown): value is Sno
/** When the ID was generated, to 4 ms. */
export function time (id: string): Date
export function fields (id: string): Fields
/** The ID of these fields. It is not generated: nothing makes it unique. */
export function make (fields: { time: Date } & Partial<Fields>): Sno
/** The smallest ID at or after a time: `id >= lowerBound(t)` is `sno_time(id) >= t`. */
export function lowerBound<Kind extends string = string> (time: Date): Sno<Kind>
/** The largest ID at or before a time: `id <= upperBound(t)` is `sno_time(id) <= t`. */
export function upperBound<Kind extends string = string> (time: Date): Sno<Kind>
/** The ten bytes, as `id::bytea` has them. */
export function toBytes (id: string): Uint8Array
export function fromBytes (bytes: Uint8Array): Sno
