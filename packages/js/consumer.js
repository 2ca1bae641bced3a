// A consumer of a feed, with node-postgres: it waits, reads, connects again, stops; the application handles rows.
import { connect as connectSocket } from 'node:net'
import { fromBytes, toBytes } from './index.js'

// The SQLSTATEs, or their classes, of errors that do not come again for ever: lost connections, standbys, lack of space, conflicts.
const TRY_AGAIN = /^(08|25006|25P03|25P04|40|53|55P03|57P)/

const STOPPED = new Error('the consumer was stopped')

/** A client, whether its connection is lost, and what it knows of its transaction: I, T or E. */
class Session {
  lost = false
  reason = null
  status = null

  constructor (client) {
    this.client = client
    // Without a listener, a lost connection would end the process.
    client.on('error', error => {
      this.lost = true
      // What the server said comes once, the statements after it only fail.
      this.reason ??= error
    })
    client.on('end', () => { this.lost = true })
    client.connection.on('readyForQuery', message => { this.status = message.status })
    // The handler can have gone on before the server has said so.
    client.connection.on('errorMessage', () => { if (this.status === 'T') this.status = 'E' })
  }

  /** Without a name, which a statement of PgBouncer's transaction mode could not have. */
  query (text, ...values) {
    return this.client.query(text, values)
  }

  /** As query, until the signal comes, or no answer for some seconds. */
  async stoppable (signal, seconds, text, ...values) {
    if (signal?.aborted) throw STOPPED
    const answer = this.query(text, ...values)
    answer.catch(() => {})
    let timer, stop
    const interrupted = new Promise((resolve, reject) => {
      stop = () => {
        this.cancel()
        reject(STOPPED)
      }
      signal?.addEventListener('abort', stop)
      if (seconds) timer = setTimeout(() => { this.lost = true; reject(new Error('the server is silent')) }, seconds * 1000)
    })
    interrupted.catch(() => {})
    try {
      return await Promise.race([answer, interrupted])
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Asks the server to end the statement: it would not notice that nobody waits for it. */
  cancel () {
    const { host, port, processID, secretKey } = this.client
    const request = Buffer.alloc(16)
    ;[16, 80877102, processID, secretKey].forEach((number, place) => request.writeInt32BE(number | 0, place * 4))
    const socket = connectSocket(host?.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    socket.on('error', () => {})
    socket.end(request)
    socket.unref()
  }

  async close () {
    this.lost = true
    // An open transaction is rolled back by it. A lost connection may never be closed.
    await Promise.race([this.client.end().catch(() => {}), new Promise(resolve => setTimeout(resolve, 100))])
  }
}

function sleep (seconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(STOPPED)
    const stop = () => {
      clearTimeout(timer)
      reject(STOPPED)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1000)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The ID before an ID. */
function previous (id) {
  const number = BigInt(`0x${Buffer.from(toBytes(id)).toString('hex')}`)
  return fromBytes(Buffer.from((number && number - 1n).toString(16).padStart(20, '0'), 'hex'))
}

export async function consume (connect, feed, source, handler, {
  key = 'id', batchSize = 100, batches = false, attempts = 5, onPoison, timeout = 30, signal, logger = console
} = {}) {
  if (!(batchSize >= 1 && attempts >= 1 && timeout > 0)) throw new RangeError('batch size, attempts and timeout must be positive')
  let session = null
  let hasConnected = false
  let pause = 0.1
  // After a failure: how often which row has failed in a row; smaller batches up to a row.
  let failed = null
  let failures = 0
  let poison
  let carefulUntil = ''
  let limit = batchSize
  const read = `SELECT * FROM sno_feed($1, NULL::${source}, $2)`

  function warn (error) {
    const advice = /^25P0[34]$/.test(error?.code) ? ' (the handler takes too long: take smaller batches)' : ''
    logger.warn(`feed ${feed}: ${error?.message}, connecting again in ${pause} s${advice}`)
  }

  /** The last ID that is done, or how the handler failed, and where. */
  async function handle (rows) {
    let last = null
    let before = 0
    for (const [index, piece] of (batches && rows.length > 0 ? [rows] : rows.map(row => [row])).entries()) {
      const [start, end] = [piece[0][key], piece.at(-1)[key]]
      if (signal?.aborted && last === null) throw STOPPED
      if (signal?.aborted && last !== start && before === index - 1) {
        // The rest is given back to the next consumer, in the transaction that has read it. After several rows of one ID, as a
        // view can have them, the server refuses that.
        await session.query('SELECT sno_seek_feed($1, after => $2::sno)', feed, last)
        break
      }
      if (last !== start) before = index
      const place = `${start} ${end} ${index - before}`
      let failure = null
      try {
        if (place === failed && failures >= attempts) {
          for (const row of piece) await onPoison(row, poison, session.client)
        } else {
          await handler(batches ? piece : piece[0], session.client)
        }
        if (session.status === 'E') throw Object.assign(new Error('the handler went on after an error of the server'), { code: '25P02' })
        last = end
      } catch (error) {
        failure = { error, place, end, before, isAlone: rows[0][key] === start && start === end }
      }
      if (session.status === 'I' && !session.lost) {
        // If it was a COMMIT, the rest of the batch counts as read.
        const seek = 'SELECT sno_seek_feed($1, after => $2::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::sno'
        const after = last ?? previous(rows[0][key])
        const cause = await session.query(seek, feed, after, rows.at(-1)[key]).then(() => failure?.error, error => error)
        return { ended: new Error('the handler ended the transaction', { cause }) }
      }
      if (failure !== null) return { failure }
    }
    return { last }
  }

  try {
    while (true) {
      let outcome = {}
      try {
        if (session === null) {
          if (signal?.aborted) return
          session = new Session(await connect())
          await session.query('SELECT')
          if (session.status !== 'I') throw new Error('the new connection has an open transaction')
          hasConnected = true
        }
        await session.stoppable(signal, null, 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
        const { rows } = await session.stoppable(signal, null, read, feed, limit)
        if (rows.length > 0 && !(key in rows[0])) throw new RangeError(`the rows have no column "${key}"`)
        outcome = await handle(rows)
        if ('last' in outcome) {
          const { last } = outcome
          const { command } = await session.query('COMMIT')
          if (command !== 'COMMIT') throw new Error('the server rolled back: a statement of the handler failed')
          pause = 0.1
          if (last === null) {
            await session.stoppable(signal, timeout + 10, 'CALL sno_wait_feed($1, $2::interval)', feed, `${timeout} s`)
            continue
          }
          if (failed !== null && failed.slice(0, 16) <= last) [failed, failures] = [null, 0]
          if (carefulUntil <= last) carefulUntil = ''
          limit = carefulUntil ? 1 : batchSize
          if (signal?.aborted) return
          continue
        }
      } catch (error) {
        if (error === STOPPED || !hasConnected) throw error
        const isLost = session?.lost ?? !/^\d/.test(error?.code)
        if (!isLost && !TRY_AGAIN.test(error?.code) && error?.code !== '57014') throw error
        warn(session?.reason ?? error)
      }
      const { failure, ended } = outcome
      if (ended) throw ended
      if (failure && (session.lost || TRY_AGAIN.test(failure.error?.code))) {
        warn(session.reason ?? failure.error)
      } else if (failure) {
        const { error, place, end, before, isAlone } = failure
        failures = place === failed ? failures + 1 : 1
        failed = place
        poison = error
        logger.warn(`feed ${feed}: failure ${failures} at ${place.slice(0, 16)}`, error)
        if (failures >= attempts && isAlone && !onPoison) throw error
        // What is before it is committed by itself, then it is tried alone.
        carefulUntil = carefulUntil > end ? carefulUntil : end
        limit = before || 1
      }
      await session?.close()
      session = null
      await sleep(pause * (0.5 + Math.random() / 2), signal)
      pause = Math.min(pause * 2, 10)
    }
  } catch (error) {
    if (error !== STOPPED) throw error
  } finally {
    await session?.close()
  }
}
