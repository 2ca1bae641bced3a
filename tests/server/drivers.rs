//! Drivers and ORMs: every program of `examples/` does what it says, against a server, and finds what it expects.
//! `make test-drivers` sees to the drivers, and runs all.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sno_tests::postgres::NoTls;
use sno_tests::sno_core::Sno;
use sno_tests::{Server, Sql as _, text};

const PASSWORD: &str = "correct-horse";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples")
}

/// A server that is reached by TCP and with a password, like most.
fn server() -> Server {
    let server = Server::builder().extension(false).tcp(true).start();
    server.run(&format!("CREATE USER app CREATEDB PASSWORD '{PASSWORD}'"));
    server
}

/// How a program of a language is run, which finds the server in its environment, as libpq's do, or in its arguments.
fn command(language: &str, program: &Path, address: &str) -> Command {
    let mut command = match language {
        // The interpreter, Go, and where all libraries are come from dev/test-drivers.
        "python" => Command::new(env::var_os("PYTHON").expect("PYTHON, from dev/test-drivers")),
        // As Jest, which has a `require` of its own.
        "node" => {
            let mut node = Command::new("node");
            node.arg("--no-experimental-require-module");
            node
        }
        "ruby" => Command::new("/usr/bin/ruby"),
        "go" => Command::new("go"),
        "rust" => Command::new(env!("CARGO")),
        _ => panic!("no language {language}"),
    };
    match language {
        "go" => command.arg("run").arg(program.join("main.go")),
        "rust" => {
            command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust")).args([
                "run",
                "--quiet",
                "--manifest-path",
            ]);
            command.arg(program.with_file_name("Cargo.toml")).arg("--bin").arg(program.file_stem().unwrap());
            command.arg("--").arg(format!("postgres://app:{PASSWORD}@{address}"))
        }
        _ => command.arg(program),
    };
    command
}

#[test]
#[ignore = "needs their drivers: make test-drivers"]
fn every_program_does_what_it_says() {
    let server = server();
    let (mut count, mut errors) = (0, String::new());
    for folder in fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap()) {
        let language = folder.file_name().into_string().unwrap();
        for program in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()) {
            let name = program.file_name().into_string().unwrap();
            // What is not a program.
            let others = ["__pycache__", "Cargo.toml", "Cargo.lock"];
            if others.contains(&name.as_str()) {
                continue;
            }
            count += 1;
            println!("{language}/{name}");
            let database = format!("shop{count}");
            server.run(&format!("CREATE DATABASE {database} OWNER app"));
            let mut client = server.config().user("app").dbname(&database).connect(NoTls).unwrap();
            client.run("CREATE EXTENSION sno");
            let address = format!("127.0.0.1:{}/{database}", server.port());
            let mut command = command(&language, &program.path(), &address);
            command.env("PGHOST", "127.0.0.1").env("PGPORT", server.port().to_string());
            command.env("PGDATABASE", &database).env("PGUSER", "app").env("PGPASSWORD", PASSWORD);
            let output = command.env("PGSSLMODE", "disable").output();
            let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
            // A program that stopped before it did anything has left no table.
            let tables = "SELECT count(*)::text FROM pg_class
                          WHERE relname IN ('events', 'example_event', 'orders') AND relkind = 'r'";
            if !output.status.success() || text(&mut client, tables) == "0" {
                let shown = [output.stdout, output.stderr].concat();
                errors +=
                    &format!("{language}/{name}: {}\n{}\n", output.status, String::from_utf8_lossy(&shown));
            }
        }
    }
    assert!(errors.is_empty(), "{errors}");
    assert!(count >= 17, "{count} programs");
}

/// With the extension in a schema that is not searched, IDs are read and sent all the same.
#[test]
fn postgres_types_and_an_extension_elsewhere() {
    let server = Server::builder().extension(false).start();
    let mut client = server.connect();
    client.run(
        "CREATE SCHEMA elsewhere; CREATE EXTENSION sno SCHEMA elsewhere;
         CREATE TABLE events (id elsewhere.sno); INSERT INTO events VALUES ('9q7k4op826n2g222')",
    );
    let id: Sno = "9q7k4op826n2g222".parse().unwrap();
    let query = "SELECT id, ARRAY[id] FROM events WHERE id = $1";
    let row = client.query_one(query, &[&id]).unwrap();
    assert_eq!((row.get::<_, Sno>(0), row.get::<_, Vec<Sno>>(1)), (id, vec![id]));
}

/// The name of a schema can need quotes.
#[test]
#[ignore = "needs its driver: make test-drivers"]
fn asyncpg_and_an_extension_elsewhere() {
    let server = server();
    server.run(
        "CREATE SCHEMA \"My IDs\"; GRANT USAGE ON SCHEMA \"My IDs\" TO app;
         CREATE EXTENSION sno SCHEMA \"My IDs\"",
    );
    let program = "
import asyncio, asyncpg, sno, sno.asyncpg

async def main():
    connection = await asyncpg.connect(server_settings={'search_path': '\"My IDs\"'})
    await sno.asyncpg.register(connection)
    assert isinstance(await connection.fetchval('SELECT sno_new(1)'), sno.Sno)

asyncio.run(main())
";
    let mut command = Command::new(env::var_os("PYTHON").expect("PYTHON, from dev/test-drivers"));
    command.args(["-c", program]).env("PGPORT", server.port().to_string());
    let where_to = [("PGHOST", "127.0.0.1"), ("PGDATABASE", "postgres"), ("PGSSLMODE", "disable")];
    command.envs(where_to).env("PGUSER", "app").env("PGPASSWORD", PASSWORD);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
