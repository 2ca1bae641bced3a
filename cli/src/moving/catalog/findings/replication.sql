-- What replicates the rows.
SELECT 'to do', 'subscribed', shown,
    'its rows come by a subscription, for which no trigger fires: they need the publisher''s columns'
FROM part JOIN pg_subscription_rel ON srrelid = part.oid
UNION ALL SELECT 'to do', 'published', format('%s by %s', shown, pubname),
    'add the columns on the subscribers first; they switch when their apply has stopped, never before'
FROM part JOIN pg_publication_tables ON (schemaname, tablename) = (nspname, relname)
UNION ALL SELECT 'refused', 'published without a replica identity', shown,
    'no row of it can be changed, so the step fill could not: say REPLICA IDENTITY first'
FROM part WHERE relkind = 'r' AND (relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (
        SELECT FROM pg_index WHERE indrelid = part.oid AND indisprimary)) AND EXISTS (
    SELECT FROM pg_publication b WHERE pubupdate AND (puballtables
        OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnpubid = b.oid AND pnnspid = relnamespace)
        OR EXISTS (SELECT FROM pg_publication_rel WHERE prpubid = b.oid AND prrelid IN (
            SELECT part.oid UNION ALL SELECT pg_partition_ancestors(part.oid)))))
UNION ALL SELECT 'refused', 'published by a key', format('%s by %s', name, pubname),
    'is in the WHERE of a publication, which can have no ID: DROP TABLE it there first, and add it without'
FROM moved JOIN pg_publication_rel ON prrelid = attrelid AND prqual::text ~ format(':varattno %s ', attnum)
JOIN pg_publication p ON p.oid = prpubid
