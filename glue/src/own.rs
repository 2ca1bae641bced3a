//! What a backend keeps for itself from call to call.

/// A static that one thread uses: an extension's is loaded into a backend, which has one thread that runs SQL.
pub struct Own<T>(pub T);

// SAFETY: only a backend's main thread calls into this library.
unsafe impl<T> Sync for Own<T> {}
