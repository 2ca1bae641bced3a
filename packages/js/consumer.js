// A consumer of a feed, with node-postgres: it waits, reads, connects again, stops; the application handles rows.
import { connect as connectSocket } from 'node:net'

// The errors of the consumer's own statements, by SQLSTATE or its class. All others are raised.
const TRY_AGAIN = ['40001', '40P01', '55P03', '57014']
const NEW_CONNECTION = /^(08|53|57P|25P03|25P04)/
const NEW_CONNECTION_ONCE = ['25006', '42703', '42804', '0A000']

const STOPPED = new Error('the consumer was stopped')
const TO_TEXT = '23456789abcdefghijklmnopqrstuvwx'

class Failed {
  constructor (fields) { Object.assign(this, fields) }
}

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

  /** Whether the session can go on. */
  async rollBack () {
    if (this.lost) return false
    return this.query('ROLLBACK').then(() => !this.lost, () => false)
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
function before (id) {
  const characters = [...id]
  let place = characters.length - 1
  for (; place > 0 && characters[place] === '2'; place--) characters[place] = 'x'
  characters[place] = TO_TEXT[Math.max(TO_TEXT.indexOf(characters[place]) - 1, 0)]
  return characters.join('')
}

export async function consume (connect, feed, source, handler, {
  key = 'id', batchSize = 100, batches = false, attempts = 5, onPoison, timeout = 30, signal, logger = console
} = {}) {
  if (!(batchSize >= 1 && attempts >= 1)) throw new RangeError('a consumer needs a batch size and a number of attempts of at least 1')
  let session = null
  let hasConnected = false
  let canWait = true
  let pause = 0.1
  let idle = 0.005
  let lastState = null
  // After a failure: how often which row has failed in a row; smaller batches up to a row.
  let failed = null
  let failures = 0
  let poison
  let carefulUntil = ''
  let limit = batchSize
  const read = `SELECT * FROM sno_feed($1, NULL::${source}, $2)`
  const advice = error => ['25P03', '25P04'].includes(error?.code) ? ' (the handler takes too long: take smaller batches)' : ''

  async function handle (rows) {
    const pieces = batches && rows.length > 0 ? [rows] : rows.map(row => [row])
    let last = null
    for (const [index, piece] of pieces.entries()) {
      const [start, end] = [piece[0][key], piece.at(-1)[key]]
      if (signal?.aborted && last === null) throw STOPPED
      if (signal?.aborted && last !== start) {
        // The rest is given back to the next consumer, in the transaction that has read it.
        await session.query('SELECT sno_seek_feed($1, after => $2::sno)', feed, last)
        break
      }
      // Of a view, several rows can have one ID.
      let smaller = index
      while (smaller > 0 && rows[smaller - 1][key] === start) smaller--
      const place = `${start} ${index - smaller}`
      const isAlone = rows[0][key] === start && start === end
      let failure = null
      try {
        if (place === failed && failures >= attempts && start === end) {
          for (const row of piece) await onPoison(row, poison, session.client)
        } else {
          await handler(batches ? piece : piece[0], session.client)
        }
        if (session.status === 'E') throw Object.assign(new Error('the handler went on after an error of the server'), { code: '25P02' })
      } catch (error) {
        failure = new Failed({ error, place, start, end, smaller, isAlone })
      }
      if (failure === null) last = end
      if (session.status === 'I' && !session.lost) {
        // If it was a COMMIT, the rest of the batch counts as read.
        await session.query('SELECT sno_seek_feed($1, after => $2::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::sno',
          feed, last ?? before(rows[0][key]), rows.at(-1)[key])
        throw new Error('the handler ended the transaction', { cause: failure?.error })
      }
      if (failure !== null) throw failure
    }
    return last
  }

  try {
    while (true) {
      try {
        if (session === null) {
          if (signal?.aborted) return
          session = new Session(await connect())
          hasConnected = canWait = true
          await session.query('SELECT')
          if (session.status !== 'I') throw new Error('the new connection has an open transaction')
        }
        await session.stoppable(signal, null, 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
        const { rows } = await session.stoppable(signal, null, read, feed, limit)
        if (rows.length > 0 && !(key in rows[0])) throw new RangeError(`the rows have no column "${key}"`)
        const last = await handle(rows)
        if ((await session.query('COMMIT')).command !== 'COMMIT') {
          throw Object.assign(new Error('the server rolled back: a statement of the handler failed'), { code: '40000' })
        }
        pause = 0.1
        lastState = null
        if (last !== null) {
          if (failed !== null && failed.slice(0, 16) <= last) [failed, failures] = [null, 0]
          if (carefulUntil <= last) carefulUntil = ''
          limit = carefulUntil ? 1 : batchSize
          idle = 0.005
          if (signal?.aborted) return
          continue
        }
        if (canWait) {
          try {
            await session.stoppable(signal, timeout + 10, 'CALL sno_wait_feed($1, $2::interval)', feed, `${timeout} s`)
          } catch (error) {
            if (error.code !== '42883') throw error
            canWait = false
          }
        }
        // A pause after a wait, too: a wait that ends too early would make a loop without any.
        idle = canWait ? Math.min(idle * 2, 0.1) : 0.1
        await sleep(idle, signal)
        continue
      } catch (error) {
        if (error === STOPPED) return
        if (error instanceof Failed) {
          const { place, end, smaller, isAlone } = error
          const goesOn = await session.rollBack()
          const cause = goesOn ? error.error : session.reason ?? error.error
          if (!goesOn || TRY_AGAIN.slice(0, 3).includes(cause?.code)) {
            logger.warn(`feed ${feed}: ${cause?.message}, reading the rows again in ${pause} s${advice(cause)}`)
          } else {
            failures = place === failed ? failures + 1 : 1
            failed = place
            poison = cause
            logger.warn(`feed ${feed}: failure ${failures} at ${place.slice(0, 16)}`, cause)
            if (failures >= attempts && isAlone && !onPoison) throw cause
            // What is before it is committed by itself, then it is tried alone.
            carefulUntil = carefulUntil > end ? carefulUntil : end
            limit = smaller || 1
          }
          if (!goesOn || NEW_CONNECTION_ONCE.includes(cause?.code)) {
            await session.close()
            session = null
          }
        } else {
          const state = error?.code ?? ''
          if (!hasConnected || /^(28|3D)/.test(state)) throw error
          const isLost = session === null || session.lost || NEW_CONNECTION.test(state)
          if (isLost || (NEW_CONNECTION_ONCE.includes(state) && state !== lastState)) {
            lastState = state
            const reason = session?.reason ?? error
            logger.warn(`feed ${feed}: ${reason.message}, connecting again in ${pause} s${advice(reason)}`)
            await session?.close()
            session = null
          } else if (TRY_AGAIN.includes(state) || state === '40000') {
            logger.warn(`feed ${feed}: ${error.message}, trying again in ${pause} s`)
            if (!await session.rollBack()) {
              await session.close()
              session = null
            }
          } else {
            throw error
          }
        }
      }
      await sleep(pause * (0.5 + Math.random() / 2), signal)
      pause = Math.min(pause * 2, 10)
    }
  } catch (error) {
    if (error !== STOPPED) throw error
  } finally {
    await session?.close()
  }
}
