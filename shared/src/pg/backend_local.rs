//! State of a backend that outlives a call.

use std::ops::Deref;

/// A static that one thread uses.
pub struct BackendLocal<T>(T);

// SAFETY: one thread uses it, as the caller of `new` promises.
unsafe impl<T> Sync for BackendLocal<T> {}

impl<T> BackendLocal<T> {
    /// A value for a static of an extension.
    ///
    /// # Safety
    /// Only the thread that runs SQL uses the value: no other thread of a backend calls into extensions.
    pub const unsafe fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for BackendLocal<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
