//! A registry as bytes, so that a reader needs no program to decode the program's stream.
//!
//! ```text
//!  version · counts · masks · name · doc │ kinds … │ event types, each with its parameters …
//! ```
//!
//! Encoding: section 5.1 of `design/format.md`. `reader::stream::encoding` decodes it.

use eventdef::Registry;

/// Flag of an event type: the hot variety records it.
pub const EVENT_TYPE_ALWAYS: u8 = 1;
/// Flag of an event type: it is not recorded any more.
pub const EVENT_TYPE_RETIRED: u8 = 2;

/// Flag of an event type: its events may repeat an earlier time (`.time.coarse`).
pub const EVENT_TYPE_COARSE: u8 = 4;

/// Passes the encoding of a registry to `$put`. The registries of `eventdef` and of the reader have
/// the same fields.
macro_rules! put_registry {
    ($registry:expr, $recorded:expr, $output:expr, $put:expr) => {{
        use $crate::format::schema::put_str;
        let (registry, put) = ($registry, $put);
        let version = registry.version;
        for part in [version.major, version.median, version.minor, registry.kinds.len() as u16] {
            put(&part.to_le_bytes());
        }
        put(&(registry.event_types.len() as u32).to_le_bytes());
        let (recorded, output): (u64, u64) = ($recorded, $output);
        put(&recorded.to_le_bytes());
        put(&output.to_le_bytes());
        put_str(&registry.name, put);
        put_str(&registry.doc, put);
        for kind in registry.kinds.iter() {
            put(&[kind.index]);
            put_str(&kind.name, put);
            put_str(&kind.doc, put);
        }
        for row in registry.event_types.iter() {
            let always = if row.always { $crate::format::EVENT_TYPE_ALWAYS } else { 0 };
            let retired = if row.retired { $crate::format::EVENT_TYPE_RETIRED } else { 0 };
            let coarse = if row.coarse { $crate::format::EVENT_TYPE_COARSE } else { 0 };
            put(&row.code.to_le_bytes());
            put(&[row.kind, always | retired | coarse]);
            put(&(row.params.len() as u16).to_le_bytes());
            put_str(&row.name, put);
            put_str(&row.doc, put);
            for param in row.params.iter() {
                put(&[param.sort as u8]);
                put_str(&param.name, put);
                put_str(&param.doc, put);
            }
        }
    }};
}
#[cfg(feature = "reader")]
pub(crate) use put_registry;

/// Passes the encoding of a registry to `put`, piece by piece. Strings beyond 65535 bytes are cut.
pub fn encode_registry(
    registry: &Registry,
    recorded: u64,
    output: u64,
    put: &mut dyn FnMut(&[u8]),
) {
    put_registry!(registry, recorded, output, put);
}

/// Returns the size of the encoding in bytes.
pub fn encoded_registry_size(registry: &Registry) -> usize {
    let mut size = 0;
    encode_registry(registry, 0, 0, &mut |bytes| size += bytes.len());
    size
}

pub(crate) fn put_str(string: &str, put: &mut dyn FnMut(&[u8])) {
    let size = string.floor_char_boundary(usize::from(u16::MAX));
    put(&(size as u16).to_le_bytes());
    put(string.as_bytes().get(..size).unwrap_or_default());
}
