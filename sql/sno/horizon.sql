--
-- The horizon
--

CREATE FUNCTION sno_horizon(margin interval DEFAULT '0.1 s') RETURNS sno AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_horizon(interval) IS 'below this ID no row is missing and none will come';
CREATE FUNCTION sno_holds_horizon(sno) RETURNS boolean AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_holds_horizon(sno) IS 'no sno_horizon() passes this ID before this transaction ends';

CREATE FUNCTION sno_internal.sno_horizon_holders(OUT pid integer, OUT transaction xid, OUT since timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION sno_internal.sno_horizon_holders() IS 'internal: open transactions that have IDs';

CREATE VIEW sno_horizon_holders AS
    SELECT pid, gid, since FROM sno_internal.sno_horizon_holders() LEFT JOIN pg_catalog.pg_prepared_xacts USING (transaction);
GRANT SELECT ON sno_horizon_holders TO PUBLIC;
COMMENT ON VIEW sno_horizon_holders IS 'open transactions that have IDs: sno_horizon() is before them';
COMMENT ON COLUMN sno_horizon_holders.pid IS 'process of the transaction; null if it is prepared';
COMMENT ON COLUMN sno_horizon_holders.gid IS 'identifier of the prepared transaction';
COMMENT ON COLUMN sno_horizon_holders.since IS 'time of its first ID, or the time that it waits for';
