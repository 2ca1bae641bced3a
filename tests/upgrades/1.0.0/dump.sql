--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: sno; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS sno WITH SCHEMA public;


--
-- Name: EXTENSION sno; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION sno IS 'unique IDs of 10 bytes and 16 characters that sort by time';


--
-- Name: order_id; Type: DOMAIN; Schema: public; Owner: postgres
--

CREATE DOMAIN public.order_id AS public.sno
	CONSTRAINT order_id_check CHECK ((public.sno_metabyte(VALUE) = 2));


ALTER DOMAIN public.order_id OWNER TO postgres;

--
-- Name: items_log(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.items_log() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET row_security TO 'off'
    AS $$
DECLARE
    part regclass;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
            RAISE EXCEPTION 'cannot truncate a table whose changes are tracked in a transaction with isolation level %',
                upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'Such a transaction does not see rows that others have inserted since it began.', HINT = 'Use READ COMMITTED.';
        END IF;
        FOR part IN SELECT sno_internal.truncated(TG_RELID) LOOP
            EXECUTE concat('INSERT INTO public.items_log (id) SELECT t.id FROM ONLY ', part, ' t');
        END LOOP;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO public.items_log (id) VALUES (OLD.id);
    END IF;
    -- The images, which are compared without operators of others' types.
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NOT ROW(OLD.id)::record *= ROW(NEW.id)::record THEN
        INSERT INTO public.items_log (id) VALUES (NEW.id);
    END IF;
    RETURN NULL;
END
$$;


ALTER FUNCTION public.items_log() OWNER TO postgres;

--
-- Name: FUNCTION items_log(); Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON FUNCTION public.items_log() IS 'writes the log of changes: see sno_track_changes()';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: items; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.items (
    id integer NOT NULL,
    n integer
);


ALTER TABLE public.items OWNER TO postgres;

--
-- Name: items_changes; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.items_changes AS
SELECT
    NULL::public.sno AS changed,
    NULL::integer AS id,
    NULL::public.items AS record;


ALTER TABLE public.items_changes OWNER TO postgres;

--
-- Name: VIEW items_changes; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON VIEW public.items_changes IS 'changed rows, each as it is now: see sno_track_changes()';


--
-- Name: items_log; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.items_log (
    changed public.sno DEFAULT public.sno_new(3) NOT NULL,
    id integer NOT NULL
);


ALTER TABLE public.items_log OWNER TO postgres;

--
-- Name: TABLE items_log; Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON TABLE public.items_log IS 'keys of changed rows, written by triggers: see sno_track_changes()';


--
-- Name: lines; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.lines (
    id public.sno DEFAULT public.sno_new() NOT NULL,
    order_id public.order_id NOT NULL,
    n integer
);


ALTER TABLE public.lines OWNER TO postgres;

--
-- Name: log; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.log (
    id public.sno DEFAULT public.sno_new(1) NOT NULL,
    line text
)
PARTITION BY RANGE (id);


ALTER TABLE public.log OWNER TO postgres;

--
-- Name: log_20260101; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.log_20260101 (
    id public.sno DEFAULT public.sno_new(1) NOT NULL,
    line text
);


ALTER TABLE public.log_20260101 OWNER TO postgres;

--
-- Name: log_20260201; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.log_20260201 (
    id public.sno DEFAULT public.sno_new(1) NOT NULL,
    line text
);


ALTER TABLE public.log_20260201 OWNER TO postgres;

--
-- Name: orders; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.orders (
    id public.order_id DEFAULT public.sno_new(2) NOT NULL,
    item text
);


ALTER TABLE public.orders OWNER TO postgres;

--
-- Name: order_list; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.order_list AS
 SELECT public.sno_time((orders.id)::public.sno) AS created_at,
    orders.id,
    orders.item
   FROM public.orders;


ALTER TABLE public.order_list OWNER TO postgres;

--
-- Name: log_20260101; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.log ATTACH PARTITION public.log_20260101 FOR VALUES FROM ('9d5ve82222222222') TO ('9edsjci222222222');


--
-- Name: log_20260201; Type: TABLE ATTACH; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.log ATTACH PARTITION public.log_20260201 FOR VALUES FROM ('9edsjci222222222') TO ('9fhu5ei222222222');


--
-- Data for Name: items; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.items (id, n) FROM stdin;
1	1
3	3
\.


--
-- Data for Name: items_log; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.items_log (changed, id) FROM stdin;
9qgmfwqi2e8x2222	1
9qgmfwqi2e8x2223	2
9qgmfwqi2e8x2224	3
9qgmfwqk2e8x2222	2
\.


--
-- Data for Name: lines; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.lines (id, order_id, n) FROM stdin;
9d78kji22222g256	9d78kji22a22g223	1
9d8hqv222222g256	9d8hqv222a22g224	1
9d9qxai22222g256	9d9qxai22a22g225	1
9db47m222222g256	9db47m222a22g226	1
9dcddxi22222g256	9dcddxi22a22g227	1
\.


--
-- Data for Name: log_20260101; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.log_20260101 (id, line) FROM stdin;
9d78kji22a22g223	item 1
9d8hqv222a22g224	item 2
9d9qxai22a22g225	item 3
9db47m222a22g226	item 4
9dcddxi22a22g227	item 5
\.


--
-- Data for Name: log_20260201; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.log_20260201 (id, line) FROM stdin;
\.


--
-- Data for Name: orders; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.orders (id, item) FROM stdin;
9d78kji22a22g223	item 1
9d8hqv222a22g224	item 2
9d9qxai22a22g225	item 3
9db47m222a22g226	item 4
9dcddxi22a22g227	item 5
\.


--
-- Data for Name: feed_positions; Type: TABLE DATA; Schema: sno_internal; Owner: postgres
--

COPY sno_internal.feed_positions (source, feed, owner, source_name, key, margin, "position", moved) FROM stdin;
\N	changes	postgres	public.items_changes	changed	00:00:00.1	\N	2026-11-28 10:38:46.843181+00
\N	42	postgres	public.lines	id	\N	\N	2026-11-28 10:38:46.84496+00
\N	export	postgres	public.orders	id	00:00:00.1	9d8hqv222a22g224	2026-11-28 10:38:47.051828+00
\N	list	postgres	public.order_list	id	00:00:01	9d9qxahxxxxxxxxx	2026-11-28 10:38:47.054356+00
\.


--
-- Name: items_log items_log_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.items_log
    ADD CONSTRAINT items_log_pkey PRIMARY KEY (changed);


--
-- Name: items items_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);


--
-- Name: lines lines_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.lines
    ADD CONSTRAINT lines_pkey PRIMARY KEY (id);


--
-- Name: log log_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (id);


--
-- Name: log_20260101 log_20260101_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.log_20260101
    ADD CONSTRAINT log_20260101_pkey PRIMARY KEY (id);


--
-- Name: log_20260201 log_20260201_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.log_20260201
    ADD CONSTRAINT log_20260201_pkey PRIMARY KEY (id);


--
-- Name: orders orders_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);


--
-- Name: lines_id_idx; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX lines_id_idx ON public.lines USING brin (id public.sno_minmax_multi_ops);


--
-- Name: lines_order_id_id_idx; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX lines_order_id_id_idx ON public.lines USING btree (order_id, id);


--
-- Name: log_20260101_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.log_pkey ATTACH PARTITION public.log_20260101_pkey;


--
-- Name: log_20260201_pkey; Type: INDEX ATTACH; Schema: public; Owner: postgres
--

ALTER INDEX public.log_pkey ATTACH PARTITION public.log_20260201_pkey;


--
-- Name: items_changes _RETURN; Type: RULE; Schema: public; Owner: postgres
--

CREATE OR REPLACE VIEW public.items_changes AS
 SELECT l.changed,
    l.id,
        CASE
            WHEN true THEN ( SELECT t.*::public.items AS t
               FROM ONLY public.items t
              WHERE (t.id = l.id))
            ELSE ( SELECT t.*::public.items AS t
               FROM ONLY public.items t
              WHERE false
              GROUP BY t.id)
        END AS record
   FROM public.items_log l
  WHERE sno_internal.check_changes('public.items'::regclass);


--
-- Name: items sno_log; Type: TRIGGER; Schema: public; Owner: postgres
--

CREATE TRIGGER sno_log AFTER INSERT OR DELETE OR UPDATE ON public.items FOR EACH ROW EXECUTE FUNCTION public.items_log();

ALTER TABLE public.items ENABLE ALWAYS TRIGGER sno_log;


--
-- Name: items sno_log_truncate; Type: TRIGGER; Schema: public; Owner: postgres
--

CREATE TRIGGER sno_log_truncate BEFORE TRUNCATE ON public.items FOR EACH STATEMENT EXECUTE FUNCTION public.items_log();

ALTER TABLE public.items ENABLE ALWAYS TRIGGER sno_log_truncate;


--
-- Name: lines lines_order_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.lines
    ADD CONSTRAINT lines_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(id);


--
-- Name: FUNCTION items_log(); Type: ACL; Schema: public; Owner: postgres
--

REVOKE ALL ON FUNCTION public.items_log() FROM PUBLIC;


--
-- PostgreSQL database dump complete
--


