//! HINTs are followed at night, word for word: none tells to destroy what holds data or a position, without the step that saves it.

use crate::sources;

/// What destroys, as a HINT says it.
const DESTROYS: [&str; 10] = [
    "drop",
    "remove",
    "delete",
    "truncate",
    "recreate",
    "create it again",
    "overwrite",
    "sno_drop_feed",
    "sno_untrack_changes",
    "sno_forget_changes",
];

/// What a HINT says beside that: how the data or the position is kept, or that nothing is lost.
const SAVES: [&str; 5] = [
    "sno_seek_feed()",
    "fill the copies from the table",
    "If no copy is kept",
    "Delete from copies what the table does not have",
    "that nobody reads",
];

/// Nothing is destroyed by these.
const HARMLESS: [&str; 3] = [
    // Of two feeds of one name, by their owner.
    "Use SET ROLE, or the argument source, to select one, or drop one by sno_drop_feed(feed, owner).",
    // A function of Citus'.
    "Wait for citus_promote_clone_and_rebalance(). On a standby that replaced its primary, call citus_remove_clone_node().",
    // An argument of a function.
    "Give a retention, or leave out drop_expired and read_by_all.",
];

/// The texts in quotes of a piece of source.
fn texts(source: &str, quote: char) -> Vec<String> {
    let joined = source.replace("\\\n", "\n");
    let lines: Vec<&str> = joined.lines().map(str::trim_start).collect();
    lines.join("").split(quote).skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rest of a source from an opening parenthesis or brace to the one that closes it.
fn enclosed(rest: &str, [open, close]: [char; 2]) -> &str {
    let mut depth = 0;
    let end = rest.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == open) - i32::from(c == close);
        (c == close && depth == 0).then_some(at)
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// All HINTs, with their files.
fn hints() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (file, text) in [sources(".sql"), sources(".rs")].concat() {
        let is_sql = file.ends_with(".sql");
        let starts: &[&str] =
            if is_sql { &["HINT = ", "HINT =\n", "hint := "] } else { &[".hint(", "_hint<", "_hint("] };
        for start in starts {
            for (at, _) in text.match_indices(start) {
                let rest = &text[at..];
                let part = match *start {
                    _ if is_sql => rest.split(';').next().unwrap_or_default(),
                    ".hint(" => enclosed(rest, ['(', ')']),
                    _ if text[..at].lines().last().is_some_and(|line| line.contains("fn ")) => {
                        enclosed(rest, ['{', '}'])
                    }
                    _ => continue,
                };
                // In SQL, a DETAIL may follow.
                let part = part.split("DETAIL =").next().unwrap_or_default();
                let texts = texts(part, if is_sql { '\'' } else { '"' });
                found
                    .extend(texts.into_iter().filter(|text| text.len() > 3).map(|text| (file.clone(), text)));
            }
        }
    }
    found
}

#[test]
fn no_hint_destroys_what_is_not_saved() {
    let hints = hints();
    // Of those that must be found: the first and the last of either language.
    for known in [
        "Rename it.",
        "move the file away",
        "If another server still generates",
        "If no copy is kept by this feed any more",
    ] {
        assert!(hints.iter().any(|(_, hint)| hint.contains(known)), "not found: {known}");
    }
    assert!(hints.len() > 60, "{hints:#?}");
    let destroys = |hint: &str| DESTROYS.iter().any(|verb| hint.to_lowercase().contains(verb));
    for harmless in HARMLESS {
        assert!(
            hints.iter().any(|(_, hint)| hint == harmless) && destroys(harmless),
            "not needed: {harmless}"
        );
    }
    let is_safe =
        |hint: &String| SAVES.iter().any(|step| hint.contains(step)) || HARMLESS.contains(&hint.as_str());
    let unsafe_ones: Vec<_> = hints.iter().filter(|(_, hint)| destroys(hint) && !is_safe(hint)).collect();
    assert!(unsafe_ones.is_empty(), "{unsafe_ones:#?}");
}
