//! A database that seems to be a node of Citus, on a server that has none: an extension of this name, with what `sno_citus` looks for.

use std::fs;
use std::path::PathBuf;
use std::thread;

use sno_tests::postgres::Client;
use sno_tests::{Sql as _, program};

use crate::upgrades::folder;

/// What other nodes answer stands in `citus.answers`, by their port. This node is the coordinator.
const SCRIPT: &str = "
    CREATE SCHEMA citus;
    CREATE TABLE citus.pg_dist_local_group (groupid integer);
    INSERT INTO citus.pg_dist_local_group VALUES (0);
    CREATE TABLE citus.pg_dist_node (nodeid integer, groupid integer, nodename text DEFAULT 'there', nodeport integer, noderole text DEFAULT 'primary');
    INSERT INTO citus.pg_dist_node VALUES (1, 0, 'here', 5432);
    CREATE SEQUENCE citus.pg_dist_groupid_seq;
    ALTER SEQUENCE citus.pg_dist_groupid_seq SET SCHEMA pg_catalog;
    CREATE TABLE citus.pg_dist_partition (logicalrelid regclass);
    ALTER TABLE citus.pg_dist_local_group SET SCHEMA pg_catalog;
    ALTER TABLE citus.pg_dist_node SET SCHEMA pg_catalog;
    ALTER TABLE citus.pg_dist_partition SET SCHEMA pg_catalog;
    GRANT SELECT ON pg_dist_local_group, pg_dist_node, pg_dist_partition TO PUBLIC;
    CREATE FUNCTION pg_catalog.relation_is_a_known_shard(regclass) RETURNS boolean LANGUAGE sql RETURN false;
    CREATE FUNCTION pg_catalog.citus_backend_gpid() RETURNS bigint LANGUAGE sql RETURN 1;
    CREATE TABLE citus.active (process_id integer, worker_query boolean, transaction_number bigint, transaction_stamp timestamptz, global_pid bigint);
    CREATE FUNCTION pg_catalog.get_all_active_transactions() RETURNS SETOF citus.active LANGUAGE sql AS 'TABLE citus.active';
    CREATE TABLE citus.answers (port integer, question text, success boolean DEFAULT true, result text);
    CREATE FUNCTION pg_catalog.master_run_on_worker(names text[], ports integer[], queries text[], parallel boolean)
        RETURNS TABLE (node_name text, node_port integer, success boolean, result text) LANGUAGE sql AS $$
        SELECT u.name, u.port, a.success, a.result
        FROM unnest($1, $2, $3) WITH ORDINALITY u(name, port, query, n)
        JOIN citus.answers a ON a.port = u.port AND u.query LIKE format('SELECT sno_internal.answer(%L, %%)', a.question) ORDER BY n
    $$";

pub(super) fn extensions() -> PathBuf {
    folder(&program(""), "--sharedir").join("extension")
}

/// Makes an extension for the servers of this run.
pub(super) fn install(name: &str, control: &str, script: &str) {
    let control_file = extensions().join(format!("{name}.control"));
    // Where Citus is, this is one more version of it.
    if !control_file.exists() {
        fs::write(control_file, format!("{control}\nrelocatable = false\n")).unwrap();
    }
    // At once: another test may be reading what this one writes, too.
    let file = extensions().join(format!("{name}--made.sql"));
    let new = file.with_extension(format!("{:?}", thread::current().id()));
    fs::write(&new, script).unwrap();
    fs::rename(new, file).unwrap();
}

/// Has the database of a session seem to be one.
pub(crate) fn database(client: &mut Client) {
    install("citus", "schema = 'pg_catalog'", SCRIPT);
    client.run("CREATE EXTENSION citus VERSION 'made'");
}
