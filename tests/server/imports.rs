//! Imports go one way, in the libraries of both extensions and in what they share: a file uses those that `lib.rs` or its `mod.rs`
//! declares before it, and what they hold. A `mod.rs` uses what is in its folder, or is used by it, not both. `lib.rs` uses all.

use std::collections::BTreeSet;
use std::{fs, path::Path};

/// The sources of a package, whose modules are in the order in which they may use each other.
const PACKAGES: [&str; 3] = ["shared/src", "src", "compat/src"];

/// Adds the modules that a text declares, and what is in them, in that order, with the text of each.
fn modules(folder: &Path, above: &str, text: &str, all: &mut Vec<(String, String)>) {
    let lines = text.lines().map(|line| line.trim_start_matches("pub(crate) ").trim_start_matches("pub "));
    for name in lines.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')) {
        let (inner, module) = (folder.join(name), format!("{above}::{name}"));
        let file = if inner.is_dir() { inner.join("mod.rs") } else { inner.with_extension("rs") };
        let text = fs::read_to_string(file).unwrap();
        all.push((module.clone(), text.clone()));
        modules(&inner, &module, &text, all);
    }
}

/// The paths in a text, each of a list in braces written out; comments do not count.
fn paths(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().flat_map(|line| [line.split("//").next().unwrap(), "\n"]).collect();
    let (mut found, mut open, mut path) = (BTreeSet::new(), Vec::new(), String::new());
    for token in code.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        path += token.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        match token.chars().last() {
            Some(':') => {}
            Some('{') if path.ends_with("::") => open.push(path.clone()),
            sign => {
                found.insert(path);
                open.truncate(open.len() - usize::from(sign == Some('}') && !open.is_empty()));
                path = open.last().cloned().unwrap_or_default();
            }
        }
    }
    found
}

fn modules_of(package: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package);
    let mut all = Vec::new();
    modules(&folder, "crate", &fs::read_to_string(folder.join("lib.rs")).unwrap(), &mut all);
    all
}

/// `lib.rs` is not among the modules: it chooses the version of pgrx.
#[test]
fn one_file_asks_for_the_version_of_postgresql() {
    let mut asking: Vec<_> = PACKAGES.into_iter().flat_map(modules_of).collect();
    asking.retain(|(_, text)| text.contains("feature = \"pg"));
    let names: Vec<&String> = asking.iter().map(|(module, _)| module).collect();
    assert_eq!(names, ["crate::pg::versions"], "it has the functions that are the same for all versions");
}

#[test]
fn imports_go_one_way() {
    for (package, least) in PACKAGES.into_iter().zip([25, 30, 11]) {
        let all = modules_of(package);
        assert!(all.len() >= least, "{package}: {all:?}");
        check(package, &all);
    }
}

fn check(package: &str, all: &[(String, String)]) {
    let below =
        |path: &str, module: &str| path.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"));
    let mut uses = BTreeSet::new();
    for (place, (module, text)) in all.iter().enumerate() {
        assert!(!text.contains("super::super"), "{package}, {module}: a path from `crate` on says more");
        let above = module.rsplit_once("::").unwrap().0;
        for path in paths(text).iter().filter(|path| path.contains("::") && !path.ends_with("::")) {
            let path = path.replacen("super", above, usize::from(path.starts_with("super::")));
            // A name that does not begin with `crate` can be that of a module in this one.
            let path = if path.starts_with("crate::") { path } else { format!("{module}::{path}") };
            let used = all.iter().rposition(|(other, _)| path == *other || below(&path, other));
            uses.extend(used.filter(|&used| used != place).map(|used| (place, used)));
        }
    }
    assert!(uses.len() > all.len() / 2, "{package}: {uses:?}");
    let wrong = uses.iter().filter(|&&(place, used)| {
        let holds = below(&all[used].0, &all[place].0);
        used > place && !holds || holds && uses.contains(&(used, place))
    });
    let wrong: Vec<String> = wrong.map(|&(a, b)| format!("{} uses {}", all[a].0, all[b].0)).collect();
    assert!(wrong.is_empty(), "{package}: {wrong:#?}");
}

/// The rooms of the core, each of which uses those before it.
const CORE: [&str; 6] = ["id", "generation", "horizon", "server", "compat", "interop"];

/// Each file of the core imports from the file that defines a thing, and no file from a later room.
#[test]
fn imports_of_the_core_go_one_way() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    let mut checked = 0;
    for (place, room) in CORE.iter().enumerate() {
        for file in fs::read_dir(source.join(room)).unwrap().map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&file).unwrap();
            for path in paths(&text).iter().filter_map(|path| path.strip_prefix("crate::")) {
                let used = CORE.iter().position(|other| path.split("::").next() == Some(other));
                assert!(used.is_some_and(|used| used <= place), "{}: crate::{path}", file.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 50);
}
