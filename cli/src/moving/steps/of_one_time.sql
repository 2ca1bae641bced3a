-- Rows of one time can have one ID: such rows get others.
#variable_conflict use_column
DECLARE
    changed bigint;
    before bigint;
BEGIN
    LOOP
        SET LOCAL lock_timeout = '500ms';
        UPDATE {table} t SET {new} = {value} WHERE t.{key} IN (
            SELECT s.key FROM (SELECT d.{key}, row_number() OVER (PARTITION BY d.{new} ORDER BY d.{key}) FROM {table} d
                WHERE d.{new} IS NOT NULL) s(key, number) WHERE s.number > 1){search_path};
        GET DIAGNOSTICS changed = ROW_COUNT;
        SET CONSTRAINTS ALL IMMEDIATE;
        COMMIT;
        EXIT WHEN changed = 0;
        IF changed >= before THEN
            RAISE program_limit_exceeded USING MESSAGE = 'more rows have one time than there are IDs of it', HINT = {hint};
        END IF;
        before := changed;
    END LOOP;
END
