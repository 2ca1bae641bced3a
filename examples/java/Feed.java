// A copy in another database: new rows arrive at least once, over lost connections, and the receiver ignores what it has. With JDBC.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

public class Feed {
    static final String NEXT = "SELECT id, payload FROM sno_feed('copy', NULL::events, 100)";

    /** Sends each new row to the receiver, and tells the feed so afterwards. */
    static void consume(String url, Map<String, String> receiver) throws InterruptedException, SQLException {
        while (!Thread.interrupted()) {
            try (Connection connection = DriverManager.getConnection(url)) {
                connection.setAutoCommit(false);
                while (!Thread.interrupted()) {
                    boolean found = false;
                    try (PreparedStatement next = connection.prepareStatement(NEXT); ResultSet rows = next.executeQuery()) {
                        for (; rows.next(); found = true) receiver.put(rows.getString("id"), rows.getString("payload"));
                    }
                    connection.commit();
                    if (!found) Thread.sleep(100);
                }
                return;
            } catch (SQLException error) {
                // What was not committed comes again; other errors than these do not get better.
                String state = String.valueOf(error.getSQLState());
                if (!state.matches("(08|40|53|57).*|55P03|25P03")) throw error;
                System.err.println(error.getMessage());
                Thread.sleep(100);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0]; // jdbc:postgresql://localhost/database?user=…
        try (Connection connection = DriverManager.getConnection(url);
                Connection other = DriverManager.getConnection(url);
                Statement writer = connection.createStatement();
                Statement late = other.createStatement()) {
            writer.execute("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(1), payload text)");
            writer.execute("SELECT sno_create_feed('copy', 'events', margin => '0.1 s')");
            other.setAutoCommit(false);
            late.execute("INSERT INTO events (payload) VALUES ('commits late')");

            Map<String, String> receiver = new ConcurrentSkipListMap<>();
            Thread consumer = new Thread(() -> {
                try {
                    consume(url, receiver);
                } catch (InterruptedException end) {
                    // It is asked to end.
                } catch (SQLException error) {
                    throw new RuntimeException(error);
                }
            });
            consumer.start();
            for (int round = 0; round < 20; round++) {
                writer.execute("INSERT INTO events (payload) SELECT n FROM generate_series(1, 100) n");
                writer.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        + " WHERE query LIKE '%sno_feed(''copy''%' AND pid <> pg_backend_pid()");
                Thread.sleep(50);
            }
            other.commit();
            for (int wait = 0; wait < 300 && receiver.size() < 2001; wait++) Thread.sleep(100);
            consumer.interrupt();
            consumer.join();

            Map<String, String> stored = new ConcurrentSkipListMap<>();
            try (ResultSet rows = writer.executeQuery("SELECT id, payload FROM events")) {
                while (rows.next()) stored.put(rows.getString("id"), rows.getString("payload"));
            }
            if (!receiver.equals(stored)) throw new AssertionError(receiver.size() + " of " + stored.size());
        }
    }
}
