//! Breaks the extension in one place at a time, and sees whether the tests notice: `make test-mutants`.
//!
//! Each mutant is one change of the sources, in [`list`]. It is made in a copy of them, in `target/mutants`; the
//! library is built there, and the tests of the unchanged sources run on a server that has it. A mutant that they don't
//! notice is a failure, and so is one whose place in the sources is not there any more.
//!
//! With arguments, only the mutants whose names or files contain one of them are made; with `SAMPLE=10`, ten of them, which `SEED`
//! chooses.

mod list;

use std::{
    collections::HashSet,
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{self, Command, Output, Stdio, exit},
    time::Instant,
};

use list::{Mutant, Suite, mutants};

/// The longest that the tests of one mutant may take, in seconds: some of them hang.
const PATIENCE: &str = "400";

fn main() {
    let chosen: Vec<String> = env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned();
    let is_chosen = |mutant: &Mutant| {
        let has = |part: &String| mutant.name.contains(part) || mutant.file.contains(part);
        chosen.is_empty() || chosen.iter().any(has)
    };
    let mut mutants: Vec<Mutant> = mutants().filter(is_chosen).collect();
    sample(&mut mutants);
    let tests = Tests::build(&root);
    let copy = Copy::new(&root);

    println!("The tests on the unchanged sources:");
    copy.build();
    let mut suites: Vec<Suite> = mutants.iter().flat_map(|mutant| mutant.suites).copied().collect();
    suites.sort_unstable();
    suites.dedup();
    for suite in suites {
        let failed = tests.run(&copy, suite, false);
        if !failed.is_empty() {
            fail(&format!("{suite:?} fails without a mutant: {}", failed.join(", ")));
        }
        println!("  {} {}", suite.0, suite.1);
    }

    let mut table = Vec::new();
    let mut survivors = Vec::new();
    for mutant in &mutants {
        let began = Instant::now();
        let original = copy.apply(mutant);
        let mut noticed = Vec::new();
        match copy.try_build() {
            Err(output) => println!("{} can't be built:\n{output}", mutant.name),
            Ok(()) => {
                // One is enough.
                let mut failed = mutant.suites.iter().map(|suite| tests.run(&copy, *suite, true));
                noticed = failed.find(|failed| !failed.is_empty()).unwrap_or_default();
            }
        }
        fs::write(copy.root.join(mutant.file), original).expect("the copy");
        let by = if noticed.is_empty() { "**nothing**".to_owned() } else { shown(&noticed) };
        println!("{}: {by} ({} s)", mutant.name, began.elapsed().as_secs());
        if noticed.is_empty() {
            survivors.push(mutant.name);
        }
        table.push(format!("| {} | {by} |", mutant.name));
    }

    println!("\n| what is broken | noticed by |\n|---|---|\n{}", table.join("\n"));
    println!("\n{} mutants, {} noticed", mutants.len(), mutants.len() - survivors.len());
    if !survivors.is_empty() {
        fail(&format!("Not noticed: {}", survivors.join("; ")));
    }
}

/// Leaves as many mutants as the environment wants.
fn sample(mutants: &mut Vec<Mutant>) {
    let number = |name| -> Option<u64> {
        env::var(name).ok().filter(|text| !text.is_empty()).map(|text| text.parse().expect(name))
    };
    let Some(count) = number("SAMPLE") else { return };
    let seed = number("SEED").unwrap_or_else(|| process::id().into());
    println!("SAMPLE={count} SEED={seed} of {} mutants", mutants.len());
    // By FNV-1a: whether one is chosen hardly changes when others are added.
    mutants.sort_by_cached_key(|mutant| {
        let bytes = seed.to_le_bytes().into_iter().chain(mutant.name.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    });
    mutants.truncate(count as usize);
}

/// The tests that failed: all if there are few.
fn shown(tests: &[String]) -> String {
    let few: Vec<String> = tests.iter().take(3).map(|test| format!("`{test}`")).collect();
    let more = if tests.len() > 3 { format!(" and {} more", tests.len() - 3) } else { String::new() };
    few.join(", ") + &more
}

fn fail(text: &str) -> ! {
    eprintln!("{text}");
    exit(1)
}

/// The programs of the tests, of the unchanged sources.
struct Tests {
    server: PathBuf,
    faults: PathBuf,
    /// The unchanged sources.
    root: PathBuf,
}

impl Tests {
    fn build(root: &Path) -> Self {
        let output = Command::new("cargo")
            // The selection of packages that all commands share: another one would be built first.
            .args(["tests", "--no-run", "--message-format=json-render-diagnostics"])
            .args(["--test", "server", "--test", "faults"])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo");
        assert!(output.status.success(), "the tests can't be built");
        let built = String::from_utf8(output.stdout).expect("JSON");
        let program = |name: &str| -> PathBuf {
            let start = "\"executable\":\"";
            let mut paths = built.split(start).skip(1).filter_map(|rest| rest.split('"').next());
            let path = paths.find(|path| {
                Path::new(path)
                    .file_name()
                    .is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}-")))
            });
            path.unwrap_or_else(|| panic!("no program {name}")).into()
        };
        Self { server: program("server"), faults: program("faults"), root: root.to_owned() }
    }

    /// What runs some tests on a mutant.
    fn command(&self, copy: &Copy, Suite(program, filter): Suite) -> Command {
        let threads = if filter.starts_with("timing::") { "--test-threads=1" } else { "--test-threads=4" };
        let mut command = Command::new("timeout");
        command.args(["--kill-after=20", PATIENCE]).env("RUST_BACKTRACE", "0").current_dir(&copy.root);
        let core = ["cargo", "test", "--package", "sno-core"];
        let with_flags = |command: &mut Command, flag: &str, folder: &str| {
            command.args(core).args(["--features", "marks", "--release", "--test", program, "--"]);
            command.env("RUSTFLAGS", format!("--cfg {flag}")).env("CARGO_PROFILE_RELEASE_LTO", "off");
            command.env("CARGO_TARGET_DIR", copy.root.join(folder));
        };
        let build = |what: &str, arguments: &[&str], folder: &Path| {
            let built = Command::new("cargo")
                .args(arguments)
                .env("CARGO_TARGET_DIR", folder)
                .current_dir(&copy.root)
                .status();
            if !built.expect("cargo").success() {
                fail(&format!("{what} can't be built"));
            }
        };
        match program {
            "core" => {
                // Not that of the tree, whose next tests would be those of the copy: cargo takes its files for theirs.
                command.args(core).args(["--all-features", "--no-fail-fast", "--"]);
                command.env("CARGO_TARGET_DIR", copy.root.join("target"));
            }
            "sim" => {
                with_flags(&mut command, "simulated", "target/sim");
                command.env("DURATION", "60");
            }
            "loom" | "loom_horizon" | "marks_file" => with_flags(&mut command, "loom", "target/loom"),
            "consumer" => {
                // The consumer of the mutant, started by the tests of the unchanged sources.
                let target = self.root.join("target/consumer");
                build(
                    "the consumer",
                    &["build", "--quiet", "--package", "sno-tests", "--bin", "consumer"],
                    &target,
                );
                command.env("SNO_CONSUMER", target.join("debug/consumer"));
                command.arg("dev/staged").arg(&self.server).arg(threads);
            }
            "own" => {
                // The command-line program is a part of the tests, so those of the mutant run.
                let tests = ["tests", "--test", "server"];
                build(
                    "the tests of a mutant",
                    &[&tests[..], &["--no-run"]].concat(),
                    &copy.root.join("target"),
                );
                command.args(["dev/staged", "cargo"]).args(tests).args(["--", threads]);
            }
            "regress" => {
                command.arg("dev/staged").arg(&self.server).env("SNO_REGRESS", filter);
            }
            _ => {
                let program = if program == "server" { &self.server } else { &self.faults };
                command.arg("dev/staged").arg(program).arg(threads);
            }
        }
        command.arg(if program == "regress" { "regress::pg_regress" } else { filter });
        command
    }

    /// Runs some tests on a mutant, up to the first that fails if this `stops` them; the names of those that failed.
    fn run(&self, copy: &Copy, suite: Suite, stops: bool) -> Vec<String> {
        let Suite(program, filter) = suite;
        let mut command = self.command(copy, suite);
        let mut tests = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("timeout");
        let mut failed = Vec::new();
        for line in BufReader::new(tests.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
            let Some((name, _)) = line.strip_prefix("test ").and_then(|test| test.split_once(" ... FAILED"))
            else {
                continue;
            };
            failed.push(name.trim_end().to_owned());
            if failed.len() == 1 && stops {
                // One is enough. What `timeout` is told it tells the tests, whose servers stop.
                let _ = Command::new("kill").arg(tests.id().to_string()).status();
            }
        }
        let status = tests.wait().expect("timeout");
        failed.sort();
        if failed.is_empty() && !status.success() {
            // Killed for lack of time, or by itself.
            failed.push(format!("{program} {filter}, which does not end"));
        }
        failed
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Removes what is in a folder of the copy and not in the sources any more, but for what is built.
fn remove_others(copy: &Path, folder: &Path, files: &HashSet<&str>) {
    for entry in fs::read_dir(folder).expect("the copy") {
        let path = entry.expect("the copy").path();
        let name = path.strip_prefix(copy).expect("a file of the copy").to_str().expect("a name");
        if path.is_dir() && name != "target" {
            remove_others(copy, &path, files);
        } else if path.is_file() && !files.contains(name) {
            fs::remove_file(&path).expect("the copy");
        }
    }
}

/// A copy of the sources.
struct Copy {
    root: PathBuf,
}

impl Copy {
    fn new(root: &Path) -> Self {
        let copy = root.join("target/mutants");
        fs::create_dir_all(&copy).expect("target/mutants");
        let files = Command::new("git")
            .args(["ls-files", "-co", "--exclude-standard", "-z"])
            .current_dir(root)
            .output();
        let files = String::from_utf8(files.expect("git").stdout).expect("names");
        let files: HashSet<&str> =
            files.split_terminator('\0').filter(|file| root.join(file).is_file()).collect();
        remove_others(&copy, &copy, &files);
        for file in files {
            let (from, to) = (root.join(file), copy.join(file));
            // What has not changed keeps its time, so that it is not built again.
            if fs::read(&to).ok() != fs::read(&from).ok() {
                fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
                fs::copy(&from, &to).expect("a copy");
            }
        }
        Self { root: copy }
    }

    /// Makes the change, and returns what the file was before.
    fn apply(&self, mutant: &Mutant) -> String {
        let path = self.root.join(mutant.file);
        let original = fs::read_to_string(&path).expect("the file of a mutant");
        let found = original.matches(mutant.from).count();
        if found != 1 {
            fail(&format!("{}: {} has {found} places with\n{}", mutant.name, mutant.file, mutant.from));
        }
        fs::write(&path, original.replace(mutant.from, mutant.to)).expect("the copy");
        original
    }

    fn try_build(&self) -> Result<(), String> {
        // Optimized little and not at link time, and only what has changed is built again: the rest takes longer than it saves here.
        let output = Command::new("dev/build")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_INCREMENTAL", "1")
            .env("SNO_FEATURES", "points")
            .current_dir(&self.root)
            .output()
            .expect("dev/build");
        if output.status.success() { Ok(()) } else { Err(text(&output)) }
    }

    fn build(&self) {
        if let Err(output) = self.try_build() {
            fail(&output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever changes one of these places learns of it before the long run.
    #[test]
    fn each_place_is_in_the_sources_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let places = |mutant: &Mutant| {
            fs::read_to_string(root.join(mutant.file)).expect(mutant.file).matches(mutant.from).count()
        };
        let wrong = mutants().filter(|mutant| places(mutant) != 1);
        let wrong: Vec<_> = wrong.map(|mutant| format!("{}: {}", mutant.name, mutant.file)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
