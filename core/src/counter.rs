//! The processor's counter of time.

/// Where the counter is; zero where there is none.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Whether it runs at one speed, whatever the processor is at.
pub(crate) fn is_steady() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        use std::sync::OnceLock;

        // "Invariant TSC" in the manuals of AMD and Intel. A virtual machine may take long to answer.
        const LEAF: u32 = 0x8000_0007;
        const BIT: u32 = 1 << 8;
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & BIT != 0)
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
