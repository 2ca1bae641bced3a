//! `make install` and `make uninstall`, as packagers use them, and what names a version.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// What `pg_config` says of the server that the extension was built for.
fn folder(option: &str) -> String {
    let output = Command::new(env::var_os("PG_CONFIG").expect("PG_CONFIG")).arg(option).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[track_caller]
fn make(target: &str, destination: &Path) {
    let output = Command::new("make")
        .args(["--silent", "-C", root().to_str().unwrap(), target])
        .arg(format!("DESTDIR={}", destination.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All files below a folder, as paths from there.
fn files(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                all.push(format!("/{}", entry.strip_prefix(folder).unwrap().display()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn it_goes_where_pg_config_says_below_destdir_and_comes_out_again() {
    let destination = tempfile::tempdir().unwrap();
    make("install", destination.path());
    let (modules, extensions) = (folder("--pkglibdir"), folder("--sharedir") + "/extension");
    let now = env!("CARGO_PKG_VERSION");
    let installed = files(destination.path());
    for file in [
        format!("{modules}/sno.so"),
        format!("{extensions}/sno.control"),
        format!("{extensions}/sno--{now}.sql"),
        format!("{extensions}/sno--0.1.0.sql"),
        format!("{extensions}/sno--0.1.0--{now}.sql"),
        format!("{modules}/sno_kin.so"),
        format!("{extensions}/sno_kin.control"),
        format!("{extensions}/sno_kin--{now}.sql"),
    ] {
        assert!(installed.contains(&file), "{file} is not among {installed:?}");
    }
    for file in &installed {
        assert!(file.starts_with(&modules) || file.starts_with(&extensions), "{file}");
        let path = PathBuf::from(format!("{}{file}", destination.path().display()));
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if file.ends_with(".so") { 0o755 } else { 0o644 }, "{file}");
    }
    make("uninstall", destination.path());
    assert_eq!(files(destination.path()), [""; 0]);
    // Once more is no error.
    make("uninstall", destination.path());
}

/// Each place that names the version names the same.
#[test]
fn one_version_everywhere() {
    let now = env!("CARGO_PKG_VERSION");
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    for control in ["sno.control", "kin/sno_kin.control"] {
        assert!(read(control).contains(&format!("default_version = '{now}'")), "{control}");
    }
    assert_eq!(read("META.json").matches(&format!("\"version\": \"{now}\"")).count(), 3);
    assert!(read("CHANGELOG.md").contains(&format!("\n## {now}")));
    for update in [format!("sno--{now}--{now}-pg_upgrade.sql"), format!("sno--{now}-pg_upgrade--{now}.sql")] {
        assert!(root().join("sql").join(&update).exists(), "{update}");
    }
}

/// The scripts are read in the encoding of the database, and some encodings have other characters than UTF-8's.
#[test]
fn scripts_are_ascii() {
    let mut scripts = vec![root().join("sno.control"), root().join("kin/sno_kin.control")];
    for folder in ["sql", "kin/sql"] {
        scripts.extend(fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    for script in scripts {
        for (number, line) in fs::read_to_string(&script).unwrap().lines().enumerate() {
            assert!(line.is_ascii(), "{}:{}: {line}", script.display(), number + 1);
        }
    }
}
