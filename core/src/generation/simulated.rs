//! What the simulator in `tests/sim` puts in place of atomics, in a build with `--cfg simulated`.

use core::{
    cell::Cell,
    sync::atomic::{self, Ordering},
};

std::thread_local! {
    static PAUSE: Cell<fn()> = const { Cell::new(|| ()) };
}

/// Has this thread call a function before each access to an atomic: other processes may run there.
pub fn pause_by(pause: fn()) {
    PAUSE.set(pause);
}

fn pause() {
    (PAUSE.get())();
}

pub(crate) fn fence(ordering: Ordering) {
    pause();
    atomic::fence(ordering);
}

macro_rules! atomics {
    ($($name:ident $value:ty,)*) => { $(
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub(crate) struct $name(atomic::$name);

        #[allow(dead_code)]
        impl $name {
            pub(crate) const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                pause();
                self.0.load(ordering)
            }

            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                pause();
                self.0.store(value, ordering);
            }

            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                pause();
                self.0.swap(value, ordering)
            }

            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                pause();
                self.0.compare_exchange(old, new, success, failure)
            }
        }
    )* };
}

atomics! { AtomicBool bool, AtomicU32 u32, AtomicU64 u64, }

impl AtomicU64 {
    pub(crate) fn fetch_add(&self, value: u64, ordering: Ordering) -> u64 {
        pause();
        self.0.fetch_add(value, ordering)
    }

    pub(crate) fn fetch_max(&self, value: u64, ordering: Ordering) -> u64 {
        pause();
        self.0.fetch_max(value, ordering)
    }
}
