/** A pool of IDs that the server has generated. */
export class Pool<Id extends string = string> {
  /** `fetch(n)` returns n new IDs. The pool has one to two times `size` of them, none older than `maxAge` milliseconds. */
  constructor (fetch: (count: number) => Promise<Iterable<Id>>, options?: { size?: number, maxAge?: number })
  /** An ID of the pool. It waits only if there is none, and is rejected as `fetch` was. */
  next (): Promise<Id>
  /** Drops all IDs, and those that are being fetched: after an error that a failover causes. */
  clear (): void
}
