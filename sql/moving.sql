-- Moving the keys of tables to sno, or back, while the tables are in use: docs/moving.md. It needs psql and PostgreSQL 15 or later.
--
--     psql -X -d shop -f sql/moving.sql                                     what moving the keys of the database will meet
--     psql -X -d shop -v keys='orders.id customers' -f sql/moving.sql       only these keys, and what refers to them
--     psql -X -d shop -v keys='orders.id' -v write=steps -f sql/moving.sql  and writes the steps into the folder steps; write=- prints them
--
-- The check reads the catalogs, as any role, with or without the extension, also on a standby. Writing needs a primary, where it creates
-- temporary tables and functions for the session, and nothing else. These variables say what the catalogs don't:
--
--     references   columns that refer to a key without a foreign key, also arrays, one a line, with a condition if they have several tables:
--                  -v references="$(cat references)", where the file has lines like  notes.subject_id orders.id subject_type = 'Order'
--     times        when rows were created, one table a line:  orders placed_at AT TIME ZONE 'UTC'
--     functions    functions whose arguments, result or body name the old type, one a line:  current_account()
--     from=sno     from sno to another type: to=uuid, the default, or to=bigint
--     value        the new key as an expression of the old one, which is called id: -v value='uuidv7_to_sno(id)'
--
-- Without this folder's files, `cat moving/*.sql | psql` does the same.
\ir moving/1_model.sql
\ir moving/2_check.sql
\ir moving/3_columns.sql
\ir moving/4_objects.sql
\ir moving/5_steps.sql
\ir moving/6_write.sql
