//! Sections of the linker: all statics of one type in this program or shared library.
//!
//! ```text
//!  __collected!(sites static …) in any crate ─ linker ─▶ one array ─▶ Section::Sites.all()
//! ```
//!
//! The number in a section's name is the version of the type's layout, so that two versions of this
//! crate can be in one program. Design: `.calls.site` in `design/calls.md`.
#![expect(unsafe_code, reason = "sections of the linker")]

/// Puts a static into a section: `sites` has those of the type `Site`, `statements` those of the
/// type `Statements`. The program that a static is in does not know `has_sections`.
#[cfg(has_sections)]
#[doc(hidden)]
#[macro_export]
macro_rules! __collected {
    (sites $item:item) => {
        #[used]
        #[unsafe(link_section = "telemetry_sites_3")]
        $item
    };
    (statements $item:item) => {
        #[used]
        #[unsafe(link_section = "telemetry_statements_2")]
        $item
    };
}

#[cfg(not(has_sections))]
#[doc(hidden)]
#[macro_export]
macro_rules! __collected {
    ($section:ident $item:item) => {
        $item
    };
}

/// The sections.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    Sites,
    Statements,
}

#[cfg(has_sections)]
impl Section {
    /// Returns the statics that the linker of this program or shared library found.
    ///
    /// # Safety
    ///
    /// S1: `__collected!` puts statics of the type `T` alone into the section, whose size is a
    /// multiple of their alignment.
    pub(crate) unsafe fn all<T: Sync>(self) -> &'static [T] {
        // A linker takes those parts of a static library alone that other parts refer to. So this
        // code refers to an item of each section, and no program has the code without the section.
        __collected! { sites static NO_SITES: [u128; 0] = []; }
        __collected! { statements static NO_STATEMENTS: [u128; 0] = []; }

        // SAFETY: the linker defines these symbols, at the ends of sections that exist. Only their
        // addresses are used.
        unsafe extern "C" {
            #[link_name = "__start_telemetry_sites_3"]
            static SITES: u8;
            #[link_name = "__stop_telemetry_sites_3"]
            static SITES_END: u8;
            #[link_name = "__start_telemetry_statements_2"]
            static STATEMENTS: u8;
            #[link_name = "__stop_telemetry_statements_2"]
            static STATEMENTS_END: u8;
        }
        core::hint::black_box((&NO_SITES, &NO_STATEMENTS));
        let (start, end) = match self {
            Section::Sites => (&raw const SITES, &raw const SITES_END),
            Section::Statements => (&raw const STATEMENTS, &raw const STATEMENTS_END),
        };
        // SAFETY: S1: the section is an array of statics, which are shared.
        unsafe { between(start, end) }
    }
}

/// Returns the values between two addresses.
///
/// # Safety
///
/// Shared values of the type `T` alone are between them, for ever.
#[cfg(any(has_sections, test))]
unsafe fn between<T: Sync>(start: *const u8, end: *const u8) -> &'static [T] {
    // The compiler may not conclude that the section is as small as the symbol at its start.
    let start = core::hint::black_box(start.cast::<T>());
    let size = end.addr() - start.addr();
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(start, size / size_of::<T>()) }
}

#[cfg(not(has_sections))]
impl Section {
    /// Returns nothing: the linker has no sections that a program finds by their names.
    ///
    /// # Safety
    ///
    /// As elsewhere.
    pub(crate) unsafe fn all<T: Sync>(self) -> &'static [T] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_section_has_all_its_values() {
        static VALUES: [[u64; 6]; 5] = [[7; 6], [8; 6], [9; 6], [10; 6], [11; 6]];
        for count in 0..=VALUES.len() {
            let range = VALUES[..count].as_ptr_range();
            // SAFETY: values of one static array.
            let found = unsafe { between::<[u64; 6]>(range.start.cast(), range.end.cast()) };
            assert_eq!(found, &VALUES[..count]);
        }
    }
}
