//! What an ID costs: measured on a server of its own, beside what else people use as keys. `dev/bench` runs it.
//!
//! `figures` says what is measured, and `run` how; `instructions` counts what calls and statements take.

mod figures;
mod instructions;
mod run;

use std::fs;

/// The pages that show the figures, in blocks between `<!-- bench NAME -->` and `<!-- end -->`.
const PAGES: [&str; 2] = ["docs/which-key.md", "bench/README.md"];

/// A size of a run, `instructions` or `check`; then parts of the names of the figures to measure, all unless told.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (what, parts) = arguments.split_first().expect("full, quick, smoke, instructions or check");
    match what.as_str() {
        "instructions" => instructions::record(),
        "check" => instructions::check(),
        size => {
            let blocks = run::measure(size, parts);
            for (_, text) in &blocks {
                println!("{text}");
            }
            // A part never takes the place of a whole.
            if size == "full" && parts.is_empty() {
                PAGES.into_iter().for_each(|page| renew(page, &blocks));
            }
        }
    }
}

/// Puts the texts into the blocks that a page has for them.
fn renew(page: &str, blocks: &[(&str, String)]) {
    let mut text = fs::read_to_string(page).expect(page);
    for (name, content) in blocks {
        let open = format!("<!-- bench {name} -->\n");
        if let Some(start) = text.find(&open).map(|at| at + open.len()) {
            let length = text[start..].find("<!-- end -->").expect("the end of a block");
            text.replace_range(start..start + length, &format!("\n{content}\n"));
        }
    }
    fs::write(page, text).expect(page);
}
