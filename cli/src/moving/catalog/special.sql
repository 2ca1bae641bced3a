SELECT EXISTS (SELECT FROM pg_depend WHERE classid = $1::text::regclass AND objid = $2 AND deptype = 'e') AS is_member,
    EXISTS (SELECT FROM pg_depend WHERE classid = $1::text::regclass AND objid = $2 AND deptype = 'x') AS needs,
    EXISTS (SELECT FROM pg_seclabel WHERE classoid = $1::text::regclass AND objoid = $2) AS has_label
