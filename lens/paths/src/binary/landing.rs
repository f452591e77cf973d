//! Landing pads: where a function goes on when one of its callees throws.
//!
//! ```text
//!  table of a function: base of pads │ types │ call sites: start, size, pad, action ─▶ pads
//! ```
//!
//! The form is that of `.gcc_except_table`, which g++, clang and rustc write. No byte is trusted.

use gimli::{EndianSlice, LittleEndian, Reader};

/// The encoding of a field that is left out.
const OMITTED: u8 = 0xff;
/// A field that counts from its own address.
const RELATIVE: u8 = 0x10;
const KIND: u8 = 0x0f;

type Bytes<'b> = EndianSlice<'b, LittleEndian>;

/// Returns the landing pads of a function, from the bytes of its table, which lies at `address`.
pub(super) fn pads(table: &[u8], address: u64, function: u64) -> Vec<u64> {
    read(table, address, function).unwrap_or_default()
}

fn read(table: &[u8], address: u64, function: u64) -> gimli::Result<Vec<u64>> {
    let mut bytes = EndianSlice::new(table, LittleEndian);
    let base = match bytes.read_u8()? {
        OMITTED => function,
        encoding => {
            let own = address + (table.len() - bytes.len()) as u64;
            let from = if encoding & RELATIVE != 0 { own } else { 0 };
            from.wrapping_add(number(&mut bytes, encoding)?)
        }
    };
    if bytes.read_u8()? != OMITTED {
        bytes.read_uleb128()?;
    }
    let encoding = bytes.read_u8()?;
    let size = usize::try_from(bytes.read_uleb128()?).unwrap_or(usize::MAX);
    let mut sites = bytes.split(size.min(bytes.len()))?;
    let mut found = Vec::new();
    while !sites.is_empty() {
        number(&mut sites, encoding)?;
        number(&mut sites, encoding)?;
        let pad = number(&mut sites, encoding)?;
        sites.read_uleb128()?;
        if pad != 0 {
            found.push(base.wrapping_add(pad));
        }
    }
    Ok(found)
}

fn number(bytes: &mut Bytes<'_>, encoding: u8) -> gimli::Result<u64> {
    match encoding & KIND {
        0x1 => bytes.read_uleb128(),
        0x2 => bytes.read_u16().map(u64::from),
        0x3 => bytes.read_u32().map(u64::from),
        0x9 => bytes.read_sleb128().map(|own| own as u64),
        0xa => bytes.read_i16().map(|own| own as u64),
        0xb => bytes.read_i32().map(|own| own as u64),
        _ => bytes.read_u64(),
    }
}
