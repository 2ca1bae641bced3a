/** What a consumer needs of node-postgres' `Client`. */
interface Client {
  query (text: string, values?: any[]): Promise<any>
  end (): Promise<void>
  on (event: any, listener: (...args: any[]) => void): any
}

export interface Options<Row, C> {
  /** The column by which the feed is read; `id` by default. */
  key?: string
  /** How many rows are read at once; 100 by default. */
  batchSize?: number
  /**
   * Leaves no transaction open while the handler works, for what it sends elsewhere: the position is stored after it, and rows can
   * come again.
   */
  autocommit?: boolean
  /** How often a row may fail before it is poison, which the server counts: the handler, or what reads the row; 5 by default. */
  attempts?: number
  /**
   * Called as the handler, and passes a row that is poison. Without it, `consume` is rejected with the error. A row that
   * could not be read has the texts that the server sent.
   */
  onPoison?: (row: Row, error: unknown, client: C) => unknown
  /** How many seconds a wait for new rows lasts; 2 by default. The server goes on with a wait whose consumer has ended. */
  timeout?: number
  /** Stops the consumer: after the row that is being handled. */
  signal?: AbortSignal
  /** `console` by default. */
  logger?: { info? (message: string): void, warn (message: string, error?: unknown): void }
}

/**
 * Calls `handler(row, client)` for each new row of a feed. The promise is fulfilled after the signal, and else rejected.
 *
 * `connect()` returns a new client that is connected and has a listener for errors; the consumer ends it. `source` is the table
 * or the view of changes of the feed, as SQL writes it. What the handler writes with the client is committed together with the feed's
 * position, after it has returned, once for up to `batchSize` rows. With `batches`, `handler(rows, client)` gets them together.
 * It has failed if it throws, or if what it returns is an error, a promise or a result of `Promise.allSettled` with one, or an array with such.
 */
export function consume<Row = any, C extends Client = any> (
  connect: () => Promise<C>, feed: string, source: string,
  handler: (row: Row, client: C) => unknown, options?: Options<Row, C> & { batches?: false }): Promise<void>
export function consume<Row = any, C extends Client = any> (
  connect: () => Promise<C>, feed: string, source: string,
  handler: (rows: Row[], client: C) => unknown, options: Options<Row, C> & { batches: true }): Promise<void>
