//! `make install` and `make uninstall`, as packagers use them, and what names a version.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sno_tests::{Server, skip};

use crate::root;

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
    let program = folder("--bindir") + "/sno";
    let now = env!("CARGO_PKG_VERSION");
    let installed = files(destination.path());
    for file in [
        program.clone(),
        format!("{modules}/sno.so"),
        format!("{modules}/sno_compat.so"),
        format!("{extensions}/sno.control"),
        format!("{extensions}/sno--{now}.sql"),
        format!("{extensions}/sno_compat.control"),
        format!("{extensions}/sno_compat--{now}.sql"),
        format!("{extensions}/sno_citus.control"),
        format!("{extensions}/sno_citus--{now}.sql"),
    ] {
        assert!(installed.contains(&file), "{file} is not among {installed:?}");
    }
    for file in &installed {
        assert!(file == &program || file.starts_with(&modules) || file.starts_with(&extensions), "{file}");
        let path = PathBuf::from(format!("{}{file}", destination.path().display()));
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if file == &program || file.ends_with(".so") { 0o755 } else { 0o644 }, "{file}");
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
    for control in ["sno.control", "sno_citus.control", "compat/sno_compat.control"] {
        assert!(read(control).contains(&format!("default_version = '{now}'")), "{control}");
    }
    assert!(read("Cargo.toml").contains(&format!("sno-core = {{ version = \"{now}\"")));
    assert!(read("packages/js/package.json").contains(&format!("\"version\": \"{now}\"")));
    assert!(read("packages/python/pyproject.toml").contains(&format!("\nversion = \"{now}\"")));
    assert!(read("sql/uuidv7.sql").contains(&format!("RETURN '{now}';")));
    assert!(read("CHANGELOG.md").contains(&format!("\n## {now}")));
}

/// The sources have a word where the project's address belongs; a release demands the address and fills it in everywhere.
#[test]
fn a_release_has_the_address_of_the_project() {
    let dev = |script: &str, argument: &str, repository: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "dev/release", argument]).env("REPOSITORY", repository);
        bash.current_dir(root()).output().unwrap()
    };
    let refused = dev(". dev/release", "", "");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("where the project is on the web"), "{error}");

    let word = ["HOST", "OWNER", "NAME"].join("/");
    let tracked = Command::new("git").args(["grep", "-lF", &word]).current_dir(root()).output().unwrap();
    let tracked = String::from_utf8(tracked.stdout).unwrap();
    let places: Vec<&str> = tracked.lines().filter(|file| !file.starts_with("dev/")).collect();
    let copy = tempfile::tempdir().unwrap();
    for file in &places {
        let to = copy.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root().join(file), to).unwrap();
    }
    let address = "https://git.example/someone/something";
    let filled = dev(". dev/common.sh; fill_address \"$1\"", copy.path().to_str().unwrap(), address);
    assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    for needed in ["README.md", "SECURITY.md", "debian/control.in", "packages/js/package.json"] {
        assert!(places.contains(&needed), "{needed}");
    }
    for file in places {
        let text = fs::read_to_string(copy.path().join(file)).unwrap();
        assert!(text.contains(address) && !text.contains(&word), "{file}");
    }
}

/// The scripts are read in the encoding of the database, and some encodings have other characters than UTF-8's.
#[test]
fn scripts_are_ascii() {
    let mut scripts = ["sno.control", "sno_citus.control", "compat/sno_compat.control"]
        .map(|file| root().join(file))
        .to_vec();
    for folder in ["sql", "sql/sno", "compat"] {
        scripts.extend(fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    scripts.retain(|path| path.is_file() && path.extension() != Some("toml".as_ref()));
    for script in scripts {
        for (number, line) in fs::read_to_string(&script).unwrap().lines().enumerate() {
            assert!(line.is_ascii(), "{}:{}: {line}", script.display(), number + 1);
        }
    }
}

/// PostgreSQL 18 finds extensions in other folders than its own.
#[test]
fn it_works_from_folders_of_its_own() {
    if env::var("PG").expect("PG").parse::<u32>().unwrap() < 18 {
        return skip("extension_control_path came with PostgreSQL 18");
    }
    // A server without the extensions, and beside it their files.
    let temporary = PathBuf::from(env::var_os("SNO_TMP").unwrap());
    let staged = temporary.parent().unwrap();
    let copy = tempfile::tempdir_in(&temporary).unwrap();
    fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(staged).unwrap().map(|entry| entry.unwrap().path()) {
        if entry != temporary {
            let status = Command::new("cp")
                .args(["-al".as_ref(), entry.as_os_str(), copy.path().as_os_str()])
                .status();
            assert!(status.unwrap().success());
        }
    }
    let programs = PathBuf::from(env::var_os("SNO_PG_BIN").unwrap());
    let programs = copy.path().join(programs.strip_prefix(staged).unwrap());
    let said = |option: &str| {
        let output = Command::new(programs.join("pg_config")).arg(option).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    };
    let elsewhere = copy.path().join("elsewhere");
    let mut moved = 0;
    for (from, to) in [(said("--pkglibdir"), "lib"), (said("--sharedir").join("extension"), "extension")] {
        fs::create_dir_all(elsewhere.join(to)).unwrap();
        for file in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            if file.file_name().to_str().unwrap().starts_with("sno") {
                fs::rename(file.path(), elsewhere.join(to).join(file.file_name())).unwrap();
                moved += 1;
            }
        }
    }
    assert!(moved >= 5, "{moved} files");
    let server = Server::builder()
        .compat()
        .extension(false)
        .programs(&programs, &[])
        .conf("extension_control_path", &format!("$system:{}", elsewhere.display()))
        .conf("dynamic_library_path", &format!("$libdir:{}/lib", elsewhere.display()))
        .start();
    server.run("CREATE EXTENSION sno_compat CASCADE; SELECT sno_new(), uid60_new()");
    server.run("SELECT uid60_new(), sno_new()");
}
