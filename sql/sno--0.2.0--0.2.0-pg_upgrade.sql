-- pg_upgrade carries an extension over as it was on the old server. What the new server's version of PostgreSQL
-- has beyond that comes with
--
--     ALTER EXTENSION sno UPDATE TO '0.2.0-pg_upgrade';
--     ALTER EXTENSION sno UPDATE;
--
-- since PostgreSQL updates no version to itself. This is the first step, which does nothing.

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION sno UPDATE TO '0.2.0-pg_upgrade'" to load this file. \quit
