//! A backend in single-user mode under callgrind.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use sno_tests::{as_server, program};

/// Runs statements, one a line, on the data of a server that has stopped; returns the profiles that callgrind
/// wrote with these options, in their order.
pub(crate) fn profiles(
    data: &Path,
    statements: &[String],
    options: &[String],
) -> Result<Vec<String>, Box<dyn Error>> {
    let (script, folder) = (data.join("statements"), tempfile::tempdir_in(data)?);
    // The backend writes them as its own user.
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    fs::write(&script, statements.join("\n") + "\n")?;
    let profile = folder.path().join("profile");
    let output = as_server(Path::new("valgrind"))
        .args(["--quiet", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .args(options)
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program("postgres"))
        .args(["--single", "-c", "jit=off", "-D"])
        .arg(data)
        .arg("postgres")
        .stdin(Stdio::from(fs::File::open(&script)?))
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || complaint.contains("ERROR:") {
        return Err(format!("postgres under valgrind: {complaint}").into());
    }
    // Those written on the way are numbered from 1; the one at the end has no number.
    let mut profiles = Vec::new();
    while let Ok(text) = fs::read_to_string(profile.with_extension((profiles.len() + 1).to_string())) {
        profiles.push(text);
    }
    profiles.push(fs::read_to_string(&profile)?);
    Ok(profiles)
}
