/** A pool of IDs that the server has generated. */
export class Pool<Id extends string = string> {
  /** `fetch(n)` returns n new IDs. The pool has up to one and a half times `size` of
   * them, and drops them `maxAge` milliseconds after it has received them. */
  constructor (fetch: (count: number) => Promise<Iterable<Id>>, options?: { size?: number, maxAge?: number })
  /** An ID of the pool. It waits only if there is none, and is rejected as `fetch` was. */
  next (): Promise<Id>
  /** Drops all IDs, and those that are being fetched: after an error that a failover causes. */
  clear (): void
}
