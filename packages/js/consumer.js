// A consumer of a feed, with node-postgres: it waits, reads, connects again, stops; the application handles rows.
import { fromBytes } from './index.js'

// The SQLSTATEs, or their classes, of errors that do not come again for ever, as in states.tsv beside the packages.
const AGAIN = '08 25006 25P03 25P04 40 53 55P03 57014 57P'
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'
const ADVANCE = 'SELECT sno_advance_feed($1, $2::sno, $3::regclass)::text AS moved'
const FAIL = 'SELECT sno_fail_feed($1, $2::sno, $3, $4::sno, source => $5::regclass)'
// No longer than the server lets a statement take.
const WAIT = `CALL sno_wait_feed($1, least($2::interval, 0.8 * nullif(current_setting('statement_timeout')::interval, '0'),
    0.8 * nullif(current_setting('transaction_timeout', true)::interval, '0')), source => $3::regclass)`
const SERVER = `SELECT format('as role "%s" in database "%s" of the server at %s, port %s', current_user, current_database(),
    coalesce(host(inet_server_addr()), 'a socket'), current_setting('port'))`
// How many seconds an answer may take: a statement beyond the length of a wait; after the stop signal.
const [PATIENCE, PATIENCE_AFTER_STOP] = [10, 5]
const HIDDEN = 'the handler went on after an error of the server'
const STOPPED = new Error('the consumer was stopped')
const SILENT = Object.assign(new Error('the server does not answer'), { code: '08006' })

const isTransient = error => AGAIN.split(' ').some(state => String(error?.code).startsWith(state))

/** A failure of the handler, or of the commit of its work, at rows from one key up to another. */
class Failed extends Error {
  constructor (cause, first, last) {
    super('the handler failed', { cause })
    Object.assign(this, { first, last })
  }
}

/** An error, its cause, with which the consumer ends. */
class Final extends Error {
  constructor (cause) {
    super('the consumer ends', { cause })
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

/** A client, whether its connection is lost, and the state of its transaction: I, T or E. */
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
  }

  /** An open transaction is rolled back by it. The server notices it after a statement, of which the longest is a wait. */
  async close () {
    this.lost = true
    await within(100, this.client.end().catch(() => {}))
    this.client.connection.stream.destroy()
  }
}

/** Throws what a result of the handler shows as failed: Promise.allSettled() is never rejected. Promises in an array are waited for. */
async function settle (result) {
  const value = await result
  if (Array.isArray(value)) await Promise.all(value.map(settle))
  if (value instanceof Error) throw value
  if (value?.status === 'rejected' && Object.keys(value).join() === 'status,reason') throw value.reason
  if (/^(Async)?Generator$/.test(value?.[Symbol.toStringTag])) throw new TypeError('the handler is a generator, of which nothing has run')
}

class Consumer {
  session = null
  hasConnected = false
  hasOtherError = false
  pause = 0.1
  // Of the batch: whether its transaction has begun, the names and types of its columns, its rows as the server sent them, their keys.
  batch = { keys: [] }
  // The key that has failed too often, and why.
  poison = null

  constructor (options) {
    Object.assign(this, options)
  }

  async run () {
    try {
      while (true) {
        try {
          if (this.session === null) await this.open()
          await this.transaction().catch(error => {
            if (!(error instanceof Failed)) throw error
            return this.fail(error)
          })
          continue
        } catch (error) {
          if (error === STOPPED) return
          if (error instanceof Final) throw error.cause
          this.check(error)
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
    if (client.binary) throw new Final(new TypeError('node-postgres garbles IDs with binary: true: leave that out'))
    const { rows: [{ format: server }] } = await this.query(true, SERVER)
    if (this.session.status !== 'I') throw new Final(new Error('the new connection has an open transaction'))
    this.logger.info?.(`feed ${this.feed}: reads ${this.source} in batches of ${this.batchSize}, ${server}`)
  }

  /** The rows of one call; or a wait, if there are none. */
  async transaction () {
    const batch = this.batch = { keys: [] }
    if (!this.autocommit) await this.query(true, BEGIN)
    this.hasConnected ||= !this.autocommit
    batch.isBegun = true
    const types = { getTypeParser: () => value => value }
    const text = `SELECT * FROM sno_peek_feed($1, NULL::${this.source}, $2)`
    const { fields, rows } = await this.query(true, { text, values: [this.feed, this.batchSize], rowMode: 'array', types })
    this.hasConnected = true
    const place = fields.findIndex(({ name }) => name === this.key)
    if (place < 0) throw new Final(new RangeError(`the rows have no column "${this.key}"`))
    Object.assign(batch, { fields, rows, keys: rows.map(row => typeof row[place] === 'string' ? row[place] : fromBytes(row[place])) })
    const done = await this.handle(batch.keys)
    await this.acknowledge(done)
    if (done >= this.poison?.key) this.poison = null
    this.pause = 0.1
    this.hasOtherError = false
    if (rows.length === 0) await this.query(true, WAIT, this.feed, `${this.timeout} s`, this.source)
    if (this.signal?.aborted) throw STOPPED
  }

  /** Calls the handler for the rows, and returns the last key that is done. */
  async handle (keys) {
    let done = null
    const count = this.batches ? keys.length : 1
    for (let index = 0; index < keys.length; index += count) {
      const [first, last] = [keys[index], keys[index + count - 1]]
      // The rest is for the next consumer. The rows of one key, of which a table can have several, belong together.
      if (this.signal?.aborted && done !== first) break
      const poison = first === last && first === this.poison?.key ? this.poison : null
      if (poison && !this.onPoison && done) break
      if (poison && !this.onPoison) throw new Final(poison.error)
      if (this.autocommit && done && done !== first) await this.advance(done)
      try {
        await this.call(index, index + count, poison)
      } catch (error) {
        if (this.session.lost || (isTransient(error) && error.code !== '57014')) {
          this.session.lost = true
          throw error
        }
        // It was in one of the rows before.
        if (error?.code === '25P02' && !this.autocommit) throw new Failed(new Error(HIDDEN), keys[0], last)
        throw new Failed(error, first, last)
      }
      done = last
    }
    if (done === null && this.signal?.aborted) throw STOPPED
    return done
  }

  async call (index, end, poison) {
    const { fields, rows, session } = { ...this.batch, session: this.session }
    const read = row => Object.fromEntries(fields.map(({ name, dataTypeID, format }, place) =>
      [name, row[place] === null ? null : session.client.getTypeParser(dataTypeID, format)(row[place])]))
    const sent = row => Object.fromEntries(fields.map(({ name }, place) => [name, row[place]]))
    if (!poison) {
      const values = rows.slice(index, end).map(read)
      return await settle(this.handler(this.batches ? values : values[0], session.client))
    }
    for (const row of rows.slice(index, end)) {
      let value
      try {
        value = read(row)
      } catch {
        value = sent(row)
      }
      await settle(this.onPoison(value, poison.error, session.client))
    }
  }

  async advance (done) {
    const { rows: [{ moved }] } = await this.query(false, ADVANCE, this.feed, done, this.source)
    if (!this.autocommit || moved === 'true') return
    this.session.lost = true
    throw new Error('another consumer has sent the same rows')
  }

  /** Rows up to a key are done, in one transaction with the work, if there is one. */
  async acknowledge (done) {
    try {
      if (done && !this.autocommit && this.session.status === 'I') throw new Final(new Error('the handler ended the transaction'))
      if (done) await this.advance(done)
      if (this.autocommit) return
      const { command } = await this.query(false, 'COMMIT')
      if (command !== 'COMMIT') throw Object.assign(new Error(), { code: '25P02' })
    } catch (error) {
      if (!done || this.autocommit || error === STOPPED || error instanceof Final || this.session.lost || isTransient(error)) throw error
      // It is one of these rows, for example by a constraint that is deferred.
      throw new Failed(error.code === '25P02' ? new Error(HIDDEN) : error, this.batch.keys[0], done)
    }
  }

  /** Has the server count a failure, and remembers what has failed too often. */
  async fail ({ cause, first, last }) {
    if (!this.autocommit) await this.query(false, 'ROLLBACK')
    const { rows: [{ sno_fail_feed: tries }] } = await this.query(false, FAIL, this.feed, first, String(cause?.message ?? cause), last, this.source)
    this.logger.warn(`feed ${this.feed}: failure ${tries} at ${first}`, cause)
    // What the handler has thrown, and not onPoison.
    if (tries >= this.attempts && this.poison?.key !== first) this.poison = { key: first, error: cause }
  }

  /** Throws an error that does not go away: of the first connection, or another one than those of AGAIN, if it comes twice in a row. */
  check (error) {
    // In PgBouncer's statement mode, the first BEGIN is an error.
    this.hasConnected ||= this.session !== null && error?.code !== '08P01'
    const isLost = this.session?.lost ?? !/^\d/.test(error?.code)
    const isStandby = !this.batch.isBegun && error?.code === '0A000'
    const isOther = !(isLost || isTransient(error) || isStandby)
    if (!this.hasConnected || (isOther && this.hasOtherError)) throw error
    this.hasOtherError ||= isOther
    const { code, message } = this.session?.reason ?? error ?? {}
    const isSlow = this.batch.keys.length > 0 && /^25P0[34]$/.test(code)
    const advice = isSlow ? ' (the handler takes too long: take smaller batches)' : ''
    this.logger.warn(`feed ${this.feed}: ${message}, connecting again in ${this.pause} s${advice}`)
  }
}

export async function consume (connect, feed, source, handler, options = {}) {
  const { key = 'id', batchSize = 100, batches = false, autocommit = false, attempts = 5, onPoison, timeout = 2, signal, logger = console, ...others } = options
  for (const name of Object.keys(others)) throw new TypeError(`consume has no option "${name}"`)
  if (!(batchSize >= 1 && attempts >= 1 && timeout > 0)) throw new RangeError('batch size, attempts and timeout must be positive')
  await new Consumer({ connect, feed, source, handler, key, batchSize, batches, autocommit, attempts, onPoison, timeout, signal, logger }).run()
}
