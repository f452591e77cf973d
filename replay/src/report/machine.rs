//! Describes the machine: figures of two machines do not compare.
//!
//! ```text
//!  /proc/cpuinfo, cores, /proc/sys/kernel/osrelease ──▶ "AMD EPYC 7B13, 2 cores, Linux 6.1.0"
//! ```
//!
//! Design: `.rep.report` in `design/replay.md`.

use std::{env, fs, thread};

/// Returns processor, cores and operating system, as far as they are known.
pub fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = thread::available_parallelism().map_or(0, usize::from);
    described(&processors, cores, &release)
}

fn described(processors: &str, cores: usize, release: &str) -> String {
    let fields = processors.lines().filter_map(|line| line.split_once(':'));
    let mut models = fields.filter(|(name, _)| name.trim() == "model name");
    // A processor without a name is described by its architecture.
    let model = models.next().map_or(env::consts::ARCH, |(_, model)| model.trim());
    let mut parts = vec![model.to_owned()];
    match cores {
        0 => {}
        1 => parts.push("1 core".to_owned()),
        _ => parts.push(format!("{cores} cores")),
    }
    if !release.trim().is_empty() {
        parts.push(format!("Linux {}", release.trim()));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{described, machine};

    /// `.rep.report`
    #[test]
    fn a_machine_is_described_as_far_as_it_is_known() {
        let processors = "processor\t: 0\nmodel name\t: Some CPU @ 2.4GHz\nflags\t\t: fpu\n";
        assert_eq!(described(processors, 2, "6.1.0\n"), "Some CPU @ 2.4GHz, 2 cores, Linux 6.1.0");
        assert_eq!(described("", 1, ""), format!("{}, 1 core", std::env::consts::ARCH));
        assert_eq!(described("", 0, ""), std::env::consts::ARCH);
        assert!(!machine().is_empty());
    }
}
