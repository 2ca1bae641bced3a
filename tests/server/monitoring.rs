//! `docs/monitoring`: each alert fires on a server in that state, by Prometheus' own `promtool`, and no other does.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use sno_tests::{Mode, Server, Sql as _, in_parallel, skip, stored, text, wait_until};

const READ: &str = "SELECT count(*) FROM sno_feed('export', NULL::events)";

const EXPORTER: &str = "prometheus-postgres-exporter";

fn file(name: &str) -> String {
    fs::read_to_string(format!("{}/../docs/monitoring/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Whether all programs are installed: Debian's packages prometheus and prometheus-postgres-exporter have them.
fn has_programs() -> bool {
    let missing =
        ["promtool", EXPORTER].iter().any(|program| Command::new(program).arg("--version").output().is_err());
    if missing {
        skip("promtool and prometheus-postgres-exporter are not installed: make test-monitoring");
    }
    !missing
}

/// `postgres_exporter` of a server, with our queries alone. Prometheus would call it by a name.
struct Exporter<'a> {
    process: Child,
    port: u16,
    instance: &'a str,
}

impl<'a> Exporter<'a> {
    fn start(server: &Server, instance: &'a str, database: &str, options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!(
            "host={} port={} user=postgres dbname={database} sslmode=disable",
            server.socket_folder().display(),
            server.port()
        );
        let queries = format!("{}/../docs/monitoring/queries.yaml", env!("CARGO_MANIFEST_DIR"));
        let process = Command::new(EXPORTER)
            .args(["--disable-default-metrics", "--disable-settings-metrics", "--log.level=error"])
            .args([
                format!("--web.listen-address=127.0.0.1:{port}"),
                format!("--extend.query-path={queries}"),
            ])
            .args(["--no-collector.database", "--no-collector.bgwriter"])
            .args(options)
            .env("DATA_SOURCE_NAME", address)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let exporter = Self { process, port, instance };
        wait_until("the exporter answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        exporter
    }

    /// The metrics with their values; of the clock, how far it is ahead.
    fn scrape(&self) -> Vec<(String, f64)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
        let metrics = answer.lines().filter(|line| line.starts_with("sno_")).map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let (start, mut value) = (name.strip_suffix('}').unwrap(), value.parse::<f64>().unwrap());
            if name.starts_with("sno_clock_seconds") {
                value -= SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
            }
            (format!("{start},instance=\"{}\"}}", self.instance), value)
        });
        metrics.collect()
    }
}

impl Drop for Exporter<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Which alerts of `alerts.yaml` fire ten minutes after the first values have become the second ones.
fn alerts(before: &[(String, f64)], after: &[(String, f64)]) -> Vec<String> {
    let rules = file("alerts.yaml");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("alerts.yaml"), &rules).unwrap();
    let mut series = String::new();
    for (name, value) in after {
        // A series that was not there before begins with its value.
        let first = before.iter().find(|(same, _)| same == name).map_or(*value, |(_, value)| *value);
        let values = match name.starts_with("sno_clock_seconds{") {
            // Prometheus' clock starts at zero.
            true => format!("{first:.3}+60x5 {:.3}+60x5", value + 360.0),
            false => format!("{first}x5 {value}x5"),
        };
        writeln!(series, "      - {{series: '{name}', values: '{values}'}}").unwrap();
    }
    for (name, value) in before.iter().filter(|(name, _)| !after.iter().any(|(same, _)| same == name)) {
        writeln!(series, "      - {{series: '{name}', values: '{value}x5 stale'}}").unwrap();
    }
    let names: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 14);
    let mut test = format!(
        "rule_files: [alerts.yaml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{series}    alert_rule_test:\n"
    );
    for name in &names {
        writeln!(test, "      - {{eval_time: 8m, alertname: {name}, exp_alerts: []}}").unwrap();
    }
    fs::write(folder.path().join("test.yaml"), test).unwrap();
    // Each is expected not to fire: promtool says which do.
    let output =
        Command::new("promtool").args(["test", "rules", "test.yaml"]).current_dir(folder.path()).output();
    let output = output.unwrap();
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    let fired: Vec<String> = names
        .iter()
        .filter(|name| printed.contains(&format!("alertname: {name},")))
        .map(ToString::to_string)
        .collect();
    assert_eq!(output.status.success(), fired.is_empty(), "{printed}");
    fired
}

/// It fires from a minute on, in both directions, and while the clock is wrong.
#[test]
fn a_clock_that_is_wrong() {
    if !has_programs() {
        return;
    }
    let clock = |ahead: f64| [("sno_clock_seconds{instance=\"one\"}".to_owned(), ahead)];
    for (before, after, fires) in
        [(0.0, 59.0, false), (0.0, 61.0, true), (0.0, -3600.0, true), (86_400.0, 0.0, false)]
    {
        let fired = alerts(&clock(before), &clock(after));
        assert_eq!(fired.is_empty(), !fires, "{before} {after}: {fired:?}");
    }
    // The IDs of a clock that is slow are ahead of it, and not of the time.
    let slow = [clock(-70.0), [("sno_ahead_seconds{instance=\"one\"}".to_owned(), 70.0)]].concat();
    assert_eq!(alerts(&slow, &slow), ["SnoClockIsWrong"]);
}

/// What the server's metrics and views show is the same in each of its databases: of a clock that was fast while a feed of one was read.
#[test]
fn figures_of_the_server_are_those_of_all_databases() {
    if !has_programs() {
        return;
    }
    // With this number there are many generators: the exporter does not share one.
    let server = Server::builder().faketime(true).conf("sno.partition_prefix", "42").start();
    server.run("CREATE DATABASE other");
    let [mut one, mut other] = ["postgres", "other"].map(|database| server.connect_to(database));
    other.run("CREATE EXTENSION sno");
    other.run("SELECT sno_new()");
    server.set_clock("+3600");
    one.run("CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new()); INSERT INTO events DEFAULT VALUES");
    one.run("SELECT sno_create_feed('export', 'events', margin => '0')");
    one.run("SELECT pg_sleep(0.01)");
    one.run(&stored(READ));
    server.set_clock("+0");
    let metrics = ["postgres", "other"].map(|database| {
        let mut metrics = Exporter::start(&server, "one", database, &[]).scrape();
        // Those of the server. Whether an ID can be generated is asked in one.
        metrics.retain(|(name, _)| !name.starts_with("sno_feed_") && !name.starts_with("sno_generation"));
        metrics
    });
    assert_eq!(metrics[0].len(), metrics[1].len());
    for ((name, in_one), (same, in_other)) in metrics[0].iter().zip(&metrics[1]) {
        assert!(name == same && (in_one - in_other).abs() < 5.0, "{name}: {in_one} and {in_other}");
        assert!(!name.starts_with("sno_must_wait") || *in_other > 3500.0, "{in_other}");
    }
    let view = "SELECT string_agg(g::text, '' ORDER BY generator) FROM sno_generators() g";
    assert_eq!(text(&mut one, view), text(&mut other, view));
}

/// Who is woken by an alert is led to a section, or to its row among several.
#[test]
fn each_alert_has_its_row_and_its_page() {
    let docs = format!("{}/../docs", env!("CARGO_MANIFEST_DIR"));
    let rules = file("alerts.yaml");
    let mut alerts = 0;
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap();
        let address = rule.split_once("runbook_url: https://HOST/OWNER/NAME/blob/main/docs/").expect(name).1;
        let (page, anchor) = address.lines().next().unwrap().split_once('#').unwrap();
        let page = fs::read_to_string(format!("{docs}/{page}")).unwrap();
        let headings = page.lines().filter_map(|line| line.strip_prefix("## ").or(line.strip_prefix("### ")));
        let mut anchors = headings.map(|heading| heading.to_lowercase().replace(' ', "-").replace('`', ""));
        assert!(anchors.any(|other| other == anchor), "{name}: {anchor}");
        let row = format!("| `{name}` |");
        assert!(anchor != "monitoring" || page.lines().any(|line| line.starts_with(&row)), "{name}");
        alerts += 1;
    }
    assert!(alerts >= 12);
}

#[test]
fn each_alert_fires_on_a_server_in_its_state() {
    if !has_programs() {
        return;
    }
    let rules = format!("{}/../docs/monitoring/alerts.yaml", env!("CARGO_MANIFEST_DIR"));
    let check = Command::new("promtool").args(["check", "rules", &rules]).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let probe = Server::builder().start();
    if probe.connect().batch_execute("SELECT query_to_xml('SELECT 1', false, false, '')").is_err() {
        return skip(
            "the server was built without libxml, with which a query looks for what may not be there",
        );
    }
    drop(probe);

    let start = |number, [machine, workers, cluster]: [&str; 3]| {
        let server = Server::builder().compat().faketime(true).conf("sno.partition_prefix", number);
        let server = server.conf("sno_compat.snowflake_si_machine", machine);
        let server =
            server.conf("sno_compat.uid60_workers", workers).conf("sno_compat.uniqueid_cluster", cluster);
        let server = server.start();
        server.run(
            "CREATE EXTENSION sno_compat;
             CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new()) PARTITION BY RANGE (id);
             SELECT sno_create_partitions('events', '1 hour', now(), now() + interval '48 hours');
             INSERT INTO events DEFAULT VALUES;
             SELECT sno_create_feed('export', 'events', margin => '0');
             CREATE TABLE items (id integer PRIMARY KEY); SELECT sno_track_changes('items');
             SELECT uid60_new()",
        );
        server.run(&stored(READ));
        server
    };
    let (one, other) = (start("42", ["3", "0-255", "0"]), start("43", ["4", "256-511", "1"]));
    let exporters = [(&one, "one"), (&other, "other")]
        .map(|(server, name)| Exporter::start(server, name, "postgres", &[]));
    let both = || exporters.iter().flat_map(Exporter::scrape).collect::<Vec<_>>();
    let well = both();
    assert_eq!(well.len(), 2 * 21, "{well:?}");
    assert!(well.iter().all(|(_, value)| value.is_finite()), "{well:?}");
    assert_eq!(alerts(&well, &well), Vec::<String>::new());

    // Two with one number, or one within the other; one without, beside another.
    for number in ["43", "688/12"] {
        one.configure("sno.partition_prefix", number);
        one.reload();
        let same = both();
        assert_eq!(alerts(&same, &same), ["SnoSameNumber"], "{number}");
    }
    // One of sno_compat's.
    one.configure("sno.partition_prefix", "42");
    for (setting, own, of_other) in [
        ("sno_compat.snowflake_si_machine", "3", "4/5"),
        ("sno_compat.uid60_workers", "0-255", "256-511"),
        ("sno_compat.uniqueid_cluster", "0", "1"),
    ] {
        one.configure(setting, of_other);
        one.reload();
        let same = both();
        assert_eq!(alerts(&same, &same), ["SnoSameNumber"], "{setting}");
        one.configure(setting, own);
    }
    one.configure("sno.partition_prefix", "auto");
    one.reload();
    let auto = both();
    assert_eq!(alerts(&auto, &auto), ["SnoNoNumber"]);
    let alone = exporters[0].scrape();
    assert_eq!(alerts(&alone, &alone), Vec::<String>::new());
    one.configure("sno.partition_prefix", "42");
    one.reload();

    // From here on one server is enough, whose clock is wrong.
    let mut before = exporters[0].scrape();
    let mut then = || {
        let after = exporters[0].scrape();
        let mut fired = alerts(&std::mem::replace(&mut before, after.clone()), &after);
        let at = fired.iter().position(|name| name == "SnoClockIsWrong").expect("the clock is wrong");
        fired.remove(at);
        fired
    };
    // A feed that nobody reads, and whose next row fails; one that is read, but held back; partitions that end.
    let fails = |server: &Server| {
        server.run("INSERT INTO events DEFAULT VALUES");
        let peek = "SELECT count(*) > 0 FROM sno_peek_feed('export', NULL::events)";
        wait_until("the row can be read", || server.connect().one::<bool>(peek));
        server.run("SELECT sno_fail_feed('export', max(id), 'x') FROM events");
    };
    fails(&one);
    one.set_clock("+90");
    one.run("INSERT INTO events DEFAULT VALUES");
    assert_eq!(then(), ["SnoFeedNotRead", "SnoFeedLate", "SnoFeedFails"]);
    let mut open = one.connect();
    open.run("BEGIN; INSERT INTO events DEFAULT VALUES");
    one.set_clock("+180");
    one.run(&stored(READ));
    assert_eq!(then(), ["SnoFeedLate"]);
    open.run("COMMIT");
    one.run(&stored(READ));
    assert_eq!(then(), Vec::<String>::new());
    // One whose consumer fails at a row.
    fails(&one);
    one.set_clock("+250");
    assert_eq!(then(), ["SnoFeedNotRead", "SnoFeedLate", "SnoFeedFails"]);
    one.set_clock("+129600");
    one.run(&format!("INSERT INTO events DEFAULT VALUES; {}", stored(READ)));
    // Without all that come after the present one. Of an hour each, three more are enough.
    one.run(
        "DO $$DECLARE later regclass; BEGIN
             FOR later IN SELECT partition FROM sno_partitions('events') WHERE since > now() LOOP EXECUTE format('DROP TABLE %s', later); END LOOP;
         END$$",
    );
    assert_eq!(then(), ["SnoPartitionsRunOut"]);
    one.run("SELECT sno_create_partitions('events', '1 hour', now(), now() + interval '3 hours')");

    // Full ticks.
    one.configure("sno.sequence_range", "0-3");
    one.reload();
    one.run("SELECT sno_new()");
    then();
    in_parallel(4, |_| one.run("SELECT count(sno_new()) FROM generate_series(1, 4000)"));
    assert_eq!(then(), ["SnoFullTicks"]);
    one.unconfigure("sno.sequence_range");
    one.reload();

    // The clock steps back, by little; by more, behind a horizon; by more than calls wait.
    let mut client = one.connect();
    client.run("SELECT sno_new()");
    one.set_clock("+129599");
    client.run("SELECT sno_new()");
    assert_eq!(then(), ["SnoClockSteppedBack"]);
    // Once more.
    one.set_clock("+129610");
    client.run("SELECT sno_new()");
    then();
    one.set_clock("+129608");
    client.run("SELECT sno_new()");
    assert_eq!(then(), ["SnoClockSteppedBack"]);
    one.set_clock("+129630");
    in_parallel(8, |_| one.run("SELECT sno_new()"));
    one.run(&stored(READ));
    then();
    one.set_clock("+129621");
    assert_eq!(then(), ["SnoInsertsWait", "SnoClockWasFast"]);
    in_parallel(8, |_| one.run("SELECT sno_new()"));
    // Some generators can see the step only now.
    let mut fired = then();
    fired.retain(|name| name != "SnoClockSteppedBack");
    assert_eq!(fired, ["SnoWaits"]);
    one.set_clock("+129660");
    one.run(&format!("SELECT sno_new(), uid60_new(); {}", stored(READ)));
    then();
    one.set_clock("+129630");
    assert_eq!(then(), ["SnoInsertsFail", "SnoInsertsWait", "SnoClockWasFast", "SnoCompatWaits"]);
}

/// Each INSERT fails, and each time for another reason.
#[test]
fn a_server_that_cannot_generate() {
    if !has_programs() {
        return;
    }
    let server = Server::builder().start();
    let exporter = Exporter::start(&server, "one", "postgres", &[]);
    let well = exporter.scrape();
    assert_eq!(alerts(&well, &well), Vec::<String>::new());
    let fails = || {
        assert!(server.connect().batch_execute("SELECT sno_new()").is_err());
        // After a restart, its first scrape can fail.
        let mut metrics = Vec::new();
        wait_until("the exporter's metrics", || {
            metrics = exporter.scrape();
            metrics.iter().any(|(name, _)| name.starts_with("sno_extension"))
        });
        assert_eq!(alerts(&well, &metrics), ["SnoCannotGenerate"], "{metrics:?}");
    };
    server.configure("sno.partition_prefix", "43/8x");
    server.reload();
    fails();
    server.configure("sno.partition_prefix", "43/8");
    server.stop(Mode::Fast);
    let marks = server.data().join("sno.marks");
    let mode = |mode| fs::set_permissions(&marks, fs::Permissions::from_mode(mode)).unwrap();
    mode(0);
    server.start();
    fails();
    mode(0o600);
    server.configure("shared_preload_libraries", "");
    server.restart(Mode::Fast);
    fails();
}

/// Feeds of several databases of one server, by one exporter and by two; and a standby, which has none.
#[test]
fn several_databases_and_a_standby() {
    if !has_programs() {
        return;
    }
    let server = Server::builder().conf("sno.partition_prefix", "42").start();
    server.run("CREATE DATABASE other");
    for database in ["postgres", "other"] {
        let mut client = server.connect_to(database);
        client.run(
            "CREATE EXTENSION IF NOT EXISTS sno; CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new())",
        );
        client.run("SELECT sno_create_feed('export', 'events')");
    }
    let standby = server.standby();
    server.wait_replayed(&standby);
    let all = ["--auto-discover-databases", "--exclude-databases=template0,template1"];
    let both = Exporter::start(&server, "both", "postgres", &all).scrape();
    let count = |name: &str| both.iter().filter(|(metric, _)| metric.starts_with(name)).count();
    assert_eq!((count("sno_feed_lag_seconds"), count("sno_clock_seconds")), (2, 1), "{both:?}");
    let of_standby = Exporter::start(&standby, "standby", "postgres", &[]).scrape();
    assert!(!of_standby.iter().any(|(name, _)| name.starts_with("sno_feed")), "{of_standby:?}");
    let mut metrics = of_standby;
    for database in ["postgres", "other"] {
        metrics.extend(Exporter::start(&server, database, database, &[]).scrape());
    }
    assert_eq!(alerts(&metrics, &metrics), Vec::<String>::new());
    // A copy with its number, which writes.
    standby.promote();
    metrics.extend(Exporter::start(&standby, "copy", "postgres", &[]).scrape());
    assert_eq!(alerts(&metrics, &metrics), ["SnoSameNumber"]);
}
