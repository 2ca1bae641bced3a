// JDBC with IDs as values of a class, which the driver makes and sends, as text and in binary.

import java.math.BigInteger;
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
import org.postgresql.util.PGBinaryObject;
import org.postgresql.util.PGobject;

public class Typed {
    public static class Sno extends PGobject implements PGBinaryObject {
        private static final String ALPHABET = "23456789abcdefghijklmnopqrstuvwx";

        public Sno() {
            setType("sno");
        }

        public Sno(String value) throws SQLException {
            this();
            setValue(value);
        }

        /** A text that is no ID would be sent as the bytes of another one. */
        @Override
        public void setValue(String value) throws SQLException {
            if (value != null && !value.matches("[" + ALPHABET + "]{16}")) throw new SQLException("invalid sno: " + value, "22P02");
            super.setValue(value);
        }

        private BigInteger number() {
            BigInteger number = BigInteger.ZERO;
            for (char character : getValue().toCharArray()) {
                number = number.shiftLeft(5).or(BigInteger.valueOf(ALPHABET.indexOf(character)));
            }
            return number;
        }

        /** When it was generated: the first 39 bits count 4 ms since 2010. */
        public Instant time() {
            return Instant.parse("2010-01-01T00:00:00Z").plusMillis(number().shiftRight(41).longValue() * 4);
        }

        @Override
        public void setByteValue(byte[] bytes, int offset) throws SQLException {
            BigInteger number = new BigInteger(1, bytes, offset, 10);
            StringBuilder text = new StringBuilder();
            for (int shift = 75; shift >= 0; shift -= 5) {
                text.append(ALPHABET.charAt(number.shiftRight(shift).intValue() & 31));
            }
            setValue(text.toString());
        }

        @Override
        public int lengthInBytes() {
            return 10;
        }

        @Override
        public void toBytes(byte[] bytes, int offset) {
            BigInteger number = number();
            for (int place = 9; place >= 0; place--, number = number.shiftRight(8)) {
                bytes[offset + place] = number.byteValue();
            }
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

            for (String wrong : new String[] {"", "short", "9Q7K4OP826N2G222", "9q7k4op826n2g2222"}) {
                try {
                    check(false, new Sno(wrong));
                } catch (SQLException error) {
                    check(error.getSQLState().equals("22P02"), error);
                }
            }

            Duration age = Duration.between(id.time(), Instant.now());
            check(age.abs().compareTo(Duration.ofMinutes(1)) < 0, age);
            // The driver asks for text first, and for binary once it has prepared a statement in the server.
            connection.unwrap(PGConnection.class).addDataType("sno", Watched.class);
            try (PreparedStatement select = connection.prepareStatement(
                    "SELECT ?, ?::sno::text, ARRAY[?, NULL], NULL::sno WHERE ? = ANY(?)")) {
                Array ids = connection.createArrayOf("sno", new Sno[] {id, new Sno("2222222222222222"), null});
                for (int place = 1; place <= 4; place++) select.setObject(place, id);
                select.setArray(5, ids);
                for (int round = 0; round < 10; round++) {
                    try (ResultSet rows = select.executeQuery()) {
                        check(rows.next() && rows.getObject(1).equals(id), round);
                        check(rows.getString(2).equals(id.getValue()) && rows.getObject(4) == null, round);
                        Object[] found = (Object[]) rows.getArray(3).getArray();
                        check(found[0].equals(id) && found[1] == null, round);
                        check(!rows.next(), round);
                    }
                }
            }
            check(0 < Watched.binaryResults && Watched.binaryResults < 10, Watched.binaryResults);
        }
    }

    public static class Watched extends Sno {
        static int binaryResults;

        @Override
        public void setByteValue(byte[] bytes, int offset) throws SQLException {
            binaryResults++;
            super.setByteValue(bytes, offset);
        }
    }
}
