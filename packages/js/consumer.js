// A consumer of a feed, with node-postgres: it waits, reads, connects again, stops; the application handles rows.
import { fromBytes, toBytes } from './index.js'

// The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
const AGAIN = '08 25006 25P03 25P04 40 53 55P03 57014 57P'
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'
const SEEK = 'SELECT sno_seek_feed($1, after => $2::sno) FROM sno_feeds WHERE feed = $1 AND position >= $3::sno'
// No longer than the server lets a statement take.
const WAIT = `CALL sno_wait_feed($1, least($2::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')))`
const SERVER = `SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))`
// How many seconds an answer may take: a statement beyond the length of a wait; after the stop signal.
const [PATIENCE, PATIENCE_AFTER_STOP] = [10, 5]
const STOPPED = new Error('the consumer was stopped')
const SILENT = Object.assign(new Error('the server does not answer'), { code: '08006' })

const isTransient = error => AGAIN.split(' ').some(state => String(error?.code).startsWith(state))

/** A failure of the handler, or of the commit of its work, at rows of the batch. The first row with their key is `first`. */
class Failed extends Error {
  constructor (cause, first, index, end) {
    super('the handler failed', { cause })
    Object.assign(this, { first, index, end })
  }
}

/** What comes first: the answer, the end of some seconds, or the signal. Where `isStoppable` is not, the signal leaves it some time. */
async function limited (answer, seconds, signal, isStoppable) {
  answer.catch(() => {})
  let timer, stop
  const interrupted = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(SILENT), seconds * 1000)
    stop = () => {
      clearTimeout(timer)
      if (isStoppable) reject(STOPPED)
      else timer = setTimeout(() => reject(STOPPED), PATIENCE_AFTER_STOP * 1000)
    }
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) stop()
  })
  try {
    return await Promise.race([answer, interrupted])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

function within (millis, promise) {
  let timer
  const over = new Promise(resolve => { timer = setTimeout(resolve, millis) })
  return Promise.race([promise, over]).finally(() => clearTimeout(timer))
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

  /** An open transaction is rolled back by it. The server notices it after a statement, of which the longest is a wait. */
  async close () {
    this.lost = true
    await within(100, this.client.end().catch(() => {}))
    this.client.connection.stream.destroy()
  }
}

class Consumer {
  session = null
  hasConnected = false
  hasOtherError = false
  pause = 0.1
  // Of the batch: whether its transaction has begun, the names and types of its columns, its rows as the server sent them, their keys.
  batch = { keys: [] }
  // How often rows have failed and why, by the key and the place among its rows; and small batches, up to a key.
  failures = new Map()
  carefulUntil = ''

  constructor (options) {
    Object.assign(this, options, { limit: options.batchSize })
  }

  async run () {
    try {
      while (true) {
        try {
          if (this.session === null) await this.open()
          await this.transaction()
          continue
        } catch (error) {
          if (error === STOPPED) return
          if (error instanceof Failed) this.note(error)
          else this.check(error)
        }
        await this.close()
        await limited(new Promise(() => {}), this.pause * (0.5 + Math.random() / 2), this.signal, true).catch(error => {
          if (error !== SILENT) throw error
        })
        this.pause = Math.min(this.pause * 2, 10)
      }
    } catch (error) {
      if (error !== STOPPED) throw error
    } finally {
      await this.close()
    }
  }

  async close () {
    const session = this.session
    this.session = null
    await session?.close()
  }

  /** A statement of the consumer's own, without a name, which a statement of PgBouncer's transaction mode could not have. */
  async query (isStoppable, query, ...values) {
    if (isStoppable && this.signal?.aborted) throw STOPPED
    const answer = this.session.client.query(query, ...typeof query === 'string' ? [values] : [])
    return await limited(answer, this.timeout + PATIENCE, this.signal, isStoppable).catch(error => {
      this.session.lost ||= error === STOPPED || error === SILENT
      throw error
    })
  }

  async open () {
    this.batch = { keys: [] }
    if (this.signal?.aborted) throw STOPPED
    const connecting = Promise.resolve(this.connect())
    let isLeft = false
    connecting.then(client => { if (isLeft) client.end().catch(() => {}) }, () => {})
    const client = await limited(connecting, this.timeout + PATIENCE, this.signal, true).catch(error => {
      isLeft = true
      throw error
    })
    this.session = new Session(client)
    const { rows: [{ format: server }] } = await this.query(true, SERVER)
    if (this.session.status !== 'I') throw new Error('the new connection has an open transaction')
    this.logger.info?.(`feed ${this.feed}: reads ${this.source} in batches of ${this.batchSize}, ${server}`)
  }

  /** The rows of one transaction; or a wait, if there are none. */
  async transaction () {
    const batch = this.batch = { keys: [] }
    await this.query(true, BEGIN)
    batch.isBegun = this.hasConnected = true
    const types = { getTypeParser: () => value => value }
    const text = `SELECT * FROM sno_feed($1, NULL::${this.source}, $2)`
    const { fields, rows } = await this.query(true, { text, values: [this.feed, this.limit], rowMode: 'array', types })
    const place = fields.findIndex(({ name }) => name === this.key)
    if (place < 0) throw new RangeError(`the rows have no column "${this.key}"`)
    Object.assign(batch, { fields, rows, keys: rows.map(row => typeof row[place] === 'string' ? row[place] : fromBytes(row[place])) })
    const last = await this.handle(batch.keys)
    try {
      const { command } = await this.query(false, 'COMMIT')
      if (command !== 'COMMIT') throw new Error('the server rolled back: a statement of the handler failed')
    } catch (error) {
      if (batch.keys.length === 0 || error === STOPPED || this.session.lost || isTransient(error)) throw error
      // It is one of these rows, for example by a constraint that is deferred.
      throw new Failed(error, 0, 0, batch.keys.length)
    }
    this.pause = 0.1
    if (last === null) {
      await this.query(true, WAIT, this.feed, `${this.timeout} s`)
    } else {
      for (const name of this.failures.keys()) if (name.slice(0, 16) <= last) this.failures.delete(name)
      this.limit = this.carefulUntil > last ? 1 : this.batchSize
    }
    this.hasOtherError = false
    if (this.signal?.aborted) throw STOPPED
  }

  /** Calls the handler for the rows, and returns the last key that is done. */
  async handle (keys) {
    let [last, first] = [null, 0]
    const count = this.batches ? keys.length : 1
    for (let index = 0; index < keys.length; index += count) {
      if (this.signal?.aborted && last === null) throw STOPPED
      if (this.signal?.aborted && last !== keys[index] && first === index - 1) {
        // The rest is given back to the next consumer, in the transaction that has read it. After several rows of one ID, as a
        // view can have them, the server refuses that.
        await this.query(false, SEEK, this.feed, last, last)
        break
      }
      if (last !== keys[index]) first = index
      let failure = null
      try {
        await this.call(first, index, index + count)
        if (this.session.status === 'E') throw Object.assign(new Error('the handler went on after an error of the server'), { code: '25P02' })
        last = keys[index + count - 1]
      } catch (error) {
        failure = { error }
      }
      if (this.session.status === 'I' && !this.session.lost) {
        // If it was a COMMIT, the rest of the batch counts as read.
        await this.query(false, SEEK, this.feed, last ?? previous(keys[0]), keys.at(-1))
        throw Object.assign(new Error('the handler ended the transaction', { cause: failure?.error }), { isFinal: true })
      }
      if (failure && this.session.status === 'E') {
        // The handler can know of a lost connection before the client does.
        await this.query(false, 'SELECT').catch(error => { this.session.lost ||= error.code !== '25P02' })
      }
      if (failure && (this.session.lost || (isTransient(failure.error) && failure.error.code !== '57014'))) {
        this.session.lost = true
        throw failure.error
      }
      if (failure) throw new Failed(failure.error, first, index, index + count)
    }
    return last
  }

  async call (first, index, end) {
    const { keys, fields, rows, session } = { ...this.batch, session: this.session }
    const { tries = 0, error } = this.failures.get(`${keys[index]} ${index - first}`) ?? {}
    const isPoison = this.onPoison && tries >= this.attempts && keys[index] === keys[end - 1]
    const read = row => Object.fromEntries(fields.map(({ name, dataTypeID, format }, place) =>
      [name, row[place] === null ? null : session.client.getTypeParser(dataTypeID, format)(row[place])]))
    const sent = row => Object.fromEntries(fields.map(({ name }, place) => [name, row[place]]))
    if (!isPoison) {
      const values = rows.slice(index, end).map(read)
      await this.handler(this.batches ? values : values[0], session.client)
    } else {
      for (const row of rows.slice(index, end)) {
        let value
        try {
          value = read(row)
        } catch {
          value = sent(row)
        }
        await this.onPoison(value, error, session.client)
      }
    }
  }

  /** Counts a failure, and throws its error if that is the end. */
  note ({ cause, first, index, end }) {
    const { keys } = this.batch
    const isOne = keys[index] === keys[end - 1]
    let tries = 1
    // A failure of several keys counts for none of them.
    for (let place = index; isOne && place < end; place++) {
      const name = `${keys[index]} ${place - first}`
      const before = this.failures.get(name)
      tries = (before?.tries ?? 0) + 1
      // What the handler has thrown, and not onPoison.
      this.failures.set(name, { tries, error: tries > this.attempts ? before.error : cause })
    }
    this.logger.warn(`feed ${this.feed}: failure ${tries} at ${keys[index]}`, cause)
    if (tries >= this.attempts && isOne && first === 0 && !this.onPoison) throw cause
    // What is before it is committed by itself, then it is tried alone.
    this.carefulUntil = this.carefulUntil > keys[end - 1] ? this.carefulUntil : keys[end - 1]
    this.limit = first || 1
  }

  /** Throws an error that does not go away: of the first connection, or another one than those of AGAIN, if it comes twice in a row. */
  check (error) {
    // In PgBouncer's statement mode, the first BEGIN is an error.
    this.hasConnected ||= this.session !== null && error?.code !== '08P01'
    const isLost = this.session?.lost ?? !/^\d/.test(error?.code)
    const isStandby = !this.batch.isBegun && error?.code === '0A000'
    const isOther = !(isLost || isTransient(error) || isStandby)
    const isOurs = error instanceof RangeError || error?.isFinal
    if (!this.hasConnected || isOurs || (isOther && this.hasOtherError)) throw error
    this.hasOtherError ||= isOther
    const { code, message } = this.session?.reason ?? error ?? {}
    const isSlow = this.batch.keys.length > 0 && /^25P0[34]$/.test(code)
    const advice = isSlow ? ' (the handler takes too long: take smaller batches)' : ''
    this.logger.warn(`feed ${this.feed}: ${message}, connecting again in ${this.pause} s${advice}`)
  }
}

/** The ID before an ID. */
function previous (id) {
  const number = BigInt(`0x${Buffer.from(toBytes(id)).toString('hex')}`)
  return fromBytes(Buffer.from((number && number - 1n).toString(16).padStart(20, '0'), 'hex'))
}

export async function consume (connect, feed, source, handler, options = {}) {
  const { key = 'id', batchSize = 100, batches = false, attempts = 5, onPoison, timeout = 2, signal, logger = console, ...others } = options
  for (const name of Object.keys(others)) throw new TypeError(`consume has no option "${name}"`)
  if (!(batchSize >= 1 && attempts >= 1 && timeout > 0)) throw new RangeError('batch size, attempts and timeout must be positive')
  await new Consumer({ connect, feed, source, handler, key, batchSize, batches, attempts, onPoison, timeout, signal, logger }).run()
}
