//! The processor's time-stamp counter.

/// The value of the counter; zero on processors without one.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn read() -> u64 {
    #[cfg(simulated)]
    return crate::simulated::counter();
    #[cfg(all(target_arch = "x86_64", not(simulated)))]
    // SAFETY: every x86-64 processor has this instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(all(target_arch = "aarch64", not(simulated)))]
    {
        let count;
        // SAFETY: reads a register that operating systems allow programs to read, for their own clock functions.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags));
        }
        count
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", simulated)))]
    0
}

#[cfg(test)]
std::thread_local! {
    /// Whether this thread is to find a counter without a constant speed.
    pub(crate) static PLAYS_UNSTEADY: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Whether the counter has a constant speed, whatever the speed of the processor.
pub(crate) fn is_steady() -> bool {
    #[cfg(test)]
    if PLAYS_UNSTEADY.get() {
        return false;
    }
    #[cfg(simulated)]
    return true;
    #[cfg(all(target_arch = "x86_64", not(simulated)))]
    {
        use core::arch::x86_64::__cpuid;
        use std::sync::OnceLock;

        // "Invariant TSC" in the manuals of AMD and Intel. In a virtual machine `cpuid` may be slow.
        const LEAF: u32 = 0x8000_0007;
        const BIT: u32 = 1 << 8;
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & BIT != 0)
    }
    // The Arm architecture guarantees it for the generic timer.
    #[cfg(not(any(target_arch = "x86_64", simulated)))]
    cfg!(target_arch = "aarch64")
}
