//! Where and when it was measured.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The machine, the moment and the commit of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Machine {
    /// The processor.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory, in GiB.
    pub memory_gib: u64,
    /// The operating system and its kernel.
    pub system: String,
    /// The compiler.
    pub rustc: String,
    /// The day, UTC.
    pub date: String,
    /// The commit, with `, changed` if files differ from it.
    pub commit: String,
    /// The load average of the last minute when it began: near 0 on a quiet machine.
    pub load: String,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn here() -> Self {
        let memory: u64 = field("/proc/meminfo", "MemTotal", ':')
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or(0);
        let system = field("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| "Linux".into());
        let changed = !said("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
        Self {
            cpu: field("/proc/cpuinfo", "model name", ':').unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: (memory + (1 << 19)) >> 20,
            system: format!("{}, Linux {}", system.trim_matches('"'), said("uname", &["-r"])),
            rustc: said("rustc", &["--version"]),
            date: said("date", &["--utc", "+%F"]),
            commit: said("git", &["rev-parse", "--short", "HEAD"]) + if changed { ", changed" } else { "" },
            load: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| text.split(' ').next().map(str::to_owned))
                .unwrap_or_default(),
        }
    }
}

/// The value of a line `name SEPARATOR value`, the first of the name.
fn field(file: &str, name: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// What a program printed, or that it is not known. It runs where the sources are.
fn said(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map_or_else(|| "unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
