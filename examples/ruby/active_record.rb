# ActiveRecord: IDs are strings. A type, a migration, a model, ranges of time, pages.

require "active_record"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], database: ENV["PGDATABASE"],
  username: ENV["PGUSER"], password: ENV["PGPASSWORD"]
)

# In Rails, config/initializers/sno.rb.
class SnoType < ActiveModel::Type::String
  def type = :sno

  # A text that is no ID is NULL, as with a uuid in Rails: no row is found.
  def cast_value(value) = value.to_s.match?(/\A[2-9a-x]{16}\z/) ? super : nil

  def serialize(value) = cast(value)
end

module SnoAdapter
  def initialize_type_map(m = type_map)
    super
    m.register_type("sno", SnoType.new)
  end
end
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(SnoAdapter)
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter::NATIVE_DATABASE_TYPES[:sno] = { name: "sno" }

class CreateEvents < ActiveRecord::Migration[7.2]
  def change
    create_table :events, id: false do |t|
      t.column :id, :sno, primary_key: true, default: -> { "sno_new(1)" }
      t.text :payload
    end
  end
end

class Event < ActiveRecord::Base
  scope :since, ->(time) { where("id >= sno_lower(?)", time) }
end

ActiveRecord::Migration.suppress_messages { CreateEvents.new.change }

first = Event.create!(payload: "first")
Event.create!(payload: "second")
params, last = { id: first.id }, first.id

event = Event.create!(payload: "third")
found = Event.find(params[:id])
recent = Event.since(1.hour.ago).order(:id)
page = Event.where("id > ?", last).order(:id).limit(50)

raise event.id.inspect unless event.id.match?(/\A[2-9a-x]{16}\z/)
raise "find" unless found == first
raise "find many" unless Event.where(id: [event.id]).count == 1
raise "since" unless recent.count == 3
raise "page" unless page.map(&:payload) == ["second", "third"]

# What is no ID is not found, and the server has no error.
["garbage", "x" * 16, event.id.upcase, "#{event.id}\n"].each do |missing|
  Event.find(missing)
  raise "found #{missing}"
rescue ActiveRecord::RecordNotFound
  raise "where" if Event.where(id: missing).exists? || Event.find_by(id: missing)
end
