//! Where a user finds the `eventdef.h` of a version of the MPS.
//!
//! ```text
//!  EventInit: 1 6 1 ──▶ "code/eventdef.h at tag release-1.116.0 of github.com/Ravenbrook/mps"
//! ```
//!
//! Rule: `.mps.version` in `design/format.md`.

use eventdef::Version;
use std::fmt;

/// The telemetry versions, each with the last release of the MPS that has it.
const RELEASES: [(Version, &str); 6] = [
    (version(1, 1, 3), "release-1.111.0"),
    (version(1, 1, 6), "release-1.113.0"),
    (version(1, 4, 0), "release-1.114.0"),
    (version(1, 6, 0), "release-1.115.0"),
    (version(1, 6, 1), "release-1.117.0"),
    (version(2, 0, 0), "release-1.118.0"),
];

const fn version(major: u16, median: u16, minor: u16) -> Version {
    Version { major, median, minor }
}

/// Returns whether a registry of version `known` decodes a stream of version `found`
/// (`.mps.version`): a minor version adds event types and changes none.
pub(crate) fn is_decoded_by(found: Version, known: Version) -> bool {
    (found.major, found.median) == (known.major, known.median)
}

/// Tells the user how to read a stream of this version.
pub(crate) struct ToRead(pub(crate) Version);

impl fmt::Display for ToRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.0;
        if is_decoded_by(version, eventdef::mps::REGISTRY.version) {
            return f.write_str("leave --eventdef out: that version is known");
        }
        write!(f, "pass eventdef.h of version {version} with --eventdef: ")?;
        if let Some((_, tag)) = RELEASES.iter().find(|(known, _)| *known == version) {
            return write!(f, "code/eventdef.h at tag {tag} of github.com/Ravenbrook/mps");
        }
        let Version { major, median, minor } = version;
        write!(
            f,
            "code/eventdef.h of the MPS that it was built with, whose EVENT_VERSION_MAJOR, _MEDIAN \
             and _MINOR are {major}, {median} and {minor}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_header_of_a_version() {
        // `.mps.version`
        let of = |major, median, minor| ToRead(version(major, median, minor)).to_string();
        assert_eq!(
            of(1, 6, 1),
            "pass eventdef.h of version 1.6.1 with --eventdef: \
             code/eventdef.h at tag release-1.117.0 of github.com/Ravenbrook/mps"
        );
        assert!(of(3, 0, 7).ends_with("_MAJOR, _MEDIAN and _MINOR are 3, 0 and 7"));
        assert_eq!(of(2, 0, 3), "leave --eventdef out: that version is known");
    }
}
