-- How far step 2 is, in any session.
CREATE TABLE {} (part text PRIMARY KEY, last text, done bigint, of bigint, unit text, per_second bigint,
    time_left interval, at timestamptz, told timestamptz);
CREATE FUNCTION {}(which text, last_one text, is_done bigint, of_all bigint, of_unit text, since timestamptz,
    at_first bigint) RETURNS void LANGUAGE plpgsql AS {};
-- Runs a statement for the rows of a table in batches, in the order of a key: $1 and $2 in it are the first and the
-- last key of one, as texts.
CREATE PROCEDURE {}(of regclass, key text, type text, statement text, batch integer) LANGUAGE plpgsql AS {};
-- The same page by page, which needs no index: the table, or a partition of it, stands between the texts.
CREATE PROCEDURE {}(of regclass, begins text, rest text, batch integer) LANGUAGE plpgsql AS {};
