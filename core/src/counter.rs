//! The processor's counter of time.

/// Where the counter is; zero where there is none.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let count;
        // SAFETY: reads a register that operating systems let programs read, as their own clocks do.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags));
        }
        count
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
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
    // The architecture says so of its generic timer.
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}
