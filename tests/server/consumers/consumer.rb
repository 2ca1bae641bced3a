# The consumer of examples/ruby, which does to each row what its payload says, for consumers.rs.
require_relative '../../../examples/ruby/consumer'

$stdout.sync = true
seen = Hash.new(0)
pass = lambda do |row, error, connection|
  raise 'late' if row['payload'] == 'poison late' && (seen['late'] += 1) == 1

  connection.exec_params('INSERT INTO failures VALUES ($1, $2)', [row['id'], error.message])
end
is_stopped = false
trap('TERM') { is_stopped = true }
options = { batch: 20, attempts: ARGV.include?('once') ? 1 : 3, pass: ARGV.include?('on_poison') ? pass : nil, stop: -> { is_stopped } }
begin
  consume('feed', 'events', **options) do |row, connection|
    connection.exec_params('INSERT INTO copy (id, payload) VALUES ($1, $2)', row.values_at('id', 'payload'))
    times = seen[row['id']] += 1
    what, number = row['payload'].split
    raise row['payload'] if what == 'fail' && times <= number.to_i || what == 'flaky' && [2, 3].include?(times) || what == 'poison'

    if what == 'slow'
      puts row['payload']
      sleep number.to_f
    elsif what == 'cut' && times <= number.to_i
      connection.exec('SELECT pg_terminate_backend(pg_backend_pid())')
    elsif what == 'sqlstate' && times <= (number == '57014' ? 1 : 3)
      connection.exec("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '#{number}'; END $$")
    elsif what == 'swallow' && times == 1
      begin
        connection.exec('SELECT 1/0')
      rescue PG::Error
        nil
      end
    end
  end
rescue StandardError => error
  abort "ended: #{error.message}"
end
