//! Nobody's name, function or text runs with another's rights.

use sno_tests::{Server, Sql as _, text};

/// Temporary views of the names that the extension looks for in `pg_catalog`, where they are only if Citus is there. Who reads one as another role
/// than that of the session takes a number of `ran`, which stays when the statement fails.
#[test]
fn temporary_views_instead_of_tables_of_citus() {
    let server = Server::builder().extension(false).start();
    server.run("CREATE ROLE owner1 LOGIN; CREATE ROLE mallory LOGIN");
    server.run("CREATE DATABASE own OWNER owner1");
    for (database, creator) in [("postgres", "postgres"), ("own", "owner1")] {
        let session =
            |user| server.config().user(user).dbname(database).connect(sno_tests::postgres::NoTls).unwrap();
        session(creator).run("CREATE EXTENSION sno");
        let mut superuser = session("postgres");
        superuser.run("CREATE SEQUENCE public.ran; GRANT USAGE ON SEQUENCE public.ran TO PUBLIC");
        let mut mallory = session("mallory");
        mallory.run(
            "CREATE FUNCTION pg_temp.planted() RETURNS integer LANGUAGE plpgsql AS $$
             BEGIN
                 IF current_user <> session_user THEN
                     PERFORM nextval('public.ran');
                 END IF;
                 RETURN 0;
             END
             $$;
             CREATE TEMP VIEW pg_dist_local_group AS SELECT pg_temp.planted() AS groupid;
             CREATE TEMP VIEW pg_dist_node AS SELECT pg_temp.planted() AS groupid, pg_temp.planted() AS nodeid, 'primary' AS noderole;
             CREATE TEMP VIEW pg_dist_partition AS SELECT pg_temp.planted()::oid AS logicalrelid",
        );
        for call in [
            "SELECT sno_internal.horizon_of_nodes('0.1 s', NULL)",
            "SELECT sno_internal.read_on_nodes(NULL)",
            "SELECT sno_internal.read_on_nodes('pg_class')",
        ] {
            let result = mallory.batch_execute(call);
            assert_eq!(
                text(&mut superuser, "SELECT is_called FROM public.ran"),
                "f",
                "{creator}: {call}: {result:?}"
            );
        }
    }
}
