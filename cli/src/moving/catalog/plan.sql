SELECT nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relname = 'sno_move_plan' AND relkind = 'r' AND pg_get_userbyid(relowner) = current_user LIMIT 1
