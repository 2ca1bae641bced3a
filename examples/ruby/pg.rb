# The driver pg: IDs are strings.

require "pg"
require "time"

# The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
connection = PG.connect
connection.exec("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)")

id = connection.exec_params("INSERT INTO events (payload) VALUES ($1) RETURNING id", ["first"]).getvalue(0, 0)
connection.exec_params("SELECT payload FROM events WHERE id = $1", [id])
hour_ago = (Time.now - 3600).iso8601(3)
recent = connection.exec_params("SELECT id FROM events WHERE id >= $1::timestamptz", [hour_ago])

raise id.inspect unless id.is_a?(String) && id.match?(/\A[2-9a-x]{16}\z/)
raise "recent" unless recent.values == [[id]]
raise "lookup" unless connection.exec_params("SELECT payload FROM events WHERE id = $1", [id]).values == [["first"]]
# An array is sent and received as a literal.
ids = PG::TextEncoder::Array.new.encode([id, "2" * 16])
raise "array" unless connection.exec_params("SELECT id FROM events WHERE id = ANY($1)", [ids]).values == [[id]]
array = connection.exec("SELECT array_agg(id) FROM events").getvalue(0, 0)
raise array unless PG::TextDecoder::Array.new.decode(array) == [id]
# A kind's domain, and arrays of it.
connection.exec("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1)")
connection.exec("CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])")
connection.exec_params("INSERT INTO kinds VALUES ($1, $2, $3)", [id, "{#{id}}", "{#{id}}"])
kinds = connection.exec_params("SELECT * FROM kinds WHERE id = $1", [id]).values
raise kinds.inspect unless kinds == [[id, "{#{id}}", "{#{id}}"]]
# Ten bytes, both ways: in binary.
raw = connection.exec_params("SELECT id FROM events", [], 1).getvalue(0, 0)
raise raw.inspect unless raw.bytesize == 10
found = connection.exec_params("SELECT id FROM events WHERE id = $1", [{ value: raw, format: 1 }])
raise "binary" unless found.values == [[id]]

begin
  connection.exec_params("SELECT $1::sno", ["9Q7K4OP826N2G222"])
  raise "an invalid ID was taken"
rescue PG::InvalidTextRepresentation
end
