//! The disk of a server, which a test can make fail.

use std::{fs, thread};

use super::Server;
use crate::{system, wait_until};

impl Server {
    /// What was done to the [disk](Builder::disk) so far, a line for each call.
    #[must_use]
    pub fn disk_calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.data.join(sno_tests_preload::CALLS)).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Makes calls to the [disk](Builder::disk) fail from now on: `"fdatasync 5"`, `"pwrite64 28"`, `"pwrite64 short"`.
    /// Nothing fails with an empty text.
    #[track_caller]
    pub fn fail_disk(&self, faults: &str) {
        let path = self.data.join(sno_tests_preload::FAULT);
        fs::write(&path, faults).expect("the faults");
        system::give_to_server(&path);
    }

    /// Does some work up to where it truncates a file of the server's, then something else; what the work returned.
    #[track_caller]
    pub fn at_truncate<T: Send>(&self, work: impl FnOnce() -> T + Send, other: impl FnOnce()) -> T {
        struct Stop<'a>(&'a Server);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                let _ = fs::remove_file(self.0.data.join(sno_tests_preload::STOP));
            }
        }

        thread::scope(|scope| {
            let stop = Stop(self);
            fs::write(self.data.join(sno_tests_preload::STOP), []).expect("a file");
            let stopped = scope.spawn(work);
            wait_until("somebody who stops", || self.data.join(sno_tests_preload::STOPPED).exists());
            other();
            drop(stop);
            stopped.join().unwrap()
        })
    }

    /// Leaves of the marks file what was synced, as a crash of the machine does.
    pub(super) fn lose_what_was_not_synced(&self) {
        match fs::read(self.data.join(sno_tests_preload::DISK)) {
            // In place: its inode number stays.
            Ok(synced) => fs::write(self.marks(), synced).expect("sno.marks"),
            Err(_) => {
                let _ = fs::remove_file(self.marks());
            }
        }
    }
}
