//! Finds out which functions of a file call the hook of `-finstrument-functions`.
//!
//! ```text
//!  function: … e8 call ─▶ stub: ff 25 jmp *slot ─▶ relocation: __cyg_profile_func_enter
//! ```
//!
//! For x86-64 only: elsewhere no function is found. Design: `.calls.instrumented.names` in
//! `design/calls.md`.

use object::NativeEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Rela, SectionHeader};

/// Linkers make one slot for calls, and one for each other use of the address.
const SLOT_COUNT_MAX: usize = 4;
/// The hook is called near the beginning of a function.
const SEARCHED_SIZE: usize = 1 << 10;

/// Where a file keeps the address of the hook.
pub(crate) struct Hook {
    /// The addresses of its slots; 0: none.
    slots: [u64; SLOT_COUNT_MAX],
}

impl Hook {
    pub(crate) const NONE: Hook = Hook { slots: [0; SLOT_COUNT_MAX] };

    /// Reads the relocations of a file.
    pub(crate) fn of(bytes: &[u8]) -> Hook {
        let mut hook = Hook::NONE;
        if cfg!(target_arch = "x86_64") {
            let _ = hook.find(bytes);
        }
        hook
    }

    fn find(&mut self, bytes: &[u8]) -> Option<()> {
        let header = FileHeader64::<NativeEndian>::parse(bytes).ok()?;
        let sections = header.sections(NativeEndian, bytes).ok()?;
        let symbols = sections.symbols(NativeEndian, bytes, elf::SHT_DYNSYM).ok()?;
        let mut room = self.slots.iter_mut();
        for section in sections.iter() {
            let Ok(Some((relocations, _))) = section.rela(NativeEndian, bytes) else { continue };
            for relocation in relocations {
                let number = relocation.symbol(NativeEndian, false);
                let symbol = number.and_then(|number| symbols.symbol(number).ok());
                let name = symbol.and_then(|it| symbols.symbol_name(NativeEndian, it).ok());
                if name == Some(b"__cyg_profile_func_enter") {
                    *room.next()? = relocation.r_offset(NativeEndian);
                }
            }
        }
        Some(())
    }

    /// Returns whether a function calls the hook. The code of its file begins at an address; the
    /// function is so far into it, and so large.
    pub(crate) fn is_called(&self, code: &[u8], begin: u64, way: usize, size: usize) -> bool {
        let function = code.get(way..).unwrap_or_default();
        let function = function.get(..size.min(SEARCHED_SIZE)).unwrap_or(function);
        function.windows(6).enumerate().any(|(at, instruction)| match *instruction {
            // A call, or a jump: to the stub.
            [0xe8 | 0xe9, a, b, c, d, _] => {
                let stub = after(way + at + 5, [a, b, c, d]);
                usize::try_from(stub).is_ok_and(|stub| self.is_stub(code, begin, stub))
            }
            // The same by way of the slot.
            [0xff, 0x15 | 0x25, a, b, c, d] => self.has(begin, after(way + at + 6, [a, b, c, d])),
            _ => false,
        })
    }

    /// Returns whether code jumps to the hook.
    fn is_stub(&self, code: &[u8], begin: u64, stub: usize) -> bool {
        const ENDBR: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
        const BND: &[u8] = &[0xf2];
        let all = code.get(stub..).unwrap_or_default();
        let rest = all.strip_prefix(ENDBR).unwrap_or(all);
        let rest = rest.strip_prefix(BND).unwrap_or(rest);
        match *rest {
            [0xff, 0x25, a, b, c, d, ..] => {
                let end = stub + (all.len() - rest.len()) + 6;
                self.has(begin, after(end, [a, b, c, d]))
            }
            _ => false,
        }
    }

    fn has(&self, begin: u64, way: i64) -> bool {
        let address = begin.wrapping_add_signed(way);
        address != 0 && self.slots.contains(&address)
    }
}

/// Returns where an instruction that ends here points to.
fn after(end: usize, distance: [u8; 4]) -> i64 {
    end as i64 + i64::from(i32::from_le_bytes(distance))
}
