//! The policy of a kind: what a thread does that needs a block when none is free.
//!
//! ```text
//!  no block is free ─┬─ write      writes the oldest itself (default)
//!                    ├─ overwrite  gives up the oldest
//!                    ├─ discard    discards the new event
//!                    └─ wait       waits for the writer thread, then discards
//! ```
//!
//! Read on the slow path alone. Design: `.sol.policy` in `design/telemetry.md`.

use crate::os::report::Text;
use crate::os::sys;
use crate::registry::names::{self, KindNames, Reported};
use crate::registry::registration::{self, SLOT_COUNT};
use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use eventdef::Control;

pub(crate) use crate::offered::Policy;

const POLICY_VARIABLE: &CStr = c"MPS_TELEMETRY_POLICY";
/// The longest time that a thread waits for a block.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The policy of each kind, by slot: two bits for the policy, the others for the wait in ns.
static POLICIES: [AtomicU64; SLOT_COUNT] = [const { AtomicU64::new(0) }; SLOT_COUNT];
static REPORTED: Reported = Reported::new();

impl Policy {
    fn to_bits(self) -> u64 {
        match self {
            Policy::Write => 0,
            Policy::Overwrite => 1,
            Policy::Discard => 2,
            Policy::Wait(limit) => 3 | (limit.min(WAIT_MAX).as_nanos() as u64) << 2,
        }
    }

    fn from_bits(bits: u64) -> Policy {
        match bits & 3 {
            0 => Policy::Write,
            1 => Policy::Overwrite,
            2 => Policy::Discard,
            _ => Policy::Wait(Duration::from_nanos(bits >> 2)),
        }
    }
}

pub(crate) fn of(registry: u16, kind: u8) -> Policy {
    let slot = registration::get(registry.into()).and_then(|of| of.slots_of(1 << kind).next());
    let bits = slot.and_then(|slot| POLICIES.get(slot));
    Policy::from_bits(bits.map_or(0, |bits| bits.load(Ordering::Relaxed)))
}

pub(crate) fn set(slots: impl Iterator<Item = usize>, policy: Policy) {
    for slot in slots.filter_map(|slot| POLICIES.get(slot)) {
        slot.store(policy.to_bits(), Ordering::Relaxed);
    }
}

/// Sets the policy of all kinds, except those that the environment names.
pub(crate) fn set_all(policy: Policy) {
    set(0..SLOT_COUNT, policy);
    for registered in registration::all().skip(1) {
        apply_environment(registered.control, registered.slot);
    }
}

/// Gives the kinds of a registry, whose first slot this is, the policies that the environment says.
/// Of several words for a kind the last one counts.
pub(crate) fn apply_environment(control: &'static Control, first_slot: usize) {
    sys::with_environment(POLICY_VARIABLE, |value| {
        let words = names::words(value.unwrap_or_default()).enumerate();
        for (index, word) in words.take(Reported::WORD_COUNT_MAX) {
            let report = |message: fmt::Arguments<'_>| {
                let word = Text(word);
                REPORTED.say(index, format_args!("MPS_TELEMETRY_POLICY: `{word}`: {message}"));
            };
            let Some((kind, policy)) = parse(word) else {
                report(format_args!(
                    "must be KIND=write, overwrite, discard or wait:10ms; it changes nothing"
                ));
                continue;
            };
            let Some(kinds) = names::mask(kind, control.registry) else {
                if !names::is_known(kind) {
                    let kinds = KindNames(&|_| true);
                    report(format_args!("unknown kind; known so far: {kinds}, all"));
                }
                continue;
            };
            let places = control.registry.kinds.iter().enumerate();
            let of_kind = places.filter(|(_, kind)| kinds & 1 << kind.index != 0);
            set(of_kind.map(|(place, _)| first_slot + place), policy);
        }
    });
}

/// Parses a word: `KIND=POLICY`.
fn parse(word: &[u8]) -> Option<(&[u8], Policy)> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    let (kind, policy) = (&word[..at], &word[at + 1..]);
    let policy = match policy {
        b"write" => Policy::Write,
        b"overwrite" => Policy::Overwrite,
        b"discard" => Policy::Discard,
        _ => Policy::Wait(parse_time(policy.strip_prefix(b"wait:")?)?),
    };
    (!kind.is_empty()).then_some((kind, policy))
}

/// Parses a number with a unit: ns, us, ms or s.
fn parse_time(text: &[u8]) -> Option<Duration> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit {
        b"ns" => 1,
        b"us" => 1_000,
        b"ms" => 1_000_000,
        b"s" => 1_000_000_000,
        _ => return None,
    };
    names::number(number)?.checked_mul(scale).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_its_encoding() {
        let wait = |nanoseconds| Policy::Wait(Duration::from_nanos(nanoseconds));
        for policy in [Policy::Write, Policy::Overwrite, Policy::Discard, wait(0), wait(7_000_001)]
        {
            assert_eq!(Policy::from_bits(policy.to_bits()), policy);
        }
        assert_eq!(Policy::from_bits(wait(u64::MAX).to_bits()), Policy::Wait(WAIT_MAX));
    }

    #[test]
    fn a_word_has_a_kind_and_its_policy() {
        let wait = |text: &'static [u8]| parse(text).map(|(_, policy)| policy);
        assert_eq!(parse(b"Pool=discard"), Some((&b"Pool"[..], Policy::Discard)));
        assert_eq!(parse(b"all=overwrite"), Some((&b"all"[..], Policy::Overwrite)));
        assert_eq!(wait(b"a=wait:10ms"), Some(Policy::Wait(Duration::from_millis(10))));
        assert_eq!(wait(b"a=wait:2s"), Some(Policy::Wait(Duration::from_secs(2))));
        for wrong in ["", "Pool", "=write", "a=", "a=wait", "a=wait:", "a=wait:5", "a=wait:ms"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(parse(b"a=wait:99999999999999999999s"), None);
        assert_eq!(parse(b"a=wait:9999999999999999999s"), None);
    }
}
