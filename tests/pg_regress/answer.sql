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
