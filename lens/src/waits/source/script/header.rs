//! The parts of a line that begins an event in the text of `perf script`.
//!
//! ```text
//!  "            perf 21447 [000]  2614.454489:    250000 sched:sched_switch: prev_comm=…"
//!   └───── name ─────┘└tid┘ └cpu┘  └── time ──┘ └period┘ └──── event ─────┘  └ payload ┘
//! ```
//!
//! Design: `.waits.script` in `design/waits.md`.

/// Bytes to which `perf script` pads a name.
const PADDED_SIZE: usize = 16;
/// Bytes of a name, at most.
const NAME_SIZE_MAX: usize = 64;
/// Bytes of a thread's name in the kernel, at most.
pub(super) const COMM_SIZE_MAX: usize = 15;

/// The number of a thread that has ended.
pub(super) const ENDED: u32 = u32::MAX;

/// The beginning of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header<'l> {
    /// The name of the thread, without the padding before it.
    pub(super) name: &'l [u8],
    /// The thread that ran.
    pub(super) thread: u32,
    /// The process, if the form prints it.
    pub(super) process: Option<u32>,
    /// The processor, if the form prints it.
    pub(super) cpu: Option<u32>,
    /// In ns.
    pub(super) time: u64,
    /// As `sched:sched_switch` or `cpu-clock`.
    pub(super) event: &'l [u8],
    /// The text after the event's name.
    pub(super) payload: &'l [u8],
}

impl Header<'_> {
    /// Reads a line. Of all names that the line may begin with, the longest counts: a name may look
    /// like the parts after it, but these have no spaces where a name would end.
    pub(super) fn parse(line: &[u8]) -> Option<Header<'_>> {
        let is_end = |end: usize| line.get(end) == Some(&b' ') && end > 0;
        let near = (1..=PADDED_SIZE).rev();
        let far = PADDED_SIZE + 1..=NAME_SIZE_MAX;
        near.chain(far).filter(|end| is_end(*end)).find_map(|end| Header::named(line, end))
    }

    fn named(line: &[u8], end: usize) -> Option<Header<'_>> {
        let (name, rest) = line.split_at_checked(end)?;
        let rest = rest.trim_ascii_start();
        // The thread has ended, and perf does not know its number any more.
        let (first, rest) = match rest.strip_prefix(b"-1") {
            Some(rest) => (u64::from(ENDED), rest),
            None => number(rest)?,
        };
        let (process, thread, rest) = match rest.strip_prefix(b"/") {
            Some(rest) => {
                let (thread, rest) = match rest.strip_prefix(b"-1") {
                    Some(rest) => (u64::from(ENDED), rest),
                    None => number(rest)?,
                };
                (Some(first), thread, rest)
            }
            None => (None, first, rest),
        };
        let rest = rest.strip_prefix(b" ")?.trim_ascii_start();
        let (cpu, rest) = match rest.strip_prefix(b"[") {
            Some(rest) => {
                let (cpu, rest) = number(rest)?;
                (Some(cpu), rest.strip_prefix(b"]")?.trim_ascii_start())
            }
            None => (None, rest),
        };
        let (time, rest) = time(rest)?;
        let rest = rest.strip_prefix(b":")?.trim_ascii_start();
        let (event, payload) = event(rest)?;
        let name = name.trim_ascii();
        let (thread, process) = (small(thread)?, process.and_then(small));
        Some(Header { name, thread, process, cpu: cpu.and_then(small), time, event, payload })
    }
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

/// Reads digits. Returns their number and the rest.
#[inline]
pub(super) fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut count) = (0u64, 0);
    for digit in bytes.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        count += 1;
    }
    (count > 0).then(|| (value, bytes.get(count..).unwrap_or_default()))
}

/// Reads seconds with 6 or 9 digits after the point. Returns ns and the rest.
fn time(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, rest) = number(bytes)?;
    let rest = rest.strip_prefix(b".")?;
    let (part, after) = number(rest)?;
    let scale = match rest.len() - after.len() {
        6 => 1000,
        9 => 1,
        _ => return None,
    };
    let time = seconds.checked_mul(1_000_000_000)?.checked_add(part.checked_mul(scale)?)?;
    Some((time, after))
}

/// Reads the name of an event, after the period that some forms print before it.
fn event(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = word(bytes);
    let (word, rest) = match word.iter().all(u8::is_ascii_digit) && !word.is_empty() {
        true => self::word(rest),
        false => (word, rest),
    };
    match word.strip_suffix(b":") {
        Some(name) if !name.is_empty() => Some((name, rest)),
        // Records of perf itself, as "PERF_RECORD_LOST lost 3".
        None if word.starts_with(b"PERF_RECORD_") => Some((word, rest)),
        _ => None,
    }
}

/// Splits bytes after their first word; the rest begins with the next word.
fn word(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b' ', bytes).unwrap_or(bytes.len());
    let (word, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    (word, rest.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Header<'_>> {
        Header::parse(line.as_bytes())
    }

    #[test]
    fn a_line_of_the_default_form_has_a_processor() {
        let line =
            "            perf 21447 [001]  2614.454489:         sched:sched_switch: prev_comm=a";
        let header = parse(line).unwrap();
        assert_eq!((header.name, header.thread, header.cpu), (&b"perf"[..], 21447, Some(1)));
        assert_eq!(header.time, 2_614_454_489_000);
        assert_eq!(
            (header.event, header.payload),
            (&b"sched:sched_switch"[..], &b"prev_comm=a"[..])
        );
    }

    #[test]
    fn a_line_of_the_short_form_has_none() {
        let header =
            parse("migration/0    18  2612.568391:   irq:irq_handler_exit: irq=3").unwrap();
        assert_eq!((header.name, header.thread, header.cpu), (&b"migration/0"[..], 18, None));
    }

    #[test]
    fn a_name_may_look_like_the_parts_after_it() {
        for name in ["x 1 2.000001: a", "7 [000] 1.0", "[x] 12", "a  b", "po ng] [1"] {
            let padded = format!("{name:>16} {:>5} [000]     1.000002: a:b: c", 7);
            let bare = format!("{name} {:>5}     1.000002: a:b: c", 7);
            for line in [padded, bare] {
                let header = parse(&line).unwrap();
                assert_eq!((header.name, header.thread), (name.as_bytes(), 7), "{line}");
                assert_eq!(header.time, 1_000_002_000);
            }
        }
    }

    #[test]
    fn digits_after_the_point_are_six_or_nine() {
        let time =
            |text: &str| parse(&format!("a 1 [000] {text}: e:f: ")).map(|header| header.time);
        assert_eq!(time("1.000000001"), Some(1_000_000_001));
        assert_eq!(time("1.000001"), Some(1_000_001_000));
        assert_eq!(time("1.0001"), None);
        assert_eq!(time("99999999999999.000001"), None, "beyond 64 bits of ns");
    }

    #[test]
    fn a_period_and_a_process_are_optional() {
        let header =
            parse("rust-lld 23973/23975 [000]  2.217010:    2000000 cpu-clock:u: ").unwrap();
        assert_eq!((header.process, header.thread), (Some(23973), 23975));
        assert_eq!(header.event, b"cpu-clock:u");
        let lost = parse("perf 1 [000]  2.217010: PERF_RECORD_LOST lost 34").unwrap();
        assert_eq!((lost.event, lost.payload), (&b"PERF_RECORD_LOST"[..], &b"lost 34"[..]));
    }

    #[test]
    fn a_thread_that_has_ended_has_no_number() {
        let header = parse(":-1    -1 [000]  5.766806143: sched:sched_switch: x").unwrap();
        assert_eq!((header.name, header.thread), (&b":-1"[..], ENDED));
        assert_eq!(parse(":-1 -1/-1 [000]  5.766806143: a:b: x").unwrap().thread, ENDED);
    }

    #[test]
    fn other_lines_begin_no_event() {
        for line in ["", " ", "# comment", "\tffff81 a+0x1 (b)", "    pi", "a 1 [0] 2.000000: b"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
