# ActiveRecord: IDs are strings. A migration, a model, ranges of time, pages.

require "active_record"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV["PGHOST"], port: ENV["PGPORT"], database: ENV["PGDATABASE"],
  username: ENV["PGUSER"], password: ENV["PGPASSWORD"]
)

# In Rails, config/initializers/sno.rb: without it, each connection warns of an unknown type.
module SnoType
  def initialize_type_map(m = type_map)
    super
    m.register_type("sno", ActiveModel::Type::String.new)
  end
end
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(SnoType)
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter::NATIVE_DATABASE_TYPES[:sno] = { name: "sno" }

class CreateEvents < ActiveRecord::Migration[6.1]
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

event = Event.create!(payload: "first")
Event.create!([{ payload: "second" }, { payload: "third" }])
raise event.id.inspect unless event.id.match?(/\A[2-9a-x]{16}\z/)
raise "find" unless Event.find(event.id).payload == "first"
raise "find many" unless Event.where(id: [event.id]).count == 1
raise "since" unless Event.since(1.hour.ago).count == 3

page = Event.where("id > ?", event.id).order(:id).limit(2)
raise "page" unless page.map(&:payload) == ["second", "third"]
