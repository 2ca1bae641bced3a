//! The SQL in the documentation works, as it stands there.

use std::fs;
use std::path::{Path, PathBuf};

use sno_tests::Server;

/// The blocks that are marked as SQL.
fn sql_blocks(markdown: &str) -> Vec<&str> {
    markdown.split("```sql\n").skip(1).map(|rest| rest.split_once("```").expect("an end").0).collect()
}

#[test]
fn every_block_of_sql_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.push(root.join("README.md"));
    files.sort();
    let mut count = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // The README makes its own extension, all others are read after it.
        let server = Server::builder().extension(!text.contains("CREATE EXTENSION sno;")).start();
        for block in sql_blocks(&text) {
            let output = server.psql(block);
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{}:\n{block}\n{}",
                file.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            count += 1;
        }
    }
    assert!(count >= 7, "{count} blocks found");
}
