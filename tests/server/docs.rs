//! The SQL in the documentation works, as it stands there, and prints what stands there.
//!
//! Each block of `sql` is run, in order, on a server for each file. If the next thing after it is a block of `text`,
//! that is what psql prints for it. `…` stands for what differs from run to run: any text within a line, or any lines
//! if it is alone on one. Widths of columns don't count. A block of `console` is an example: each word in it stands for
//! any word.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use sno_tests::{Server, sql_file, text};

use crate::{files, root, sources};

/// A block of SQL, and what it prints if that is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block<'a> {
    pub(crate) sql: &'a str,
    output: Option<&'a str>,
    example: Option<&'a str>,
}

/// The blocks that are marked as SQL: `sql`, or `postgresql` for what needs more than a server with the extension.
pub(crate) fn blocks<'a>(markdown: &'a str, language: &str) -> Vec<Block<'a>> {
    let open = format!("```{language}\n");
    let parts: Vec<&str> = markdown.split(open.as_str()).skip(1).collect();
    parts
        .into_iter()
        .map(|rest| rest.split_once("```").expect("an end"))
        .map(|(sql, rest)| {
            let next =
                |open| Some(rest.trim_start().strip_prefix(open)?.split_once("```").expect("an end").0);
            Block { sql, output: next("```text\n"), example: next("```console\n") }
        })
        .collect()
}

/// The pages in `docs/`.
fn pages() -> Vec<PathBuf> {
    let paths = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// A page, by its name in `docs/`.
pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// What a page has under a heading of the second level.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect(heading);
    rest.split("\n## ").next().unwrap()
}

/// A line without what the width of its columns decides.
fn plain(line: &str) -> String {
    if line.contains('-') && line.chars().all(|c| matches!(c, '-' | '+')) {
        return line.split('+').map(|_| "-").collect::<Vec<_>>().join("+");
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a line is what is expected, `…` standing for any text.
fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

/// Whether an output is what is expected, a line of `…` standing for any lines.
fn matches(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, after)) if first == "…" => {
            (0..=lines.len()).any(|skip| matches(after, &lines[skip..]))
        }
        Some((first, after)) => {
            lines.first().is_some_and(|line| line_matches(first, line)) && matches(after, &lines[1..])
        }
    }
}

/// A text with the same word in the place of every one.
fn words(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
    words
        .map(|word| {
            if word.starts_with(char::is_alphanumeric) {
                format!("x{}", word.trim_start_matches(char::is_alphanumeric))
            } else {
                word.to_owned()
            }
        })
        .collect()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(plain).filter(|line| !line.is_empty()).collect()
}

/// What psql prints, as a person sees it.
pub(crate) fn psql(server: &Server, sql: &str) -> Output {
    let mut psql = server
        .command("psql")
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have gone already, after an error.
    let _ = psql.stdin.take().unwrap().write_all(sql.as_bytes());
    psql.wait_with_output().unwrap()
}

/// Whether the lines of a block follow each other in a text, all of them indented by as much as the first one.
fn contains(text: &str, block: &str) -> bool {
    let (lines, block): (Vec<&str>, Vec<&str>) = (text.lines().collect(), block.lines().collect());
    lines.windows(block.len()).any(|window| {
        let Some(indentation) = window[0].strip_suffix(block[0]) else { return false };
        indentation.trim_start().is_empty()
            && window.iter().zip(&block).all(|(line, block)| {
                if block.is_empty() { line.is_empty() } else { line.strip_prefix(indentation) == Some(block) }
            })
    })
}

/// The programs are run by the tests of the drivers.
#[test]
fn every_block_about_drivers_is_part_of_a_program() {
    let programs = files("examples", &|_| true);
    let same = ["js", "go"].map(|language| (language, language));
    let languages = [("python", "py"), ("ruby", "rb"), ("rust", "rs")].into_iter().chain(same);
    for (name, least) in [
        ("docs/consumers.md", 2),
        ("docs/python.md", 3),
        ("docs/go.md", 1),
        ("packages/python/README.md", 2),
        ("packages/js/README.md", 3),
        ("packages/rust/README.md", 2),
    ] {
        let page = fs::read_to_string(root().join(name)).unwrap();
        let mut count = 0;
        for (language, extension) in languages.clone() {
            for Block { sql: block, .. } in blocks(&page, language) {
                let is_part = programs
                    .iter()
                    .any(|(path, text)| path.ends_with(&format!(".{extension}")) && contains(text, block));
                assert!(is_part, "no program in {language} has this:\n{block}");
                count += 1;
            }
        }
        assert!(count >= least, "{name}: {count} blocks");
    }
}

/// The anchor that a heading gets on the web: letters, digits, `-` and `_` of its text.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// A page without its code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let (root, mut files) = (root(), pages());
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "core/README.md",
        "cli/README.md",
        "bench/README.md",
        "tests/README.md",
        "SECURITY.md",
        "dev/RELEASING.md",
        "packages/go/README.md",
        "packages/js/README.md",
        "packages/python/README.md",
        "packages/rust/README.md",
    ];
    files.extend(others.map(|name| root.join(name)));
    let (mut count, mut errors) = (0, String::new());
    for file in files {
        let text = prose(&fs::read_to_string(&file).unwrap());
        for link in text.split("](").skip(1) {
            let link = link.split_once(')').expect("the end of a link").0;
            if link.starts_with("https://") {
                continue;
            }
            let (path, fragment) =
                link.split_once('#').map_or((link, None), |(path, name)| (path, Some(name)));
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            let found = match fragment {
                _ if !target.exists() => false,
                None => true,
                Some(name) => prose(&fs::read_to_string(&target).unwrap())
                    .lines()
                    .any(|line| line.starts_with('#') && anchor(line) == name),
            };
            if !found {
                errors += &format!("{}: {link}\n", file.display());
            }
            count += 1;
        }
    }
    assert!(errors.is_empty(), "links that lead nowhere:\n{errors}");
    assert!(count >= 60, "{count} links");
}

#[test]
fn every_block_of_sql_runs_and_prints_what_stands_there() {
    let (root, mut files) = (root(), pages());
    files.push(root.join("README.md"));
    files.sort();
    let (mut count, mut outputs, mut errors) = (0, 0, String::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let blocks = blocks(&text, "sql");
        // The README makes its own extension, all others are read after it.
        let makes_it = blocks.iter().any(|block| block.sql.contains("CREATE EXTENSION sno;"));
        let without = file.ends_with("without-the-extension.md");
        let server = Server::builder().compat().extension(!makes_it && !without).start();
        if without {
            server.run(&sql_file("uuidv7.sql"));
        }
        for Block { sql, output, example } in blocks {
            let printed = psql(&server, sql);
            let (out, err) =
                (String::from_utf8_lossy(&printed.stdout), String::from_utf8_lossy(&printed.stderr));
            if !printed.status.success()
                || err.lines().any(|line| {
                    let is_told = sql.contains("WARNING") && line.starts_with("WARNING: ");
                    !is_told
                        && !["NOTICE: ", "DETAIL: ", "HINT: "].iter().any(|start| line.starts_with(start))
                })
            {
                errors += &format!("{}:\n{sql}\n{err}\n", file.display());
            }
            if sql.contains("pg_reload_conf") {
                // The next block is another session's, which a person is slow enough to begin after the reload.
                server.reload();
            }
            count += 1;
            if let Some(example) = example
                && lines(&words(example)) != lines(&words(&out))
            {
                errors += &format!("{}:\n{sql}\nprints\n{out}\nand not such as\n{example}\n", file.display());
            }
            let Some(expected) = output else { continue };
            outputs += 1;
            if !matches(&lines(expected), &lines(&out)) {
                errors += &format!("{}:\n{sql}\nprints\n{out}\nand not\n{expected}\n", file.display());
            }
        }
        // What a reader has created can be dumped and restored.
        server.run("CREATE DATABASE copy TEMPLATE template0");
        let dump = server.command("pg_dump").args(["-d", "postgres"]).output().unwrap();
        let restored = psql(&server, &format!("\\c copy\n{}", String::from_utf8_lossy(&dump.stdout)));
        if !dump.status.success() || !restored.status.success() {
            let problems = [dump.stderr, restored.stderr].concat();
            errors += &format!("{}: a dump: {}\n", file.display(), String::from_utf8_lossy(&problems));
        }
    }
    assert!(errors.is_empty(), "{errors}");
    assert!(count >= 25 && outputs >= 2, "{count} blocks found, {outputs} with their output");
    println!("{count} blocks, {outputs} with their output");
}

#[test]
fn queries_for_monitoring_return_their_metrics() {
    let file = fs::read_to_string(root().join("docs/monitoring/queries.yaml")).unwrap();
    let server = Server::builder().extension(true).start();
    let mut client = server.connect();
    let queries: Vec<&str> = file.split("  query: |\n").skip(1).collect();
    assert_eq!(queries.len(), 9);
    for query in queries {
        let (sql, metrics) = query.split_once("  metrics:\n").expect("metrics");
        let metrics =
            metrics.lines().filter_map(|line| Some(line.strip_prefix("    - ")?.split_once(':')?.0));
        let statement = client.prepare(sql).unwrap();
        let columns: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
        assert_eq!(columns, metrics.collect::<Vec<_>>());
        client.query(&statement, &[]).unwrap();
    }
}

/// `\df` shows the functions to whoever looks for one to call, and `\dconfig sno*` the settings.
#[test]
fn functions_and_settings_are_in_the_reference() {
    let server = Server::builder().compat().start();
    let functions = server.connect().query(
        "SELECT e.extname = 'sno', format('%s(%s)', p.proname, (
                SELECT string_agg(regexp_replace(regexp_replace(a, '::[a-z ]+|^IN ', '', 'g'), '(INOUT .*) DEFAULT NULL', '\\1'), ', ' ORDER BY n)
                FROM unnest(string_to_array(replace(replace(replace(pg_get_function_arguments(p.oid),
                    'timestamp with time zone', 'timestamptz'), '00:00:00.1', '0.1 s'), '00:00:30', '30 s'), ', ')) WITH ORDINALITY u(a, n)
                WHERE a NOT LIKE 'OUT %')),
            CASE WHEN p.proretset THEN 'setof ' ELSE '' END || CASE WHEN p.prorettype <> 'record'::regtype
                THEN replace(p.prorettype::regtype::text, 'timestamp with time zone', 'timestamptz')
                ELSE format('(%s)', array_to_string(ARRAY(SELECT name FROM unnest(p.proargnames, p.proargmodes::text[]) WITH ORDINALITY
                    u(name, mode, n) WHERE mode IN ('o', 't') ORDER BY n), ', ')) END
         FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
         JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
         WHERE d.deptype = 'e' AND p.prokind IN ('f', 'p') AND obj_description(p.oid, 'pg_proc') NOT LIKE 'internal: %'
             -- What is declared for timestamptz is declared again for these.
             AND (p.proargtypes[0] = ANY ('{timestamp,date}'::regtype[])) IS NOT TRUE",
        &[],
    );
    let functions: Vec<(bool, String, String)> =
        functions.unwrap().iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let reference = page("reference.md");
    let missing: Vec<_> = functions
        .iter()
        .filter(|(is_ours, call, result)| {
            *is_ours
                && !reference.split(call.as_str()).skip(1).any(|rest| {
                    rest.starts_with('`')
                        || rest
                            .strip_prefix(" → ")
                            .is_some_and(|rest| rest.starts_with(&format!("{result}`")))
                })
        })
        .collect();
    assert!(functions.len() > 20 && missing.is_empty(), "not as in docs/reference.md: {missing:#?}");
    let names =
        functions.iter().filter_map(|(is_ours, call, _)| (!is_ours).then_some(call.split('(').next()?));
    let missing: Vec<_> = names.filter(|name| !reference.contains(&format!("{name}("))).collect();
    assert!(missing.is_empty(), "no row in docs/reference.md: {missing:?}");
    let settings = "SELECT string_agg(name, ' ') FROM pg_settings WHERE name ~ '^sno(_compat)?[.]'";
    let settings = text(&mut server.connect(), settings);
    let pages = reference + &page("compat.md");
    let missing: Vec<_> =
        settings.split(' ').filter(|name| !pages.contains(&format!("\n| `{name}` |"))).collect();
    assert!(
        settings.len() > 100 && missing.is_empty(),
        "no row in docs/reference.md or docs/compat.md: {missing:?}"
    );
}

/// The texts that follow `start`, from their first quote to their last; in SQL, a quote in a text is doubled.
fn literals<'a>(source: &'a str, start: &str, quote: char) -> impl Iterator<Item = &'a str> {
    source.split(start).skip(1).filter_map(move |rest| {
        // Of Rust: the argument after the SQLSTATE, in a call of `format!` or alone.
        let rest = if start.contains("SqlState") { rest.split_once(',')?.1 } else { rest }.trim_start();
        let rest = rest.strip_prefix("format!(").unwrap_or(rest).trim_start().strip_prefix(quote)?;
        let is_end = |(at, _): &(usize, &str)| !rest[..*at].ends_with('\\');
        Some(&rest[..rest.match_indices(quote).find(is_end)?.0])
    })
}

/// Whoever has a message in hand finds it among the errors by what is the same each time: the longest part between names and numbers.
#[test]
fn each_message_is_on_its_page() {
    let mut messages: Vec<(bool, String)> = Vec::new();
    for (path, text) in [sources(".rs"), sources(".sql")].concat() {
        let starts = [
            ("RAISE EXCEPTION ", '\''),
            ("RAISE WARNING ", '\''),
            ("SqlState::ERRCODE_", '"'),
            ("let message =", '"'),
        ];
        let all = starts.iter().flat_map(|&(start, quote)| literals(&text, start, quote));
        messages.extend(all.map(|message| (path.ends_with("uuidv7.sql"), message.to_owned())));
    }
    let words = |name| page(name).replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
    let [errors, without] = ["errors.md", "without-the-extension.md"].map(words);
    let mut missing = Vec::new();
    for (is_without, message) in &messages {
        let parts = message.replace("\\\"", "\"").replace("{:.3}", "%");
        let parts = parts.split(['%', '{', '}', '"']).map(|part| part.trim_matches([' ', ':']));
        let longest = parts.max_by_key(|part| part.len()).unwrap();
        if !(errors.contains(longest) || *is_without && without.contains(longest)) {
            missing.push(longest.to_owned());
        }
    }
    missing.sort();
    assert!(messages.len() > 80, "{}", messages.len());
    assert!(missing.is_empty(), "{missing:#?}");
}
