-- What the steps of docs/moving.md leave to whoever takes them, for the tables of schema.sql.

-- before: indexes for the fill
CREATE INDEX ON billing.payments (invoice_id);
CREATE INDEX ON audit (customer_id);
CREATE INDEX ON comments (subject_id);
CREATE INDEX ON documents (id);
CREATE INDEX ON document_versions (document_id);

-- 1: references of several kinds
ALTER TABLE comments ADD COLUMN subject_sno sno;
CREATE FUNCTION comments_subject_sno() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$BEGIN
    NEW.subject_sno := CASE NEW.subject_type WHEN 'Order' THEN (SELECT sno FROM public.orders WHERE id = NEW.subject_id)
        WHEN 'Product' THEN (SELECT sno FROM public.products WHERE id = NEW.subject_id) END; RETURN NEW; END$$;
CREATE TRIGGER zz_subject_sno BEFORE INSERT OR UPDATE ON comments FOR EACH ROW EXECUTE FUNCTION comments_subject_sno();
ALTER TABLE bundles ADD COLUMN product_snos sno[];
CREATE FUNCTION bundles_product_snos() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$BEGIN
    NEW.product_snos := ARRAY(SELECT sno FROM unnest(NEW.product_ids) WITH ORDINALITY u(id, n) JOIN public.products USING (id) ORDER BY n);
    RETURN NEW; END$$;
CREATE TRIGGER zz_product_snos BEFORE INSERT OR UPDATE ON bundles FOR EACH ROW EXECUTE FUNCTION bundles_product_snos();

-- 2: and their rows
UPDATE comments t SET subject_sno = o.sno FROM orders o WHERE o.id = t.subject_id AND t.subject_type = 'Order' AND t.subject_sno IS DISTINCT FROM o.sno;
UPDATE comments t SET subject_sno = o.sno FROM products o WHERE o.id = t.subject_id AND t.subject_type = 'Product' AND t.subject_sno IS DISTINCT FROM o.sno;
UPDATE bundles SET product_snos = NULL;

-- 3: indexes that the check lists
CREATE INDEX CONCURRENTLY orders_customer_new ON orders (customer_sno, sno);
CREATE UNIQUE INDEX CONCURRENTLY categories_of_parent_new ON categories (coalesce(parent_sno, '2222222222222222'), name);
CREATE UNIQUE INDEX CONCURRENTLY customers_account_new ON customers (account_sno, name);
CREATE UNIQUE INDEX CONCURRENTLY invoices_order_new ON invoices (order_sno, total);
CREATE INDEX CONCURRENTLY product_categories_category_new ON product_categories (category_sno);
CREATE INDEX CONCURRENTLY comments_subject_new ON comments (subject_type, subject_sno);
ALTER TABLE bookings ADD CONSTRAINT bookings_new EXCLUDE USING gist ((product_sno::uuid) WITH =, during WITH &&);

-- 5: what used the old columns
DROP TRIGGER zz_subject_sno ON comments;
DROP TRIGGER zz_product_snos ON bundles;
DROP VIEW order_sums, large_orders, order_json;
DROP POLICY own ON sessions;
DROP STATISTICS orders_customers;
DROP TRIGGER log_customer ON customers;
DROP FUNCTION lines_of(orders), order_lines(bigint), lock_order(bigint), shard(bigint), last_order();
ALTER TABLE shipments DROP CONSTRAINT shipments_order;
ALTER TABLE events DROP CONSTRAINT events_order_id_fkey;
DROP TRIGGER zz_order_sno ON events;
DROP FUNCTION is_order(bigint);
ALTER TABLE transfers DROP CONSTRAINT transfers_check;
ALTER TABLE comments ALTER COLUMN subject_id DROP NOT NULL;
ALTER TABLE comments RENAME COLUMN subject_id TO old_subject_id;
ALTER TABLE comments RENAME COLUMN subject_sno TO subject_id;
ALTER TABLE bundles ALTER COLUMN product_ids DROP NOT NULL;
ALTER TABLE bundles RENAME COLUMN product_ids TO old_product_ids;
ALTER TABLE bundles RENAME COLUMN product_snos TO product_ids;

-- 5: the same with the new ones
ALTER TABLE transfers ADD CONSTRAINT transfers_check CHECK (sender <> receiver) NOT VALID;
CREATE FUNCTION is_order(order_id orders.id%TYPE) RETURNS boolean LANGUAGE plpgsql AS
    $$BEGIN RETURN EXISTS (SELECT FROM public.orders WHERE id = order_id); END$$;
ALTER TABLE shipments ADD CONSTRAINT shipments_order CHECK (is_order(detail_id)) NOT VALID;
CREATE VIEW order_sums AS SELECT o.id, o.customer_id, count(l.id) AS lines FROM orders o LEFT JOIN lines l ON l.order_id = o.id GROUP BY o.id;
CREATE VIEW large_orders AS SELECT * FROM order_sums WHERE lines > 10;
CREATE VIEW order_json AS SELECT json_build_object('id', id, 'note', note) AS document FROM orders;
GRANT SELECT (id, customer_id) ON orders TO shop_reader;
CREATE POLICY own ON sessions USING (account_id::text = current_setting('shop.account', true));
CREATE STATISTICS orders_customers ON customer_id, note FROM orders;
CREATE TRIGGER log_customer AFTER INSERT OR UPDATE OF id ON customers FOR EACH ROW EXECUTE FUNCTION log_customer();
ALTER TABLE payments ALTER COLUMN invoice_id SET DEFAULT '2222222222222222';
CREATE FUNCTION order_lines(order_id sno) RETURNS TABLE (line_id sno, item text) LANGUAGE plpgsql AS
    $$BEGIN RETURN QUERY SELECT l.id, l.item FROM lines l WHERE l.order_id = order_lines.order_id; END$$;
CREATE OR REPLACE FUNCTION count_lines() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    o orders.id%TYPE := NEW.order_id;
BEGIN
    UPDATE orders SET line_count = line_count + 1 WHERE id = o;
    RETURN NEW;
EXCEPTION WHEN others THEN
    RAISE WARNING 'not counted: %', SQLERRM;
    RETURN NEW;
END
$$;
CREATE FUNCTION lock_order(order_id sno) RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_xact_lock(hashtextextended(order_id::text, 0))';
CREATE FUNCTION shard(order_id sno) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT hashtext(order_id::text) % 10';
CREATE FUNCTION lines_of(orders) RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT count(*) FROM lines WHERE order_id = $1.id; END;

-- 5: after it
ALTER TABLE transfers VALIDATE CONSTRAINT transfers_check;
ALTER TABLE shipments VALIDATE CONSTRAINT shipments_order;

-- 6: clean up
ALTER TABLE comments DROP COLUMN old_subject_id;
ALTER TABLE bundles DROP COLUMN old_product_ids;
DROP FUNCTION comments_subject_sno, bundles_product_snos;
DROP TABLE events_old;
DROP FUNCTION events_order_sno;
DROP PROCEDURE fill_events;
