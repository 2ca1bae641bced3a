//! What a backend keeps for itself from call to call.

/// A static that one thread uses.
pub(crate) struct Own<T>(pub(crate) T);

// SAFETY: only a backend's main thread calls into this library.
unsafe impl<T> Sync for Own<T> {}
