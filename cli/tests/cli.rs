//! The program, as a shell sees it. What it says about IDs is tested in `sno-core`.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use sno_core::{Prefix, Sno};

const SNO: &str = env!("CARGO_BIN_EXE_sno");
const JSON: &str = concat!(
    r#"{"id":"9q7k4op826n2g222","time":"2026-11-21T09:30:15.372Z","tick_tock":false,"metabyte":1,"#,
    r#""partition":10759,"sequence":0,"bytes":"\\x3e0b215ae6012a070000"}"#,
    "\n"
);
/// A key of 32 bytes, whose answers are those of `core/tests/vectors/mask.tsv`.
const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

fn sno(arguments: &[&str]) -> Command {
    let mut command = Command::new(SNO);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Exit status, standard output and standard error.
fn answer(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[track_caller]
fn assert_output(command: Command, status: i32, stdout: &str, stderr: &str) {
    assert_eq!(answer(command), (Some(status), stdout.into(), stderr.into()));
}

/// The examples show each subcommand.
#[test]
fn examples_of_the_readme() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let path = format!("{}:{}", Path::new(SNO).parent().unwrap().display(), env::var("PATH").unwrap());
    let blocks = readme.split("```console\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let examples: Vec<_> = blocks.flat_map(|block| block.split("$ ").skip(1)).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let (command, expected) = example.split_once('\n').unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).env("PATH", &path);
        assert_eq!(answer(shell).1, expected, "{command}");
    }
}

#[test]
fn usage() {
    assert_output(sno(&["--version"]), 0, concat!("sno ", env!("CARGO_PKG_VERSION"), "\n"), "");
    for (arguments, complaint) in [
        (&[][..], "Usage: sno <COMMAND>"),
        (&["generate"], "<--prefix <PREFIX>|--partition <PARTITION>>"),
        (&["generate", "-p", "1", "--partition", "2"], "cannot be used with"),
        (&["generate", "-p", "256"], "a prefix of 8 bits is at most 255"),
        (&["generate", "-p", "1", "--sequence-range", "1-3"], "invalid value '1-3'"),
        // Without a zone, a time could be anybody's.
        (&["bounds", "2026-11-21T09:30"], "invalid value '2026-11-21T09:30'"),
        // A key is never an argument.
        (&["mask", "--key", KEY, "9q7k4op826n2g222"], "unexpected argument '--key'"),
    ] {
        let (status, stdout, stderr) = answer(sno(arguments));
        assert!(
            status == Some(2) && stdout.is_empty() && stderr.contains(complaint),
            "{arguments:?}: {stderr}"
        );
    }
}

#[test]
fn generated_ids_are_what_was_asked_for() {
    let mut child =
        sno(&["generate", "-p", "291/12", "-m", "255", "-n", "20000", "--sequence-range", "10-99"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let partition = "291/12".parse::<Prefix>().unwrap().partition(child.id());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ids: Vec<Sno> = lines.map(|line| line.unwrap().parse().unwrap()).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(ids.len(), 20_000);
    assert!(ids.is_sorted_by(|a, b| a < b));
    assert!(ids.iter().all(|id| (id.partition(), id.metabyte()) == (partition, 255)));
    assert!(ids.iter().all(|id| (10..=99).contains(&id.sequence())));
}

#[test]
fn runs_one_after_another_repeat_nothing() {
    let mut last = Sno::MIN;
    for _ in 0..200 {
        let (_, stdout, _) = answer(sno(&["generate", "--partition", "3"]));
        let id: Sno = stdout.trim_end().parse().unwrap();
        assert!(last.tick() < id.tick(), "{last} {id}");
        last = id;
    }
}

/// The answer to a line comes before the next line.
#[test]
fn lines_of_standard_input() {
    let mut child = Command::new("timeout")
        .args(["60", SNO, "inspect", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for line in
        ["9q7k4op826n2g222\n", " 9q7k4op826n2g222\r\n", "\n9q7k4op8\n\\x\nabc\u{7}\n9q7k4op826n2g222\n"]
    {
        stdin.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, JSON);
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let complaints = "\
sno: line 4: invalid ID \"9q7k4op8\": length is 8 bytes instead of 16
sno: line 5: invalid ID \"\\\\x\": after \\x there have to be 20 hexadecimal digits
sno: line 6: invalid ID \"abc\\u{7}\": length is 4 bytes instead of 16
";
    assert_eq!(str::from_utf8(&output.stderr).unwrap(), complaints);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_closed_pipe_is_the_end_and_a_full_disk_an_error() {
    let mut child = sno(&["generate", "-p", "1", "-n", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    for arguments in [&["generate", "-p", "1"][..], &["inspect", "9q7k4op826n2g222"]] {
        let mut command = sno(arguments);
        command.stdout(fs::File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(output.stderr, b"sno: No space left on device (os error 28)\n");
    }
}

#[test]
fn keys() {
    let mask = |key: Option<&str>, arguments: &[&str]| {
        let mut command = sno(&[&["mask", "-c", "orders", "9q7k4op826n2g222"], arguments].concat());
        command.env_remove("SNO_MASK_KEY").envs(key.map(|key| ("SNO_MASK_KEY", key)));
        command
    };
    assert_output(mask(Some(&KEY.to_uppercase()), &[]), 0, "iaua3muuml7uvt6j\n", "");
    // A file comes before the environment.
    let file = env::temp_dir().join(format!("sno-key-{}", std::process::id()));
    fs::write(&file, format!("  {KEY}\r\n")).unwrap();
    let with_file = mask(Some("00"), &["--key-file", file.to_str().unwrap()]);
    assert_output(with_file, 0, "iaua3muuml7uvt6j\n", "");
    fs::remove_file(&file).unwrap();
    // A wrong one is named and not shown.
    for (key, complaint) in [
        (Some(""), "a key is 16, 24 or 32 bytes long, not 0"),
        (Some(&KEY[..33]), "a key is written in pairs of hexadecimal digits"),
        (Some("correct horse battery staple"), "a key is written in pairs of hexadecimal digits"),
        (None, "there is no key: set it, or say --key-file"),
    ] {
        assert_output(mask(key, &[]), 1, "", &format!("sno: SNO_MASK_KEY: {complaint}\n"));
    }
}
