// Hibernate: the key is a String that the default generates, as with a column of type IDENTITY.

import java.util.ArrayList;
import java.util.List;
import javax.persistence.*;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Hibernate {
    @Entity(name = "Order")
    @Table(name = "orders")
    public static class Order {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        public String id;
        public String customer;
        @OneToMany(mappedBy = "order", cascade = CascadeType.ALL)
        @OrderBy("id")
        public List<Line> lines = new ArrayList<Line>();
    }

    @Entity(name = "Line")
    @Table(name = "lines")
    public static class Line {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        public String id;
        @ManyToOne
        @JoinColumn(name = "order_id")
        public Order order;
        public String item;
    }

    static void check(boolean fact, Object what) {
        if (!fact) throw new AssertionError(what);
    }

    public static void main(String[] arguments) {
        // Java runs this file without a class path for it; Hibernate looks there.
        Thread.currentThread().setContextClassLoader(Hibernate.class.getClassLoader());
        Configuration configuration = new Configuration();
        configuration.addAnnotatedClass(Order.class).addAnnotatedClass(Line.class);
        // With stringtype=unspecified the server decides what a string is.
        configuration.setProperty("hibernate.connection.url", arguments[0] + "&stringtype=unspecified");
        configuration.setProperty("hibernate.jdbc.use_get_generated_keys", "true");
        configuration.setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect");
        SessionFactory factory = configuration.buildSessionFactory();
        Session session = factory.openSession();
        session.beginTransaction();
        session.createSQLQuery("CREATE TABLE orders (id sno PRIMARY KEY DEFAULT sno_new(2), customer text)").executeUpdate();
        session.createSQLQuery("CREATE TABLE lines (id sno PRIMARY KEY DEFAULT sno_new(), order_id sno REFERENCES orders, item text)").executeUpdate();

        String first = null;
        for (int count = 0; count < 3; count++) {
            Order order = new Order();
            order.customer = "ann";
            for (String item : new String[] {"desk", "chair"}) {
                Line line = new Line();
                line.order = order;
                line.item = item;
                order.lines.add(line);
            }
            session.save(order);
            check(order.id.matches("[2-9a-x]{16}"), order.id);
            if (first == null) first = order.id;
        }
        session.getTransaction().commit();
        session.clear();

        Order found = (Order) session.get(Order.class, first);
        check(found.lines.size() == 2 && found.lines.get(0).item.equals("desk"), found.lines);
        check(session.get(Order.class, "xxxxxxxxxxxxxxxx") == null, first);
        List<?> page = session.createQuery("FROM Order o WHERE o.id > :last ORDER BY o.id")
            .setString("last", first).setMaxResults(50).list();
        check(page.size() == 2 && ((Order) page.get(0)).id.compareTo(first) > 0, page.size());
        List<?> recent = session.createSQLQuery("SELECT CAST(id AS text) FROM orders WHERE id >= now() - interval '1 hour'").list();
        check(recent.size() == 3, recent.size());
        session.close();
        factory.close();
    }
}
