//! The program, as a shell sees it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sno_core::{Prefix, Sno};

const SNO: &str = env!("CARGO_BIN_EXE_sno");

fn sno(arguments: &[&str]) -> Output {
    Command::new(SNO).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The same with some standard input.
fn fed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(SNO)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

#[track_caller]
fn assert_output(output: &Output, status: i32, stdout: &str, stderr: &str) {
    assert_eq!(str::from_utf8(&output.stdout).unwrap(), stdout);
    assert_eq!(str::from_utf8(&output.stderr).unwrap(), stderr);
    assert_eq!(output.status.code(), Some(status));
}

#[track_caller]
fn assert_usage(arguments: &[&str], complaint: &str) {
    let output = sno(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(complaint), "{arguments:?}: {stderr}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
}

fn ids(output: &Output) -> Vec<Sno> {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = str::from_utf8(&output.stdout).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| line.parse().unwrap()).collect()
}

const TEXT: &str = "\
9q7k4op826n2g222
  time       2026-11-21T09:30:15.372Z
  tick-tock  0
  metabyte   1
  partition  10759
  sequence   0
  bytes      \\x3e0b215ae6012a070000
";
const FIRST: &str = "\
2222222222222222
  time       2010-01-01T00:00:00.000Z
  tick-tock  0
  metabyte   0
  partition  0
  sequence   0
  bytes      \\x00000000000000000000
";
const LAST: &str = "\
xxxxxxxxxxxxxxxx
  time       2079-09-07T15:47:35.548Z
  tick-tock  1
  metabyte   255
  partition  65535
  sequence   65535
  bytes      \\xffffffffffffffffffff
";
const JSON: &str = concat!(
    r#"{"id":"9q7k4op826n2g222","time":"2026-11-21T09:30:15.372Z","tick_tock":false,"metabyte":1,"#,
    r#""partition":10759,"sequence":0,"bytes":"\\x3e0b215ae6012a070000"}"#,
    "\n"
);

#[test]
fn help_and_version() {
    let version = concat!("sno ", env!("CARGO_PKG_VERSION"), "\n");
    assert_output(&sno(&["--version"]), 0, version, "");
    for arguments in [&["--help"][..], &["help"], &["generate", "--help"], &["help", "inspect"]] {
        let output = sno(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: sno"), "{arguments:?}");
    }
}

#[test]
fn generated_ids_are_what_was_asked_for() {
    let made = ids(&sno(&["generate", "--partition", "65535", "-m", "255", "-n", "200000"]));
    assert_eq!(made.len(), 200_000);
    assert!(made.is_sorted_by(|a, b| a < b));
    assert!(made.iter().all(|id| (id.partition(), id.metabyte()) == (65535, 255)));

    let made = ids(&sno(&["generate", "--partition=7", "--sequence-range", "10-13", "--count=10"]));
    assert_eq!(made.len(), 10);
    assert!(made.is_sorted_by(|a, b| a < b));
    assert!(made.iter().all(|id| id.metabyte() == 0 && (10..=13).contains(&id.sequence())));

    assert_output(&sno(&["generate", "-p", "0", "-n", "0"]), 0, "", "");
}

#[test]
fn the_process_picks_the_rest_of_the_partition() {
    for prefix in ["42", "42/8", "291/12", "4660/16"] {
        let mut child =
            Command::new(SNO).args(["generate", "-p", prefix]).stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success());
        let id: Sno = text.trim_end().parse().unwrap();
        assert_eq!(id.partition(), prefix.parse::<Prefix>().unwrap().partition(pid), "{prefix}");
    }
}

#[test]
fn runs_one_after_another_repeat_nothing() {
    let mut last = Sno::MIN;
    for _ in 0..200 {
        let made = ids(&sno(&["generate", "--partition", "3", "-n", "2"]));
        assert!(last < made[0] && made[0] < made[1], "{last} {made:?}");
        assert!(last.tick() < made[0].tick());
        last = made[1];
    }
}

#[test]
fn wrong_usage() {
    assert_usage(&[], "Usage: sno <COMMAND>");
    assert_usage(&["mend"], "unrecognized subcommand 'mend'");
    assert_usage(&["generate"], "<--prefix <PREFIX>|--partition <PARTITION>>");
    assert_usage(&["generate", "-p", "1", "--partition", "2"], "cannot be used with");
    assert_usage(&["generate", "-p", "256"], "a prefix of 8 bits is at most 255");
    assert_usage(&["generate", "-p", "1/7"], "a prefix has 8 to 16 bits");
    assert_usage(&["generate", "--partition", "65536"], "65536 is not in 0..=65535");
    assert_usage(&["generate", "-p", "1", "-m", "256"], "256 is not in 0..=255");
    assert_usage(&["generate", "-p", "1", "-n", "-1"], "unexpected argument '-1'");
    assert_usage(&["generate", "-p", "1", "--sequence-range", "1-3"], "invalid value '1-3'");
    assert_usage(&["bounds"], "<TIME>...");
    // Without a zone, a time could be anybody's.
    for time in ["2026-11-21T09:30", "2026-11-21 09:30:15", "yesterday", "2026-02-30", ""] {
        assert_usage(&["bounds", time], "expected a time with its zone");
    }
}

#[test]
fn inspection() {
    assert_output(&sno(&["inspect", "9q7k4op826n2g222"]), 0, TEXT, "");
    assert_output(&sno(&["inspect", "\\x3E0b215ae6012a070000"]), 0, TEXT, "");
    let both = format!("{FIRST}\n{LAST}");
    assert_output(&sno(&["inspect", "2222222222222222", "xxxxxxxxxxxxxxxx"]), 0, &both, "");
    assert_output(&sno(&["inspect", "--json", "9q7k4op826n2g222"]), 0, JSON, "");
    let last = r#"{"id":"xxxxxxxxxxxxxxxx","time":"2079-09-07T15:47:35.548Z","tick_tock":true,"metabyte":255,"partition":65535,"sequence":65535,"bytes":"\\xffffffffffffffffffff"}"#;
    assert_output(&sno(&["inspect", "--json", "xxxxxxxxxxxxxxxx"]), 0, &format!("{last}\n"), "");
}

#[test]
fn lines_of_standard_input() {
    let input = b"2222222222222222\n\n  \nxxxxxxxxxxxxxxxx\r\n 9q7k4op826n2g222";
    assert_output(&fed(&["inspect"], input), 0, &format!("{FIRST}\n{LAST}\n{TEXT}"), "");
    assert_output(&fed(&["inspect"], b""), 0, "", "");
}

#[test]
fn an_invalid_line_is_named_and_the_rest_goes_on() {
    let mut input =
        b"9q7k4op826n2g222\n9Q7K4OP826N2G222\n\nabc\xff\n\\x00\n9q7k4op826n2g22\\x3e0b215ae\n".to_vec();
    input.extend([b'2'; 5000]);
    input.extend(b"\n9q7k4op826n2g222\n");
    // Lines that are cut off after an ID, or before it.
    input.extend(b"9q7k4op826n2g222");
    input.extend([b' '; 1009]);
    input.extend(b"rest\n");
    input.extend([b' '; 1025]);
    input.extend(b"9q7k4op826n2g222\n");
    let complaints = "\
sno: line 2: invalid ID \"9Q7K4OP826N2G222\": character 2 is not one of 2-9 and a-x
sno: line 4: invalid ID \"abc\u{fffd}\": length is 4 bytes instead of 16
sno: line 5: invalid ID \"\\\\x00\": after \\x there have to be 20 hexadecimal digits
sno: line 6: invalid ID \"9q7k4op826n2g22\\\\x3e0b215ae\": length is 26 bytes instead of 16
sno: line 7: invalid ID \"2222222222222222222222222222222222222222...\": the line is too long
sno: line 9: invalid ID \"9q7k4op826n2g222\": the line is too long
sno: line 10: invalid ID \"\": the line is too long
";
    assert_output(&fed(&["inspect", "--json"], &input), 1, &format!("{JSON}{JSON}"), complaints);
    assert_output(
        &sno(&["inspect", "--json", "", "9q7k4op826n2g222"]),
        1,
        JSON,
        "sno: invalid ID \"\": length is 0 bytes instead of 16\n",
    );
    let foreign = std::ffi::OsStr::from_bytes(b"\xfe\n");
    let output = Command::new(SNO).arg("inspect").arg(foreign).output().unwrap();
    assert_output(&output, 1, "", "sno: invalid ID \"\u{fffd}\\n\": length is 2 bytes instead of 16\n");
}

#[test]
fn every_generated_id_can_be_inspected() {
    let made = sno(&["generate", "-p", "9", "-n", "5000"]);
    let shown = fed(&["inspect", "--json"], &made.stdout);
    let back: Vec<Sno> = str::from_utf8(&shown.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().parse())
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(back, ids(&made));
    assert_eq!(back.iter().collect::<BTreeSet<_>>().len(), 5000);
}

#[test]
fn answers_come_as_long_as_questions_do() {
    // One that waits for the end of its input would wait for ever.
    let mut child = Command::new("timeout")
        .args(["60", SNO, "inspect", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..3 {
        stdin.write_all(b"9q7k4op826n2g222\n").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, JSON);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_is_the_end() {
    let mut child = Command::new(SNO)
        .args(["generate", "-p", "1", "-n", "1000000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().parse::<Sno>().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_output(&output, 0, "", "");
}

#[test]
fn a_full_disk_is_an_error() {
    for arguments in [&["generate", "-p", "1"][..], &["inspect", "9q7k4op826n2g222"], &["bounds", "now"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(SNO).args(arguments).stdout(full).output().unwrap();
        assert_output(&output, 1, "", "sno: No space left on device (os error 28)\n");
    }
}

#[test]
fn bounds() {
    let both = |time: &str| sno(&["bounds", time]);
    assert_output(&both("9999-12-31"), 0, "xxxxxxxxxxxxxxxx xxxxxxxxxxxxxxxx\n", "");
    assert_output(&both("1999-12-31"), 0, "2222222222222222 2222222222222222\n", "");
    assert_output(&both("2079-09-08"), 0, "xxxxxxxxxxxxxxxx xxxxxxxxxxxxxxxx\n", "");
    assert_output(&both("2026-11-21T09:30:15.372Z"), 0, "9q7k4op822222222 9q7k4op9xxxxxxxx\n", "");
    assert_output(&both("2026-11-21 10:30:15.372+01"), 0, "9q7k4op822222222 9q7k4op9xxxxxxxx\n", "");
    // Within a tick: the next one is the first that was not made before.
    for time in ["2026-11-21T09:30:15.372000001Z", "2026-11-21T09:30:15.375999Z"] {
        assert_output(&both(time), 0, "9q7k4opa22222222 9q7k4op9xxxxxxxx\n", "");
    }
    let (before, now) = (ids(&sno(&["generate", "-p", "1"])), both("now"));
    let (lower, _) = str::from_utf8(&now.stdout).unwrap().trim_end().split_once(' ').unwrap();
    assert!(before[0] < lower.parse().unwrap());
}

/// A key of 32 bytes, whose answers are those of `core/tests/vectors/mask.tsv`.
const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94";

/// With a key in the environment.
fn with_key(key: &str, arguments: &[&str]) -> Output {
    Command::new(SNO).args(arguments).env("SNO_MASK_KEY", key).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn masks_there_and_back() {
    for (context, masked) in
        [("", "7dv8pw5iei5u84wr"), ("orders", "iaua3muuml7uvt6j"), ("日本語", "2dl5u9rqsx8ci4ps")]
    {
        let output = with_key(KEY, &["mask", "-c", context, "9q7k4op826n2g222", r"\x3e0b215ae6012a070000"]);
        assert_output(&output, 0, &format!("{masked}\n{masked}\n"), "");
        let output = with_key(&KEY.to_uppercase(), &["unmask", "--context", context, masked]);
        assert_output(&output, 0, "9q7k4op826n2g222\n", "");
    }
    // Without a context, it is the empty one; with a shorter key, another mask.
    assert_output(&with_key(KEY, &["mask", "9q7k4op826n2g222"]), 0, "7dv8pw5iei5u84wr\n", "");
    assert_output(&with_key(&KEY[..32], &["mask", "9q7k4op826n2g222"]), 0, "3f36l87kcs4dtdqh\n", "");
    assert_output(&with_key(&KEY[..48], &["mask", "9q7k4op826n2g222"]), 0, "56rtiwdmig2j27so\n", "");
}

#[test]
fn the_key_of_a_file_comes_before_that_of_the_environment() {
    let folder = std::env::temp_dir().join(format!("sno-key-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let (file, missing) = (folder.join("key"), folder.join("missing"));
    fs::write(&file, format!("  {KEY}\r\n")).unwrap();
    let with_file = |command, file: &Path, id| {
        with_key("00", &[command, "--key-file", file.to_str().unwrap(), "--context", "orders", id])
    };
    let results = [
        with_file("mask", &file, "9q7k4op826n2g222"),
        with_file("unmask", &file, "iaua3muuml7uvt6j"),
        with_file("mask", &missing, "9q7k4op826n2g222"),
    ];
    fs::remove_dir_all(&folder).unwrap();
    assert_output(&results[0], 0, "iaua3muuml7uvt6j\n", "");
    assert_output(&results[1], 0, "9q7k4op826n2g222\n", "");
    let complaint = format!("sno: {}: No such file or directory (os error 2)\n", missing.display());
    assert_output(&results[2], 1, "", &complaint);
}

#[test]
fn a_wrong_key_is_named_but_not_shown() {
    for (key, complaint) in [
        ("", "a key is 16, 24 or 32 bytes long, not 0"),
        (&KEY[..34], "a key is 16, 24 or 32 bytes long, not 17"),
        (&KEY[..33], "a key is written in pairs of hexadecimal digits"),
        (&KEY.replace('e', "g"), "a key is written in pairs of hexadecimal digits"),
        ("correct horse battery staple", "a key is written in pairs of hexadecimal digits"),
    ] {
        for command in ["mask", "unmask"] {
            let output = with_key(key, &[command, "9q7k4op826n2g222"]);
            assert_output(&output, 1, "", &format!("sno: SNO_MASK_KEY: {complaint}\n"));
        }
    }
    let output =
        Command::new(SNO).args(["mask", "9q7k4op826n2g222"]).env_remove("SNO_MASK_KEY").output().unwrap();
    assert_output(
        &output,
        1,
        "",
        "sno: no key: say --key-file, or set the environment variable SNO_MASK_KEY\n",
    );
    // Never as an argument.
    assert_usage(&["mask", "--key", KEY, "9q7k4op826n2g222"], "unexpected argument '--key'");
}

#[test]
fn a_line_that_is_no_mask_is_named_and_the_rest_goes_on() {
    let mut child = Command::new(SNO)
        .args(["unmask", "-c", "orders"])
        .env("SNO_MASK_KEY", KEY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"iaua3muuml7uvt6y\n\n iaua3muuml7uvt6j\r\n").unwrap();
    assert_output(
        &child.wait_with_output().unwrap(),
        1,
        "9q7k4op826n2g222\n",
        "sno: line 1: invalid masked ID \"iaua3muuml7uvt6y\": character 16 is not one of 2-9 and a-x\n",
    );
    let output = with_key(KEY, &["mask", "9q7k4op8", "2222222222222222"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(str::from_utf8(&output.stdout).unwrap().len(), 17);
    assert_eq!(
        str::from_utf8(&output.stderr).unwrap(),
        "sno: invalid ID \"9q7k4op8\": length is 8 bytes instead of 16\n"
    );
}

/// The README shows what happens.
#[test]
fn examples_of_the_readme() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let path = format!("{}:{}", Path::new(SNO).parent().unwrap().display(), env!("PATH"));
    let mut count = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split_once("```").unwrap().0;
        for example in block.split("$ ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap();
            let merged = format!("{{ {command}; }} 2>&1");
            let output = Command::new("sh").args(["-c", &merged]).env("PATH", &path).output().unwrap();
            assert_eq!(str::from_utf8(&output.stdout).unwrap(), expected, "{command}");
            count += 1;
        }
    }
    assert_eq!(count, 7);
}
