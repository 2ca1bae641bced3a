# A consumer of a feed, for a language without a library for it: an invoice for each order, exactly once, over lost connections and
# kill -9. The program ends at SIGTERM, after the order that it is at.
require 'pg'

# Errors after which it tries again without end.
AGAIN = /\A(08|25006|25P03|25P04|40|53|55P03|57014|57P)/

def state(error)
  error.is_a?(PG::Error) ? error.result&.error_field(PG::Result::PG_DIAG_SQLSTATE) || '08' : ''
end

# Calls the block for each row, or pass for one that has failed too often.
def consume(feed, source, key: 'id', batch: 100, attempts: 5, pass: nil, stop: -> { false })
  connection = poison = again = nil
  pause = 0.1
  until stop.call
    rows = failing = nil
    begin
      connection ||= PG.connect
      connection.exec('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
      rows = connection.exec_params("SELECT * FROM sno_peek_feed($1, NULL::#{source}, $2)", [feed, batch]).to_a
      raise poison[1] if poison && rows[0] && rows[0][key] == poison[0] && !pass
      done = nil
      rows.each do |row|
        is_poison = poison && row[key] == poison[0]
        break if stop.call && done != row[key] || is_poison && !pass
        failing = [row[key], row[key]]
        is_poison ? pass.call(row, poison[1], connection) : yield(row, connection)
        done = row[key]
      end
      if done
        # What fails from here on is one of these rows, for example by a constraint that is deferred.
        failing = [rows[0][key], done]
        connection.exec_params('SELECT sno_advance_feed($1, $2, $3::regclass)', [feed, done, source])
      end
      connection.exec('COMMIT')
      poison = nil if poison && done && done >= poison[0]
      pause, again = 0.1, false
      connection.exec_params("CALL sno_wait_feed($1, '2 s', source => $2::regclass)", [feed, source]) if rows.empty?
    rescue StandardError => error
      raise if poison && error.equal?(poison[1])
      is_transient = AGAIN.match?(state(error)) || rows.nil? && state(error) == '0A000'
      begin
        if failing && (!is_transient || state(error) == '57014')
          connection.exec('ROLLBACK')
          # An error that the block has hidden was in one of the rows before.
          failing[0] = rows[0][key] if state(error) == '25P02'
          fail_feed = 'SELECT sno_fail_feed($1, $2, $3, $4, source => $5::regclass)'
          tries = connection.exec_params(fail_feed, [feed, failing[0], error.message, failing[1], source]).getvalue(0, 0).to_i
          warn "feed #{feed}: failure #{tries} at #{failing[0]}: #{error.message}"
          poison = [failing[0], error] if tries >= attempts && poison&.first != failing[0]
          next
        end
      rescue PG::Error
        is_transient = true
      end
      raise if again && !is_transient
      again ||= !is_transient
      warn "feed #{feed}: #{error.message}, connecting again in #{pause} s"
      connection&.close unless connection&.finished?
      connection = nil
      sleep(pause * rand(0.5..1.0))
      pause = [pause * 2, 10].min
    end
  end
ensure
  connection&.close unless connection&.finished?
end

if $PROGRAM_NAME == __FILE__
  # The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
  shop = PG.connect
  shop.exec("CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), item text);
             CREATE TABLE invoices (order_id sno PRIMARY KEY REFERENCES orders);
             SELECT sno_create_feed('billing', 'orders')")
  is_stopped = false
  trap('TERM') { is_stopped = true }
  # Orders are made while the consumer runs, and connections are lost; the end is when all are billed.
  Thread.new do
    10.times do
      shop.exec("INSERT INTO orders (item) SELECT 'desk' FROM generate_series(1, 70)")
      shop.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'sno_|invoices' AND pid <> pg_backend_pid()")
      sleep 0.1
    end
    sleep 0.1 until shop.exec('SELECT count(*) FROM invoices').getvalue(0, 0) == '700'
    Process.kill('TERM', Process.pid)
  end
  consume('billing', 'orders', stop: -> { is_stopped }) do |order, connection|
    connection.exec_params('INSERT INTO invoices (order_id) VALUES ($1)', [order['id']])
  end
  raise 'not all are billed' if PG.connect.exec('SELECT count(*) FROM invoices').getvalue(0, 0) != '700'
end
