-- For the files that come after this one: what a command returns, or the SQLSTATE, message, DETAIL and HINT of its error.
CREATE FUNCTION answer(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
    hint text;
    result text;
BEGIN
    EXECUTE command INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' / ', SQLSTATE || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;

-- A plan in one line, the same on every version.
CREATE FUNCTION plan(query text, options text DEFAULT 'costs off') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    steps text[];
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
        CONTINUE WHEN line ~ 'Index Searches|Heap Fetches|Planning|Memory|Buffers|Storage:';
        CONTINUE WHEN line ~ 'Index Cond: \(id IS NOT NULL\)|Replaces: ';
        line := regexp_replace(line, 'InitPlan minmax_1', 'InitPlan 1');
        line := regexp_replace(line, 'InitPlan expr_1', 'InitPlan 2');
        line := regexp_replace(line, ' \(returns \$\d\)', '');
        line := regexp_replace(line, '\(InitPlan 1\)\.col1', '$0', 'g');
        line := regexp_replace(line, '\(InitPlan 2\)\.col1', '$1', 'g');
        line := regexp_replace(line, '\(\(id IS NOT NULL\) AND (\(.*\))\)$', '\1');
        line := regexp_replace(line, 'rows=(\d+)\.00', 'rows=\1', 'g');
        steps := steps || regexp_replace(line, '^[ >-]+', '');
    END LOOP;
    RETURN array_to_string(steps, ' / ');
END $$;
