-- Rows of one time can have one ID: such rows get others.
#variable_conflict use_column
DECLARE
    changed bigint;
    before bigint;
BEGIN
    LOOP
        SET LOCAL lock_timeout = '500ms';
        UPDATE {} t SET {} = {} WHERE t.{} IN (
            SELECT s.key FROM (SELECT d.{}, row_number() OVER (PARTITION BY d.{} ORDER BY d.{}) FROM {} d
                WHERE d.{} IS NOT NULL) s(key, number) WHERE s.number > 1){};
        GET DIAGNOSTICS changed = ROW_COUNT;
        SET CONSTRAINTS ALL IMMEDIATE;
        COMMIT;
        EXIT WHEN changed = 0;
        IF changed >= before THEN
            RAISE program_limit_exceeded USING MESSAGE = 'more rows have one time than there are IDs of it', HINT = {};
        END IF;
        before := changed;
    END LOOP;
END
