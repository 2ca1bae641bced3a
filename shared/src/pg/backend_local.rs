//! State of a backend that outlives a call.

use std::ops::Deref;

/// A static that one thread uses.
pub struct BackendLocal<T>(T);

// SAFETY: one thread uses it, as the caller of `new` promises.
unsafe impl<T> Sync for BackendLocal<T> {}

impl<T> BackendLocal<T> {
    /// For a static of an extension.
    ///
    /// # Safety
    /// One thread uses it: the one that runs SQL, the only one of a backend that calls into its extensions.
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
