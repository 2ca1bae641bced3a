// What TypeScript makes of the package: tsc --strict. It is compiled, not run.
import { fields, fromBytes, isSno, lowerBound, make, parse, time, toBytes, upperBound, type Sno } from 'sno'
import { mask, masks, unmask } from 'sno/mask'
import { kind, WrongKindError, type IdOf } from 'sno/kind'
import { register } from 'sno/pg'
import { sno } from 'sno/drizzle'
import { consume } from 'sno/consumer'
import { and, gte, lte } from 'drizzle-orm'
import { pgTable, text as textColumn } from 'drizzle-orm/pg-core'
import pg from 'pg'

const id: Sno = parse('9q7k4op826n2g222')
// @ts-expect-error A text is no ID before it is parsed.
const wrong: Sno = '9q7k4op826n2g222'
const unknown: unknown = wrong
export const checked: Sno | null = isSno(unknown) ? unknown : null
export const at: Date[] = [time(id), time('9q7k4op826n2g222'), fields(id).time]
export const ids: Sno[] = [lowerBound(new Date()), upperBound(new Date()), make({ time: new Date(), metabyte: 1 })]
export const back: Sno = fromBytes(toBytes(id))
export const masked: string = mask(id, new Uint8Array(16), 'orders')
export const unmasked: Sno = unmask(masked, new Uint8Array(16))
export const json: string = JSON.stringify({ id, later: id < back })

const order = kind('order', 2)
const user = kind('user', 3, masks(new Uint8Array(16), 'user'))
type OrderId = IdOf<typeof order>
const orderId: OrderId = order.parse('order_9q7k4op82an2g222')
export const anyKind: Sno = orderId
export const text: string = order.tagged(orderId)
// @ts-expect-error An ID of no kind.
order.tagged(id)
// @ts-expect-error Another kind.
order.tagged(user.of(id))
export const isWrong = (error: unknown): boolean => error instanceof WrongKindError
const orders = pgTable('orders', { id: sno('id').$type<OrderId>().primaryKey() })
export const orderKey = (row: typeof orders.$inferSelect): OrderId => row.id
export const recentOrders = and(gte(orders.id, lowerBound(new Date())), lte(orders.id, upperBound(new Date())))

const events = pgTable('events', { id: sno('id').primaryKey(), payload: textColumn('payload') })
export type Event = typeof events.$inferSelect
export const key = (event: Event): Sno => event.id
export const recent = gte(events.id, lowerBound(new Date()))

export async function bill (client: pg.Client): Promise<void> {
  const connect = async () => client
  await consume<{ id: Sno }, pg.Client>(connect, 'billing', 'orders', (row, client) => client.query('SELECT $1', [row.id]), { batchSize: 5 })
  await consume<{ id: Sno }, pg.Client>(connect, 'billing', 'orders', async rows => { rows.map(row => row.id) }, { batches: true })
  // @ts-expect-error A batch is no row.
  await consume<{ id: Sno }>(connect, 'billing', 'orders', rows => rows.length)
}

export async function connect (): Promise<void> {
  await register(new pg.Pool(), pg.types)
  await register(new pg.Client())
}
