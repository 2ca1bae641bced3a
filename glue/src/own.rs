//! What a backend keeps for itself from call to call.

use std::ops::Deref;

/// A static that one thread uses.
pub struct Own<T>(T);

// SAFETY: by the contract of `new`.
unsafe impl<T> Sync for Own<T> {}

impl<T> Own<T> {
    /// For a static of an extension.
    ///
    /// # Safety
    /// One thread uses it: the one that runs SQL, the only one of a backend that calls into its extensions.
    pub const unsafe fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
