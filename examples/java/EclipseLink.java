// JPA with EclipseLink: the key is a String, and a sequence fetches IDs from the server, fifty at a time.

import java.nio.file.Files;
import java.nio.file.Path;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Vector;
import javax.persistence.*;
import org.eclipse.persistence.config.SessionCustomizer;
import org.eclipse.persistence.internal.databaseaccess.Accessor;
import org.eclipse.persistence.internal.sessions.AbstractSession;
import org.eclipse.persistence.queries.ValueReadQuery;
import org.eclipse.persistence.sequencing.Sequence;
import org.eclipse.persistence.sessions.Session;

public class EclipseLink {
    @Entity(name = "orders")
    public static class Order {
        @Id
        @GeneratedValue(generator = "sno_new(2)")
        public String id;
        public String customer;
        @OneToMany(mappedBy = "order", cascade = CascadeType.PERSIST)
        @OrderBy("id")
        public List<Line> lines = new ArrayList<>();
    }

    @Entity(name = "lines")
    public static class Line {
        @Id
        @GeneratedValue(generator = "sno_new()")
        public String id;
        @ManyToOne
        @JoinColumn(name = "order_id")
        public Order order;
        public String item;
    }

    /** IDs that the server generates before the insert. Its name is the call that generates one. */
    public static class SnoSequence extends Sequence {
        public SnoSequence(String call) {
            super(call, 50);
        }

        @Override
        public Vector getGeneratedVector(Accessor accessor, AbstractSession session, String call, int size) {
            List<?> rows = (List<?>) session.executeSQL("SELECT " + call + "::text FROM generate_series(1, " + size + ")");
            Vector<Object> ids = new Vector<>();
            for (Object row : rows) ids.add(((Map<?, ?>) row).values().iterator().next());
            return ids;
        }

        @Override
        public Object getGeneratedValue(Accessor accessor, AbstractSession session, String call) {
            return getGeneratedVector(accessor, session, call, 1).get(0);
        }

        @Override
        public boolean shouldAcquireValueAfterInsert() {
            return false;
        }

        @Override
        public boolean shouldUseTransaction() {
            return false;
        }

        @Override
        public void onConnect() {
        }

        @Override
        public void onDisconnect() {
        }
    }

    public static class Customizer implements SessionCustomizer {
        @Override
        public void customize(Session session) {
            for (String call : new String[] {"sno_new()", "sno_new(2)"}) session.getLogin().addSequence(new SnoSequence(call));
        }
    }

    static void check(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    public static void main(String[] arguments) throws Exception {
        // Usually a file of the application, as the customizer's name in it.
        Path folder = Files.createTempDirectory("sno-jpa-");
        Path unit = Files.createDirectories(folder.resolve("META-INF")).resolve("persistence.xml");
        Files.writeString(unit, "<persistence xmlns='http://xmlns.jcp.org/xml/ns/persistence' version='2.1'>"
            + "<persistence-unit name='shop' transaction-type='RESOURCE_LOCAL'>"
            + "<class>EclipseLink$Order</class><class>EclipseLink$Line</class>"
            + "</persistence-unit></persistence>");
        Thread.currentThread().setContextClassLoader(
            new URLClassLoader(new URL[] {folder.toUri().toURL()}, EclipseLink.class.getClassLoader()));

        Map<String, Object> options = new HashMap<>();
        // With stringtype=unspecified the server decides what a string is.
        options.put("javax.persistence.jdbc.url", arguments[0] + "&stringtype=unspecified");
        options.put("eclipselink.session.customizer", "EclipseLink$Customizer");
        options.put("eclipselink.weaving", "false");
        options.put("eclipselink.logging.level", "SEVERE");
        EntityManagerFactory factory = Persistence.createEntityManagerFactory("shop", options);
        EntityManager manager = factory.createEntityManager();
        try {
            manager.getTransaction().begin();
            manager.createNativeQuery("CREATE TABLE orders (id sno PRIMARY KEY, customer text)").executeUpdate();
            manager.createNativeQuery("CREATE TABLE lines (id sno PRIMARY KEY, order_id sno REFERENCES orders, item text)").executeUpdate();
            manager.getTransaction().commit();

            String first = null;
            for (int count = 0; count < 60; count++) {
                manager.getTransaction().begin();
                Order order = new Order();
                order.customer = "ann";
                for (String item : new String[] {"desk", "chair"}) {
                    Line line = new Line();
                    line.order = order;
                    line.item = item;
                    order.lines.add(line);
                }
                manager.persist(order);
                check(order.id.matches("[2-9a-x]{16}"), order.id);
                manager.getTransaction().commit();
                if (first == null) first = order.id;
            }
            manager.clear();

            Order found = manager.find(Order.class, first);
            check(found.lines.size() == 2 && found.lines.get(0).item.equals("desk"), found.lines);
            check(manager.find(Order.class, "xxxxxxxxxxxxxxxx") == null, first);
            List<Order> page = manager.createQuery("SELECT o FROM orders o WHERE o.id > :last ORDER BY o.id", Order.class)
                .setParameter("last", first).setMaxResults(50).getResultList();
            check(page.size() == 50 && page.get(0).id.compareTo(first) > 0, page.size());
            List<?> recent = manager.createNativeQuery("SELECT id::text FROM orders WHERE id >= now() - interval '1 hour'").getResultList();
            check(recent.size() == 60, recent.size());
        } finally {
            factory.close();
            Files.delete(unit);
            Files.delete(unit.getParent());
            Files.delete(folder);
        }
    }
}
