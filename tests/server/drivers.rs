//! Drivers and ORMs: every program of `examples/` does what it says, against a server, and finds what it expects.
//!
//! Those in Rust always run. The others need drivers that the machine may not have: `make test-drivers` sees to them,
//! and runs all.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sno_tests::Server;
use sno_tests::sno_core::Sno;
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples")
}

/// A server with a database of an ordinary user's, to be reached by TCP and with a password, like most.
struct Target {
    server: Server,
}

impl Target {
    const PASSWORD: &str = "correct-horse";

    fn start() -> Self {
        let server = Server::builder().extension(false).tcp(true).start();
        let mut client = server.connect();
        client.batch_execute(&format!("CREATE USER app PASSWORD '{}'", Self::PASSWORD)).unwrap();
        client.batch_execute("CREATE DATABASE shop OWNER app").unwrap();
        server
            .config()
            .user("app")
            .dbname("shop")
            .connect(sno_tests::postgres::NoTls)
            .unwrap()
            .batch_execute("GRANT ALL ON SCHEMA public TO app; CREATE EXTENSION sno")
            .unwrap();
        Self { server }
    }

    /// The server as a URL of `scheme`.
    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://app:{}@127.0.0.1:{}/shop", Self::PASSWORD, self.server.port())
    }

    /// Runs a program that finds the server in its environment, as libpq's do, or in its arguments.
    #[track_caller]
    fn run(&self, command: &mut Command) {
        for (variable, _) in env::vars_os() {
            if variable.to_string_lossy().starts_with("PG") {
                command.env_remove(variable);
            }
        }
        let output = command
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.server.port().to_string())
            .env("PGDATABASE", "shop")
            .env("PGUSER", "app")
            .env("PGPASSWORD", Self::PASSWORD)
            .env("PGSSLMODE", "disable")
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(
            output.status.success(),
            "{command:?}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        // A program that stopped before it did anything has left no table.
        let made = "SELECT count(*) > 0 FROM pg_class WHERE relname IN ('events', 'example_event') AND relkind = 'r'";
        let mut client = self.server.connect_to("shop");
        assert!(client.query_one(made, &[]).unwrap().get::<_, bool>(0), "{command:?} made no table");
    }
}

fn python(program: &str, arguments: &[&str]) {
    // Debian's own, which is where Debian's packages go; unless another one has what is needed.
    let interpreter = env::var_os("PYTHON").unwrap_or_else(|| "/usr/bin/python3".into());
    let mut command = Command::new(interpreter);
    command.arg(examples().join("python").join(program)).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
    Target::start().run(&mut command);
}

fn node(program: &str) {
    // NODE_PATH comes from dev/test-drivers.
    Target::start().run(Command::new("node").arg(examples().join("node").join(program)));
}

/// Those in JavaScript that npm has. The model of `schema.prisma` is `prisma.js`'s.
fn orm(program: &str) {
    let modules = env::var_os("SNO_NPM").expect("SNO_NPM, from dev/test-drivers");
    let mut command = Command::new("node");
    Target::start().run(command.env("NODE_PATH", modules).arg(examples().join("node").join(program)));
}

fn ruby(program: &str) {
    // Debian's own, which is where Debian's packages go.
    Target::start().run(Command::new("/usr/bin/ruby").arg(examples().join("ruby").join(program)));
}

/// Those in Rust that are a workspace of their own.
fn rust_orm(program: &str) {
    let target = Target::start();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orms");
    let manifest = examples().join("rust-orms").join("Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    command.env("CARGO_TARGET_DIR", folder).args(["run", "--quiet", "--manifest-path"]).arg(manifest);
    target.run(command.args(["--bin", program, "--"]).arg(target.url("postgres")));
}

fn java(program: &str) {
    let driver = env::var_os("PGJDBC").unwrap_or_else(|| "/usr/share/java/postgresql.jar".into());
    let target = Target::start();
    let url = format!(
        "jdbc:postgresql://127.0.0.1:{}/shop?user=app&password={}",
        target.server.port(),
        Target::PASSWORD
    );
    target
        .run(Command::new("java").arg("-cp").arg(driver).arg(examples().join("java").join(program)).arg(url));
}

fn go(program: &str) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    fs::create_dir_all(&cache).unwrap();
    // Go and where its libraries are come from dev/test-drivers.
    let source = examples().join("go").join(program).join("main.go");
    Target::start().run(Command::new("go").env("GOCACHE", cache).arg("run").arg(source));
}

#[test]
fn rust_postgres() {
    let target = Target::start();
    target.run(Command::new(env!("CARGO_BIN_EXE_example-postgres")).arg(target.url("postgres")));
}

#[test]
fn rust_sqlx() {
    let target = Target::start();
    target.run(Command::new(env!("CARGO_BIN_EXE_example-sqlx")).arg(target.url("postgres")));
}

/// With the extension in a schema that is not searched, results are read all the same. A parameter of `sqlx`
/// needs the search path, one of `postgres` does not.
#[test]
fn rust_and_an_extension_elsewhere() {
    let target = Target::start();
    let mut client = target.server.connect_to("shop");
    client.batch_execute("CREATE SCHEMA elsewhere; ALTER EXTENSION sno SET SCHEMA elsewhere").unwrap();
    client.batch_execute("GRANT USAGE ON SCHEMA elsewhere TO app").unwrap();
    client
        .batch_execute("CREATE TABLE events (id elsewhere.sno PRIMARY KEY); GRANT SELECT ON events TO app")
        .unwrap();
    client.batch_execute("INSERT INTO events VALUES ('9q7k4op826n2g222')").unwrap();
    let id: Sno = "9q7k4op826n2g222".parse().unwrap();
    let (all, one) =
        ("SELECT id, ARRAY[id] FROM events", "SELECT id FROM events WHERE id OPERATOR(elsewhere.=) $1");

    let row = client.query_one(all, &[]).unwrap();
    assert_eq!((row.get::<_, Sno>(0), row.get::<_, Vec<Sno>>(1)), (id, vec![id]));
    assert_eq!(client.query_one(one, &[&id]).unwrap().get::<_, Sno>(0), id);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(target.server.port())
            .username("app")
            .password(Target::PASSWORD)
            .database("shop");
        let mut connection = options.connect().await.unwrap();
        let found: (Sno, Vec<Sno>) = sqlx::query_as(all).fetch_one(&mut connection).await.unwrap();
        assert_eq!(found, (id, vec![id]));
        let mut connection = options.connect().await.unwrap();
        let result = sqlx::query(one).bind(id).fetch_one(&mut connection).await;
        assert!(matches!(result, Err(sqlx::Error::TypeNotFound { .. })), "{result:?}");

        let mut connection = options.options([("search_path", "public,elsewhere")]).connect().await.unwrap();
        let found: Sno = sqlx::query_scalar(one).bind(id).fetch_one(&mut connection).await.unwrap();
        assert_eq!(found, id);
    });
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn psycopg_3() {
    python("psycopg3_plain.py", &[]);
    python("psycopg3.py", &[]);
}

/// The second implementation of masks, which needs no server: it checks itself with the samples of the standard, and its
/// answers are those that the core is held to.
#[test]
#[ignore = "needs its driver: make test-drivers"]
fn masks_in_python() {
    let interpreter = env::var_os("PYTHON").unwrap_or_else(|| "/usr/bin/python3".into());
    let mut command = Command::new(interpreter);
    let output = command.arg(examples().join("python/mask.py")).env("PYTHONUTF8", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = include_str!("../../core/tests/vectors/mask.tsv");
    assert!(str::from_utf8(&output.stdout) == Ok(answers), "mask.tsv is not what mask.py prints");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn asyncpg() {
    python("asyncpg_codec.py", &[]);
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn sqlalchemy() {
    python("sqlalchemy_type.py", &[&env::var("SQLALCHEMY_URL").unwrap_or("postgresql+psycopg2://".into())]);
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn django() {
    python("django_field.py", &[]);
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn parquet() {
    python("parquet.py", &[]);
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn node_postgres() {
    node("plain.js");
    node("types.js");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn orms_of_npm() {
    orm("drizzle.js");
    orm("prisma.js");
    orm("sequelize.js");
    orm("typeorm.js");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn active_record() {
    ruby("active_record.rb");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn diesel_and_seaorm() {
    rust_orm("example-diesel");
    rust_orm("example-seaorm");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn jdbc() {
    java("Plain.java");
    java("Typed.java");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn go_pq() {
    go("pq");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn go_pgx() {
    go("pgx");
}

#[test]
#[ignore = "needs its driver: make test-drivers"]
fn gorm() {
    go("gorm");
}

/// What is in `examples/` is run by a test here.
#[test]
fn no_program_is_forgotten() {
    let tests = include_str!("drivers.rs");
    let mut count = 0;
    for language in fs::read_dir(examples()).unwrap().flatten() {
        // What docs/orms.md calls so.
        if language.file_name() == "not-run" {
            continue;
        }
        for program in fs::read_dir(language.path()).unwrap().flatten() {
            let name = program.file_name().into_string().unwrap();
            let name = name.strip_suffix(".rs").map_or(name.clone(), |name| format!("example-{name}"));
            // The class that the others import, and what belongs to Cargo.
            if !["sno.py", "schema.prisma", "__pycache__", "Cargo.toml", "Cargo.lock", "target"]
                .contains(&name.as_str())
            {
                assert!(tests.contains(&format!("{name}\"")), "{name} is not run");
                count += 1;
            }
        }
    }
    assert_eq!(count, 23);
}
