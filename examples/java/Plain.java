// JDBC without any preparation: IDs are strings, and parameters that are cast.

import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Plain {
    static void check(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws SQLException {
        String url = arguments[0]; // jdbc:postgresql://localhost/database?user=…
        try (Connection connection = DriverManager.getConnection(url); Statement plain = connection.createStatement()) {
            plain.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)");

            String id;
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO events (payload) VALUES (?) RETURNING id")) {
                insert.setString(1, "first");
                try (ResultSet rows = insert.executeQuery()) {
                    rows.next();
                    id = rows.getString("id");
                }
            }
            String payload = null;
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT payload FROM events WHERE id = ?::sno")) {
                select.setString(1, id);
                try (ResultSet rows = select.executeQuery()) {
                    if (rows.next()) payload = rows.getString("payload");
                }
            }

            check("first".equals(payload), payload);
            check(id.matches("[2-9a-x]{16}"), id);
            // Without a cast.
            try (PreparedStatement select = connection.prepareStatement("SELECT id FROM events WHERE id = ?")) {
                select.setObject(1, id, Types.OTHER);
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next() && rows.getObject("id").toString().equals(id), id);
                }
            }
            // The way of the standard, without RETURNING.
            try (PreparedStatement insert = connection.prepareStatement(
                    "INSERT INTO events (payload) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "second");
                insert.executeUpdate();
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    check(keys.next() && keys.getString("id").compareTo(id) > 0, id);
                }
            }
            // Ten bytes.
            byte[] raw;
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT id::bytea FROM events WHERE id = ?::bytea::sno")) {
                select.setString(1, id);
                try (ResultSet rows = plain.executeQuery("SELECT id::bytea FROM events WHERE id = '" + id + "'")) {
                    rows.next();
                    raw = rows.getBytes(1);
                }
                select.setBytes(1, raw);
                try (ResultSet rows = select.executeQuery()) {
                    check(raw.length == 10 && rows.next() && Arrays.equals(rows.getBytes(1), raw), id);
                }
            }
            // Arrays, both ways.
            try (PreparedStatement select = connection.prepareStatement(
                    "SELECT array_agg(id ORDER BY id) FROM events WHERE id = ANY(?)")) {
                Array ids = connection.createArrayOf("sno", new String[] {id, "2222222222222222"});
                select.setArray(1, ids);
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    Object[] found = (Object[]) rows.getArray(1).getArray();
                    check(found.length == 1 && found[0].toString().equals(id), found[0].getClass());
                }
            }
            // A kind's domain, and arrays of it.
            plain.execute("CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 1);"
                    + "CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])");
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO kinds VALUES (?::event_id, ?, ?) RETURNING *")) {
                insert.setString(1, id);
                insert.setArray(2, connection.createArrayOf("event_id", new String[] {id}));
                insert.setArray(3, connection.createArrayOf("sno", new String[] {id}));
                try (ResultSet rows = insert.executeQuery()) {
                    check(rows.next() && rows.getString(1).equals(id), id);
                    for (int place = 2; place <= 3; place++) {
                        Object[] found = (Object[]) rows.getArray(place).getArray();
                        check(found.length == 1 && found[0].toString().equals(id), found[0]);
                    }
                }
            }
            // A range of time.
            try (PreparedStatement select = connection.prepareStatement(
                    "SELECT count(*) FROM events WHERE id >= ?::timestamptz AND id < ?::timestamptz")) {
                select.setObject(1, OffsetDateTime.now().minusHours(1));
                select.setObject(2, OffsetDateTime.now().plusHours(1));
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next() && rows.getInt(1) == 2, id);
                }
            }
            // Pages: the last ID of one is where the next one starts.
            plain.execute("INSERT INTO events SELECT sno_make('2010-01-02Z', 0, 0, n), 'old' FROM generate_series(1, 5) n");
            List<String> seen = new ArrayList<>();
            try (PreparedStatement page = connection.prepareStatement(
                    "SELECT id FROM events WHERE id > ?::sno ORDER BY id LIMIT 3")) {
                String last = "2222222222222222";
                int before;
                do {
                    before = seen.size();
                    page.setString(1, last);
                    try (ResultSet rows = page.executeQuery()) {
                        while (rows.next()) seen.add(last = rows.getString(1));
                    }
                } while (seen.size() > before);
            }
            List<String> sorted = new ArrayList<>(seen);
            sorted.sort(null);
            check(seen.size() == 7 && seen.equals(sorted) && seen.get(5).equals(id), seen);
            try {
                plain.executeQuery("SELECT '9Q7K4OP826N2G222'::sno");
                throw new AssertionError("an invalid ID was taken");
            } catch (SQLException error) {
                check(error.getSQLState().equals("22P02"), error);
            }
        }
        // With stringtype=unspecified the server decides what a string is, and no casts are needed.
        try (Connection connection = DriverManager.getConnection(url + "&stringtype=unspecified");
                PreparedStatement select =
                    connection.prepareStatement("SELECT payload FROM events WHERE id = ?")) {
            select.setString(1, "2222222222222222");
            try (ResultSet rows = select.executeQuery()) {
                check(!rows.next(), "found what is not there");
            }
        }
    }
}
