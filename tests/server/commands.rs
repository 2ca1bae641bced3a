//! Commands that the Makefile, the scripts and the documents give: the scripts, targets, variables and tests that they
//! name exist. Cargo passes if a filter matches no test, and a target that nobody runs fails without anybody noticing.

use std::collections::BTreeSet;
use std::fs;

use sno_tests::skip_on_this_machine;

use crate::{files, root, sources};

/// Where commands are: of sources in Rust, the documentation.
fn places() -> Vec<(String, String)> {
    let is_script = |path: &str| {
        path == "Makefile" || [".ci/", ".github/", "dev/"].iter().any(|start| path.starts_with(start))
    };
    let all = files("", &|path| is_script(path) || path.ends_with(".md") || path.ends_with(".rs"));
    let documentation = |(path, text): (String, String)| {
        let comment = |line: &str| {
            let line = line.trim_start();
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(|line| line.trim().to_owned())
        };
        let is_source = path.ends_with(".rs");
        let text =
            if is_source { text.lines().filter_map(comment).collect::<Vec<_>>().join("\n") } else { text };
        (path, text.replace("\\\n", " "))
    };
    all.into_iter().map(documentation).collect()
}

/// A test of Cargo's: its package, the target that it is in, its name.
#[derive(Debug)]
struct Test {
    package: &'static str,
    target: String,
    name: String,
}

/// The tests of the workspace, by their sources: loom and the simulator are built with other flags.
fn tests() -> Vec<Test> {
    let mut found = Vec::new();
    for (package, folder) in
        [("sno-core", "core/src"), ("sno-core", "core/tests"), ("sno-cli", "cli"), ("sno-tests", "tests")]
    {
        for (path, text) in files(folder, &|path| path.ends_with(".rs")) {
            let inner = path.strip_prefix(folder).unwrap().trim_start_matches('/');
            let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("main");
            let mut modules: Vec<&str> = inner.split('/').filter(|part| !part.is_empty()).collect();
            let is_library = folder.ends_with("src");
            let target = if is_library { "lib" } else { modules.first().copied().unwrap_or("main") };
            if !is_library && !modules.is_empty() {
                modules.remove(0);
            }
            let test = |name: String| Test { package, target: target.to_owned(), name };
            found.extend(names(&text, &modules).into_iter().map(test));
        }
    }
    found
}

/// The names of the tests in a file, those that a macro of the file writes included.
fn names(text: &str, modules: &[&str]) -> Vec<String> {
    let mut inner: Vec<(usize, &str)> = Vec::new();
    let (mut found, mut is_test) = (Vec::new(), false);
    let joined = |inner: &[(usize, &str)], name: &str| {
        let all: Vec<&str> =
            modules.iter().copied().chain(inner.iter().map(|(_, name)| *name)).chain([name]).collect();
        all.join("::")
    };
    for line in text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code == "}" && inner.last().is_some_and(|(outer, _)| *outer == indent) {
            inner.pop();
        } else if let Some(name) = code.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
            inner.push((indent, name));
        } else if code.trim_start_matches("$(") == "#[test]" {
            is_test = true;
        } else if let Some(rest) = code.strip_prefix("fn ").filter(|_| is_test) {
            found.push(joined(&inner, rest.split(['(', '<']).next().unwrap()));
            is_test = false;
        }
    }
    found
}

/// Words of a shell's command, up to what ends it.
fn words(command: &str) -> impl Iterator<Item = String> {
    let command = command.split("   ").next().unwrap_or_default();
    let ends = |word: &&str| !["|", "||", "&&", ";", "#"].contains(word) && !word.contains('>');
    let end = command.find(['`', ';']).unwrap_or(command.len());
    let all: Vec<&str> = command[..end].split_whitespace().take_while(ends).collect();
    all.into_iter()
        .map(|word| word.trim_matches(['"', '\'', ')', ',', '.']).to_owned())
        .collect::<Vec<_>>()
        .into_iter()
}

/// A script's text with the elements of its arrays in the places of `"${array[@]}"`: all that it may have.
fn with_arrays(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..3 {
        for line in text.clone().lines() {
            let Some((name, _)) = line.trim().split_once("=(") else { continue };
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let start = format!("{name}=(");
            let assigned = text.lines().filter_map(|line| {
                let (before, rest) = line.split_once(&start)?;
                (!before.ends_with(|c: char| c.is_alphanumeric())).then_some(rest.split_once(')')?.0)
            });
            let elements = assigned.collect::<Vec<_>>().join(" ").replace("\"$@\"", "");
            for used in [format!("\"${{{name}[@]}}\""), format!("\"${{{name}[@]:1}}\"")] {
                if !elements.contains(&used) {
                    text = text.replace(&used, &elements);
                }
            }
        }
    }
    text
}

#[test]
fn tests_that_commands_name() {
    let tests = tests();
    let targets: BTreeSet<&str> = tests.iter().map(|test| test.target.as_str()).collect();
    let (mut wrong, mut filters, mut named) = (Vec::new(), 0, 0);
    for (path, text) in places() {
        for line in with_arrays(&text).lines() {
            let Some((start, rest)) = line.split_once("cargo test") else { continue };
            let mut chosen: Vec<String> = Vec::new();
            let mut package = None;
            let mut picks = Vec::new();
            let mut words = words(rest.trim_start_matches('s'));
            while let Some(word) = words.next() {
                match word.as_str() {
                    "--test" => chosen.extend(words.next()),
                    "--package" | "-p" => package = words.next(),
                    "--skip" => picks.extend(words.next()),
                    "--features" | "--target" | "--exclude" | "--manifest-path" | "--bin" => {
                        words.next();
                    }
                    _ if word.starts_with(['-', '[', '$', '<']) || word.contains(['$', '{']) => {}
                    _ => picks.push(word),
                }
            }
            named += chosen.len();
            for name in &chosen {
                let start = name.trim_end_matches('*');
                if !targets
                    .iter()
                    .any(|target| target.starts_with(start) && (start != name || *target == start))
                {
                    wrong.push(format!("{path}: no tests in {name}: {line}"));
                }
            }
            let is_chosen = |test: &&Test| {
                (chosen.is_empty() || chosen.contains(&test.target))
                    && package.as_ref().is_none_or(|package| test.package == package)
            };
            filters += picks.len();
            for pick in picks {
                if start.contains('#') && !path.ends_with(".md") {
                    continue;
                }
                if !tests.iter().filter(is_chosen).any(|test| test.name.contains(&pick)) {
                    wrong.push(format!("{path}: no test has {pick:?} in its name: {line}"));
                }
            }
        }
    }
    assert!(named > 15 && filters > 25, "{named} targets and {filters} filters were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A suite of no test would let every mutant pass as noticed by the others.
#[test]
fn suites_of_mutants() {
    let tests = tests();
    let lists = files("tests/mutants/list", &|path| path.ends_with(".rs"));
    let lists: String = lists.into_iter().map(|(_, text)| text).collect();
    let suites: Vec<(&str, &str)> = lists
        .split("Suite(\"")
        .skip(1)
        .filter_map(|rest| rest.split_once(')')?.0.strip_suffix('"')?.split_once("\", \""))
        .collect();
    assert!(suites.len() > 30);
    for (program, start) in suites {
        if program == "regress" {
            for name in start.split(' ') {
                let file = root().join(format!("tests/pg_regress/{name}.sql"));
                assert!(file.exists(), "no file {name} of pg_regress");
            }
            continue;
        }
        let is_there = |test: &Test| {
            let program = if program == "own" { "server" } else { program };
            (program == "core" && test.package == "sno-core" || test.target == program)
                && test.name.starts_with(start)
        };
        assert!(tests.iter().any(is_there), "no test of {program} starts with {start:?}");
    }
}

/// The targets of the Makefile, by its heading.
fn targets(heading: Option<&str>) -> BTreeSet<String> {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let mut found = BTreeSet::new();
    let mut present = "";
    for line in makefile.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            present = title;
        } else if let Some((names, _)) = line.split_once(": ").filter(|(_, rest)| rest.contains("## "))
            && heading.is_none_or(|heading| heading == present)
        {
            found.extend(names.split_whitespace().map(str::to_owned));
        }
    }
    found
}

#[test]
fn targets_that_documents_name() {
    let all = targets(None);
    assert!(all.len() > 30, "{all:?}");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, text) in places() {
        let is_document = path.ends_with(".md") || path.ends_with(".rs");
        for line in text.lines() {
            // In a script's prose, the word is a verb.
            let starts = if is_document {
                &["`make "][..]
            } else {
                &["`make ", "make ", "  make ", "&& make ", "run: make "]
            };
            for start in starts {
                let rest = match *start {
                    "make " => line.trim_start().strip_prefix(start),
                    _ => line.split_once(start).map(|(_, rest)| rest),
                };
                let Some(rest) = rest.filter(|_| is_document || !line.contains('#')) else { continue };
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
                let name = &rest[..end];
                if name.is_empty() || name.starts_with('-') || rest[end..].starts_with('=') {
                    continue;
                }
                count += 1;
                if !all.contains(name) {
                    wrong.push(format!("{path}: {line}"));
                }
            }
        }
    }
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let table = contributing.split("| target |").nth(1).unwrap().split("\n\n").next().unwrap();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        for name in row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2) {
            count += 1;
            if !all.contains(name.split(' ').next().unwrap()) {
                wrong.push(format!("CONTRIBUTING.md: {name}"));
            }
        }
    }
    assert!(count > 80, "{count} were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn scripts_that_commands_name() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, text) in places() {
        for folder in ["dev/", ".ci/"] {
            for (place, _) in text.match_indices(folder) {
                let before = text[..place].chars().last().unwrap_or(' ');
                if !(before.is_whitespace() || "`\"'(@[".contains(before)) {
                    continue;
                }
                let rest = &text[place..];
                let end =
                    rest.find(|c: char| !c.is_alphanumeric() && !"-/._".contains(c)).unwrap_or(rest.len());
                let name = rest[..end].trim_end_matches(['.', '/']);
                count += 1;
                if !root().join(name).exists() {
                    wrong.push(format!("{path}: {name}"));
                }
            }
        }
    }
    assert!(count > 150, "{count} were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Variables that the commands set, and the files of pg_regress that one of them names.
#[test]
fn variables_that_commands_set() {
    let sources = files("", &|path| {
        path.ends_with(".rs") || path.ends_with(".py") || path.starts_with("dev/") || path == "Makefile"
    });
    let is_read = |name: &str| {
        sources.iter().any(|(path, text)| match path.ends_with(".rs") || path.ends_with(".py") {
            true => text.contains(&format!("\"{name}\"")),
            false => text.contains(&format!("${name}")) || text.contains(&format!("${{{name}")),
        })
    };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, text) in places() {
        for (place, _) in text.match_indices("SNO_") {
            let rest = &text[place..];
            let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
            let name = &rest[..end];
            // `SNO_…` is any of them; constants are not variables.
            if name == "SNO_" || path.ends_with(".rs") && !rest[end..].starts_with('=') {
                continue;
            }
            count += 1;
            if !is_read(name) {
                wrong.push(format!("{path}: nothing reads {name}"));
            }
            if let Some(names) = rest.strip_prefix("SNO_REGRESS=\"").and_then(|rest| rest.split('"').next()) {
                let missing = |name: &&str| {
                    !name.starts_with('$') && !root().join(format!("tests/pg_regress/{name}.sql")).exists()
                };
                wrong.extend(names.split(' ').filter(missing).map(|name| format!("{path}: no {name}.sql")));
            }
        }
    }
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    // Of Debian's own tools.
    let theirs = ["DEBFULLNAME", "DEBEMAIL"];
    for name in makefile.split("\nexport ").nth(1).unwrap().lines().next().unwrap().split(' ') {
        count += 1;
        if !is_read(name) && !theirs.contains(&name) {
            wrong.push(format!("Makefile: nothing reads {name}"));
        }
    }
    assert!(count > 40, "{count} were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What no machine of CI's can run, and what runs there with each commit.
const NOT_SLOW: [&str; 3] = ["pg16", "pg17", "pg18"];
const BY_HAND: [&str; 2] = ["test-citus", "installcheck"];
const EACH_TIME: [&str; 2] = ["test-versions", "test-dependencies"];

/// Each slow suite has its turn.
#[test]
fn slow_suites() {
    let Ok(run) = fs::read_to_string(root().join(".ci/run")) else {
        return skip_on_this_machine("a copy of the sources without .ci");
    };
    let list = |text: &str, start: &str, end: char| -> BTreeSet<String> {
        let line = text.split(start).nth(1).and_then(|rest| rest.split(end).next());
        line.expect(start)
            .split([' ', ',', '\n'])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let turns = list(&run, "\nset -- ", '\n');
    let mut wanted = targets(Some("Test more"));
    wanted.retain(|name| ![&NOT_SLOW[..], &BY_HAND, &EACH_TIME].concat().contains(&name.as_str()));
    wanted.insert("bench-check".into());
    assert_eq!(turns, wanted, "the turns in .ci/run");
    let nightly = fs::read_to_string(root().join(".github/workflows/nightly.yml")).unwrap();
    assert_eq!(list(&nightly, "suite: [", ']'), turns, "the suites in nightly.yml");
}

#[test]
fn lines_of_sql_have_at_most_120_characters() {
    let mut long = sources(".sql");
    // What was released stays as it is.
    long.retain(|(path, text)| !path.contains("--") && text.lines().any(|line| line.chars().count() > 120));
    let long: Vec<&str> = long.iter().map(|(path, _)| &**path).collect();
    assert!(long.is_empty(), "{long:?}");
}
