DECLARE
    is_done CONSTANT bigint := {done};
    of_all CONSTANT bigint := {of};
    rate CONSTANT numeric := (is_done - at_first) / greatest(extract(epoch FROM clock_timestamp() - began), 0.001);
    row {progress};
BEGIN
    INSERT INTO {progress} AS p VALUES ({part}, {last}, is_done, of_all, {unit}, rate, (of_all - is_done) / nullif(rate, 0)
        * interval '1 second', clock_timestamp(), began)
    ON CONFLICT (part) DO UPDATE SET last = excluded.last, done = excluded.done, of = excluded.of,
        per_second = excluded.per_second, time_left = excluded.time_left,
        at = excluded.at, told = CASE WHEN p.told < clock_timestamp() - interval '1 second'
            OR excluded.done >= excluded.of THEN excluded.at ELSE p.told END
    RETURNING * INTO row;
    IF row.told = row.at THEN
        RAISE INFO '%: % of % %, % a second, % left', row.part, row.done, row.of, row.unit, row.per_second,
            coalesce(date_trunc('second', row.time_left), '0');
    END IF;
END;
