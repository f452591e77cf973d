//! Who looks at the clock around each call of the heap: somebody, or nobody.
//!
//! Design: `.rep.latency` in `design/replay.md`.

use crate::workload::OpKind;

/// Who looks at the clock around each call of the heap.
pub(crate) trait Watch {
    /// Whether there is anybody.
    const IS_THERE: bool;

    /// Before it.
    fn before(&self) -> u64;
    /// After it.
    fn after(&mut self, before: u64, kind: OpKind, size: usize);
    /// Every LIVE_STEP ops or so.
    fn rest(&mut self);
}

/// Nobody.
impl Watch for () {
    const IS_THERE: bool = false;

    #[inline(always)]
    fn before(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn after(&mut self, _: u64, _: OpKind, _: usize) {}
    #[inline(always)]
    fn rest(&mut self) {}
}
