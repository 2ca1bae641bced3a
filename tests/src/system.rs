//! What the harness asks of the operating system: who servers run as, and processes that end with this one.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, OnceLock, mpsc};
use std::{env, fs, thread};

/// A program of the private copy of the server; of any other, if given with its path.
#[must_use]
pub fn program(name: impl AsRef<Path>) -> PathBuf {
    let Some(folder) = env::var_os("SNO_PG_BIN") else {
        panic!(
            "SNO_PG_BIN is not set. These tests run on a private copy of a PostgreSQL server with the extension \
             in it: run `make test`, or `dev/staged cargo tests --test server [name]`."
        );
    };
    Path::new(&folder).join(name)
}

/// A file of the folder `sql`: of the sources that `dev/staged` runs in, which may be a mutant's.
#[must_use]
#[track_caller]
pub fn sql_file(name: &str) -> String {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../sql");
    let folder = env::var_os("SNO_SQL").map_or_else(|| own.into(), PathBuf::from);
    fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The folder for data folders and sockets, which the server's user may enter.
pub(crate) fn temporary() -> PathBuf {
    env::var_os("SNO_TMP").map_or_else(env::temp_dir, PathBuf::from)
}

/// The user and group that servers run as, where that is not who runs the tests: PostgreSQL refuses root.
pub(crate) fn server_identity() -> Option<(u32, u32)> {
    static IDENTITY: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    *IDENTITY.get_or_init(|| {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            return None;
        }
        let name = env::var("SNO_SERVER_USER").unwrap_or_else(|_| "postgres".into());
        let c_name = CString::new(name.as_str()).expect("a user name without NUL");
        // SAFETY: the name ends with NUL; the only caller of getpwnam in this process is this one, once.
        let entry = unsafe { libc::getpwnam(c_name.as_ptr()) };
        assert!(!entry.is_null(), "there is no user {name} to run servers as");
        // SAFETY: not null, and nothing has called getpwnam since.
        Some(unsafe { ((*entry).pw_uid, (*entry).pw_gid) })
    })
}

/// A command that runs as the server's user, in a folder that this user may enter, in no particular locale, and
/// without the client settings of whoever runs the tests.
pub(crate) fn server_command(name: impl AsRef<Path>) -> Command {
    as_server(&program(name))
}

/// Any program, in the same way.
#[must_use]
pub fn as_server(program: &Path) -> Command {
    let mut command = bare(program);
    if let Some((user, group)) = server_identity() {
        command.uid(user).gid(group);
    }
    command
}

/// The same as whoever runs the tests.
pub(crate) fn client_command(name: impl AsRef<Path>) -> Command {
    bare(&program(name))
}

fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").env("LC_ALL", "C.UTF-8");
    for (variable, _) in env::vars_os() {
        if variable.to_string_lossy().starts_with("PG") {
            command.env_remove(variable);
        }
    }
    command
}

/// Lets this process have as many files open as it may: a connection takes several, and many systems allow 1,024 unless
/// asked for more. Says so if that may not be enough for hundreds of connections.
pub(crate) fn raise_file_limit() {
    const ENOUGH: libc::rlim_t = 4096;
    static RAISED: OnceLock<()> = OnceLock::new();

    RAISED.get_or_init(|| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls are given a limit to write or to read.
        let raised = unsafe {
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && {
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
            }
        };
        if !raised || limit.rlim_max < ENOUGH {
            eprintln!(
                "This process may have only {} files open; tests with hundreds of connections need up to {ENOUGH}. \
                 Raise the hard limit: ulimit -Hn {ENOUGH}, as root, or /etc/security/limits.conf.",
                limit.rlim_max
            );
        }
    });
}

/// A TCP port that nobody listens on at the moment.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

/// Gives a file or a folder to the server's user; of a link, not what it leads to.
#[track_caller]
pub fn give_to_server(path: &Path) {
    if let Some((user, group)) = server_identity() {
        std::os::unix::fs::lchown(path, Some(user), Some(group)).expect("chown to the server's user");
    }
}

/// Starts a child that gets `signal` when this process ends, in whatever way it ends, `kill -9` included.
///
/// Linux sends the signal when the *thread* that started the child ends, and a test is a thread; so one thread
/// that lives as long as the process starts all of them.
pub(crate) fn spawn_with_death_signal(mut command: Command, signal: i32) -> io::Result<Child> {
    type Job = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();

    let parent = std::process::id();
    // SAFETY: between fork and exec, only async-signal-safe system calls. The user has been changed by then,
    // which would have reset the death signal.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, signal) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() as u32 != parent {
                libc::_exit(1); // The parent is gone already.
            }
            Ok(())
        });
    }
    let starter = STARTER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let run = move || {
            for (mut command, answer) in jobs {
                let _ = answer.send(command.spawn());
            }
        };
        thread::Builder::new().name("starter".into()).spawn(run).expect("a thread");
        Mutex::new(sender)
    });
    let (answer, child) = mpsc::channel();
    starter.lock().expect("the starter's queue").send((command, answer)).expect("the starter");
    child.recv().expect("the starter's answer")
}

/// Sends a signal to a process; whether it was there to get it.
pub(crate) fn send_signal(pid: i32, signal: i32) -> bool {
    // SAFETY: kill has no memory-safety preconditions.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// Whether a process works in a folder; not if this user may not know.
pub(crate) fn works_in(pid: i32, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder_of(pid) == Some(folder)
}

/// The folder that a process works in. Root may not know without CAP_SYS_PTRACE, which containers lack; the server's
/// user may, of the server's processes.
fn folder_of(pid: i32) -> Option<PathBuf> {
    let link = format!("/proc/{pid}/cwd");
    match fs::read_link(&link) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && server_identity().is_some() => {
            let output = as_server(Path::new("readlink")).arg(&link).output().ok()?;
            let folder = String::from_utf8(output.stdout).ok()?;
            folder.strip_suffix('\n').map(PathBuf::from)
        }
        folder => folder.ok(),
    }
}

/// The processes that work in a folder, as all of a server's do in its data folder.
pub(crate) fn processes_in(folder: &Path) -> Vec<i32> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| folder_of(pid).as_ref() == Some(&folder))
        .collect()
}

/// Opens a file to append to, creating it.
pub(crate) fn appending(path: &Path) -> File {
    File::options().create(true).append(true).open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
