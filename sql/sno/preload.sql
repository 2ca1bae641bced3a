-- Who has forgotten it should not find out by the first INSERT. A restore or an upgrade goes on.
DO $do$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name = 'sno.partition_prefix' AND context = 'sighup') THEN
        RAISE WARNING 'sno is not loaded via "shared_preload_libraries"' USING
            DETAIL = 'A server that does not preload sno can store, compare and convert IDs, but not generate any.',
            HINT = 'Add "sno" to "shared_preload_libraries" in postgresql.conf, and restart the server.';
    END IF;
END $do$;
