// A pool of IDs that the server has generated: an ID before the insert, without a round trip.

export class Pool {
  #fetch
  #size
  #maxAge
  // One in use, and the next one, which is fetched when half of the first is left.
  #buffers = []
  #refill = null

  constructor (fetch, { size = 100, maxAge = 1000 } = {}) {
    if (!(size >= 1 && maxAge > 0)) throw new RangeError('a pool has a size of at least 1 and an age of more than 0 milliseconds')
    this.#fetch = fetch
    this.#size = size
    this.#maxAge = maxAge
  }

  async next () {
    for (;;) {
      const now = performance.now()
      // In place: who refills an array that is no longer the pool's refills nothing.
      this.#buffers.splice(0, Infinity, ...this.#buffers.filter(({ until, ids }) => ids.length > 0 && now < until))
      const taken = this.#buffers[0]?.ids.pop()
      const left = this.#buffers.reduce((sum, { ids }) => sum + ids.length, 0)
      if (left <= this.#size / 2 && this.#refill === null) this.#start()
      if (taken !== undefined) return taken
      await this.#refill
    }
  }

  clear () {
    this.#buffers = []
    this.#refill = null
  }

  #start () {
    const refill = this.#fill(this.#buffers).finally(() => {
      if (this.#refill === refill) this.#refill = null
    })
    // Those who wait for it see its error, and if nobody does it is none of the process.
    refill.catch(() => {})
    this.#refill = refill
  }

  async #fill (buffers) {
    try {
      const ids = [...await this.#fetch(this.#size)].reverse()
      if (ids.length === 0) throw new RangeError('fetch returned no ID')
      buffers.push({ until: performance.now() + this.#maxAge, ids })
    } catch (error) {
      buffers.length = 0
      throw error
    }
  }
}
