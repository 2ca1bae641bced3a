//! Stands between a server and its clock, and between it and its disk: `LD_PRELOAD` puts these functions before those
//! of the C library.
//!
//! # The clock
//!
//! `SNO_CLOCK` names a file of eight bytes, a number that every process has mapped into its memory: twice the
//! microseconds by which the clock is ahead of the machine's; or twice the Unix microseconds at which it stands, plus
//! one. libfaketime would do the same, but it has a semaphore, which a process that is killed may hold for ever.
//!
//! With `SNO_CLOCK_STEP=10000`, the machine's clock itself stands for so many microseconds, and then jumps: [how a whole suite is
//! run so](../README.md).
//!
//! # The host
//!
//! With `SNO_HOST`, this is the name of the machine.
//!
//! # The disk
//!
//! With `SNO_DISK`, these functions look at what is done to the file of the marks:
//!
//! * Each write and each sync of the file, and each sync of its folder, is a line in `sno.marks.calls`.
//! * What a sync has put on disk is in `sno.marks.disk`: what is left after the machine has lost its power. The folder
//!   has to be synced once, or there is no file at all.
//! * `sno.marks.fault` says what is to fail: `fdatasync 5` makes each `fdatasync` fail with error 5 (EIO), `pwrite64
//!   short` makes each write end after half of it, and `flock 37` makes each lock of the file fail with error 37 (ENOLCK).
//!
//! # Commits of prepared transactions
//!
//! While there is a file [`STOP`], who truncates a file waits: a transaction that is committed as prepared does so with the files of the
//! tables that it has dropped, when its commit is visible, and before others know what it has changed in catalogs. A file [`STOPPED`] says
//! that somebody waits.
//!
//! All these files are in the data directory, which is the working directory of the server's processes.

use std::{
    ffi::{c_char, c_int, c_void},
    fs,
    io::Write as _,
    ptr,
    sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, Ordering::Relaxed},
};

/// The clock's number; null without `SNO_CLOCK`, and before the first call.
static CLOCK: AtomicPtr<AtomicI64> = AtomicPtr::new(ptr::null_mut());
static IS_CLOCK_MAPPED: AtomicBool = AtomicBool::new(false);
/// How long the machine's clock stands, in nanoseconds.
static STEP: AtomicI64 = AtomicI64::new(1);

/// What the clock shows, in nanoseconds of the Unix time.
fn now() -> i64 {
    let mut machine = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system call itself, with a place for the time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut machine) };
    let machine = machine.tv_sec * 1_000_000_000 + machine.tv_nsec;
    if !IS_CLOCK_MAPPED.load(Relaxed) {
        // SAFETY: reads this process's environment.
        let step = unsafe { libc::getenv(c"SNO_CLOCK_STEP".as_ptr()) };
        if !step.is_null() {
            // SAFETY: a text.
            STEP.store(unsafe { libc::atol(step) }.max(1) * 1000, Relaxed);
        }
        CLOCK.store(map_clock(), Relaxed);
        IS_CLOCK_MAPPED.store(true, Relaxed);
    }
    let machine = machine - machine % STEP.load(Relaxed);
    // SAFETY: mapped for as long as the process lives.
    match unsafe { CLOCK.load(Relaxed).as_ref() }.map(|clock| clock.load(Relaxed)) {
        None => machine,
        Some(number) if number & 1 == 1 => (number >> 1) * 1000,
        Some(number) => machine + (number >> 1) * 1000,
    }
}

fn map_clock() -> *mut AtomicI64 {
    // SAFETY: the C library's functions, on a name of this process's environment.
    unsafe {
        let path = libc::getenv(c"SNO_CLOCK".as_ptr());
        if path.is_null() {
            return ptr::null_mut();
        }
        let file = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
        let map = libc::mmap(ptr::null_mut(), 8, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        libc::close(file);
        if map == libc::MAP_FAILED { libc::abort() } else { map.cast() }
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE) {
        // SAFETY: the system call itself, with the caller's arguments.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    }
    let now = now();
    // SAFETY: the caller's place for a time.
    unsafe {
        *time =
            libc::timespec { tv_sec: now.div_euclid(1_000_000_000), tv_nsec: now.rem_euclid(1_000_000_000) }
    };
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let micros = now().div_euclid(1000);
    // SAFETY: the caller's place for a time.
    unsafe {
        *time = libc::timeval { tv_sec: micros.div_euclid(1_000_000), tv_usec: micros.rem_euclid(1_000_000) }
    };
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(place: *mut libc::time_t) -> libc::time_t {
    let seconds = now().div_euclid(1_000_000_000);
    if !place.is_null() {
        // SAFETY: the caller's place for a time.
        unsafe { *place = seconds };
    }
    seconds
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostname(name: *mut c_char, length: usize) -> c_int {
    // SAFETY: this process's environment; the system call on a place of its own; and the caller's place, which has room
    // for so many bytes.
    unsafe {
        let mut system: libc::utsname = std::mem::zeroed();
        libc::uname(&raw mut system);
        let given = libc::getenv(c"SNO_HOST".as_ptr());
        libc::strncpy(name, if given.is_null() { system.nodename.as_ptr() } else { given }, length);
    }
    0
}

/// Whether the disk is looked at.
fn is_disk() -> bool {
    static IS_DISK: AtomicU8 = AtomicU8::new(0);
    if IS_DISK.load(Relaxed) == 0 {
        // SAFETY: reads this process's environment.
        let found = unsafe { !libc::getenv(c"SNO_DISK".as_ptr()).is_null() };
        IS_DISK.store(1 + found as u8, Relaxed);
    }
    IS_DISK.load(Relaxed) == 2
}

/// What the processes called.
pub const CALLS: &str = "sno.marks.calls";
/// What is on disk; not there as long as the name is not.
pub const DISK: &str = "sno.marks.disk";
/// What is to fail.
pub const FAULT: &str = "sno.marks.fault";
/// What a sync of the file has put on disk while the folder was not synced yet.
const UNNAMED: &str = "sno.marks.unnamed";

/// Whether a call of this thread's process is being looked at: the calls that this makes itself are not.
static INSIDE: AtomicBool = AtomicBool::new(false);

enum File {
    Marks,
    Folder,
    Other,
}

fn file(fd: c_int) -> File {
    let Ok(path) = fs::read_link(format!("/proc/self/fd/{fd}")) else { return File::Other };
    if path.file_name().is_some_and(|name| name == "sno.marks") {
        return File::Marks;
    }
    // Of all folders only the one that holds the file counts.
    if path.is_dir() && path.join("PG_VERSION").exists() && path.join("global").exists() {
        return File::Folder;
    }
    File::Other
}

/// The error that a function is to fail with.
fn fault(function: &str) -> Option<String> {
    let text = fs::read_to_string(FAULT).ok()?;
    text.lines().find_map(|line| line.strip_prefix(function)?.strip_prefix(' ').map(str::to_owned))
}

fn note(line: &str) {
    let file = fs::OpenOptions::new().create(true).append(true).open(CALLS);
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}

/// Runs `call` for one of the files that matter, unless it is to fail; then for -1 and the error.
fn observe(
    function: &'static str,
    fd: c_int,
    detail: &str,
    call: impl FnOnce() -> isize,
    done: impl FnOnce(&File),
) -> isize {
    if !is_disk() || INSIDE.swap(true, Relaxed) {
        return call();
    }
    let kind = file(fd);
    let result = match kind {
        File::Other => call(),
        _ => match fault(function).map(|fault| fault.parse::<c_int>()) {
            Some(Ok(error)) => {
                note(&format!("{function}{detail} fails with {error}"));
                INSIDE.store(false, Relaxed);
                // SAFETY: the address of this thread's error number.
                unsafe { *libc::__errno_location() = error };
                return -1;
            }
            _ => {
                let result = call();
                let folder = if matches!(kind, File::Folder) { " folder" } else { "" };
                note(&format!("{function}{folder}{detail}"));
                if result >= 0 {
                    done(&kind);
                }
                result
            }
        },
    };
    INSIDE.store(false, Relaxed);
    result
}

/// What a sync has put on disk.
fn synced(kind: &File) {
    // A rename, so that whoever is killed leaves the old image or the new one.
    let keep = |from: &str, to: &str| {
        let next = format!("{to}.{}", std::process::id());
        let _ = fs::copy(from, &next).and_then(|_| fs::rename(&next, to));
    };
    match kind {
        File::Marks if fs::exists(DISK).unwrap_or(false) => keep("sno.marks", DISK),
        File::Marks => keep("sno.marks", UNNAMED),
        // The name is on disk, and of the content what was synced.
        File::Folder if fs::exists("sno.marks").unwrap_or(false) && !fs::exists(DISK).unwrap_or(true) => {
            if fs::exists(UNNAMED).unwrap_or(false) {
                let _ = fs::rename(UNNAMED, DISK);
            } else {
                let _ = fs::File::create(DISK);
            }
        }
        _ => {}
    }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: the system call itself takes any descriptor.
    let call = || unsafe { libc::syscall(libc::SYS_fdatasync, fd) } as isize;
    observe("fdatasync", fd, "", call, synced) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: the system call itself takes any descriptor.
    let call = || unsafe { libc::syscall(libc::SYS_fsync, fd) } as isize;
    observe("fsync", fd, "", call, synced) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(fd: c_int, buffer: *const c_void, length: usize, offset: i64) -> isize {
    let mut part = length;
    if is_disk() && !INSIDE.swap(true, Relaxed) {
        if matches!(file(fd), File::Marks) && fault("pwrite64").is_some_and(|fault| fault == "short") {
            part = length.div_ceil(2);
        }
        INSIDE.store(false, Relaxed);
    }
    // SAFETY: part of what the caller vouches for.
    let call = || unsafe { libc::syscall(libc::SYS_pwrite64, fd, buffer, part, offset) } as isize;
    observe("pwrite64", fd, &format!(" {part} at {offset}"), call, |_| ())
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    if is_disk() && !INSIDE.swap(true, Relaxed) {
        let error = if matches!(file(fd), File::Marks) { fault("flock") } else { None };
        INSIDE.store(false, Relaxed);
        if let Some(Ok(error)) = error.map(|error| error.parse()) {
            // SAFETY: the address of this thread's error number.
            unsafe { *libc::__errno_location() = error };
            return -1;
        }
    }
    // SAFETY: the system call itself takes any descriptor and any number.
    unsafe { libc::syscall(libc::SYS_flock, fd, operation) as c_int }
}

/// Stops who truncates a file.
pub const STOP: &str = "sno.stop";
/// Whether somebody was stopped.
pub const STOPPED: &str = "sno.stopped";

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn truncate(path: *const libc::c_char, length: libc::off_t) -> c_int {
    while fs::exists(STOP).unwrap_or(false) {
        let _ = fs::write(STOPPED, []);
        // SAFETY: a pause.
        unsafe { libc::usleep(1000) };
    }
    // SAFETY: the system call itself, with the caller's arguments.
    unsafe { libc::syscall(libc::SYS_truncate, path, length) as c_int }
}

/// The name of this library's file, which Cargo puts beside the tests.
pub const LIBRARY: &str = "libsno_tests_preload.so";
