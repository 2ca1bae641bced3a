// What TypeScript makes of the package: tsc --strict. It is compiled, not run.
import { fields, fromBytes, isSno, lowerBound, make, parse, time, toBytes, upperBound, type Sno } from 'sno'
import { kind, WrongKindError, type IdOf } from 'sno/kind'
import { register } from 'sno/pg'
import { consume } from 'sno/consumer'
import pg from 'pg'

const id: Sno = parse('9q7k4op826n2g222')
// @ts-expect-error A text is no ID before it is parsed.
const wrong: Sno = '9q7k4op826n2g222'
const unknown: unknown = wrong
export const checked: Sno | null = isSno(unknown) ? unknown : null
export const at: Date[] = [time(id), time('9q7k4op826n2g222'), fields(id).time]
export const ids: Sno[] = [lowerBound(new Date()), upperBound(new Date()), make({ time: new Date(), metabyte: 1 })]
export const back: Sno = fromBytes(toBytes(id))
export const json: string = JSON.stringify({ id, later: id < back })

const order = kind('order', 2)
const user = kind('user', 3)
type OrderId = IdOf<typeof order>
const orderId: OrderId = order.parse('order_9q7k4op82an2g222')
export const anyKind: Sno = orderId
export const text: string = order.tagged(orderId)
// @ts-expect-error An ID of no kind.
order.tagged(id)
// @ts-expect-error Another kind.
order.tagged(user.of(id))
export const isWrong = (error: unknown): boolean => error instanceof WrongKindError
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
