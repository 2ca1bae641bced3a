// JDBC with IDs as values of a class, which the driver makes and sends.

import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;

public class Typed {
    public static class Sno extends PGobject {
        private static final String ALPHABET = "23456789abcdefghijklmnopqrstuvwx";

        public Sno() {
            setType("sno");
        }

        public Sno(String value) throws SQLException {
            this();
            setValue(value);
        }

        /** When it was made: the first 39 bits count 4 ms since 2010. */
        public Instant time() {
            long number = 0;
            for (char character : getValue().substring(0, 8).toCharArray()) {
                number = number << 5 | ALPHABET.indexOf(character);
            }
            return Instant.parse("2010-01-01T00:00:00Z").plusMillis((number >> 1) * 4);
        }
    }

    static void check(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0]);
                Statement plain = connection.createStatement()) {
            plain.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)");

            connection.unwrap(PGConnection.class).addDataType("sno", Sno.class);
            Sno id;
            try (ResultSet rows = plain.executeQuery("INSERT INTO events (payload) VALUES ('first') RETURNING id")) {
                rows.next();
                id = (Sno) rows.getObject("id");
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT payload FROM events WHERE id = ?")) {
                select.setObject(1, id);
                try (ResultSet rows = select.executeQuery()) {
                    check(rows.next() && rows.getString(1).equals("first"), id);
                }
            }

            Duration age = Duration.between(id.time(), Instant.now());
            check(age.abs().compareTo(Duration.ofMinutes(1)) < 0, age);
            try (ResultSet rows = plain.executeQuery("SELECT id, NULL::sno FROM events")) {
                check(rows.next() && rows.getObject(1, Sno.class).equals(id) && rows.getObject(2) == null, id);
            }
            try (PreparedStatement select = connection.prepareStatement("SELECT ?, id FROM events WHERE id = ANY(?)")) {
                Array ids = connection.createArrayOf("sno", new Sno[] {id, new Sno("2222222222222222"), null});
                select.setObject(1, id);
                select.setArray(2, ids);
                // Often enough for the driver to prepare it in the server and to ask for binary where it can.
                for (int round = 0; round < 10; round++) {
                    try (ResultSet rows = select.executeQuery()) {
                        check(rows.next() && rows.getObject(1).equals(id) && rows.getObject(2).equals(id), round);
                        check(!rows.next(), round);
                    }
                }
            }
        }
    }
}
