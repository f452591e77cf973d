//! Debug information about our symbols: their types, as a DWARF unit written by hand.
//!
//! ```text
//!  unit "telemetry", C ─┬─ long EventKindControl, void *EventLast[64]          by location
//!                       └─ long (*EventDump)(int), …                          by value: an address
//! ```
//!
//! The compiler describes a symbol under the path of its module. A debugger in Rust mode finds
//! `EventDump` by no other name; in C mode it finds the symbol, but no type. So these are static
//! variables of a unit of C. gdb finds them by their plain names in any language, even in a program
//! without debug information. Functions are variables whose value is an address, so the code stays
//! the compiler's own. Sections are `unique`: the compiler's contents must begin at the beginning
//! of their own.
//!
//! The unit serves users without the commands of gdb (`.debug.commands`), which need Python and
//! `eventcnv`: those of a gdb without Python, and of a machine that has the program alone.
//!
//! Data are hidden: otherwise, where two libraries of a process have the runtime, the second would
//! use the root and the mask of the first. Design: `.debug` in `design/telemetry.md`.
#![cfg_attr(
    all(target_os = "linux", target_pointer_width = "64", not(miri)),
    expect(unsafe_code, reason = "assembly with data only, and a symbol in it")
)]

/// Makes the linker keep the unit, by a symbol in it.
pub(super) fn keep() {
    #[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
    core::hint::black_box(&raw const telemetry_debug_unit);
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
unsafe extern "C" {
    /// A byte next to the unit.
    static telemetry_debug_unit: u8;
}

/// The type of a function with these parameters, which returns a long, and the pointer to it.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
macro_rules! function_type {
    ($name:literal $(, $parameter:literal)*) => {
        concat!(
            ".Ltelemetry_", $name, ": .byte 7\n",
            ".4byte .Ltelemetry_long - .Ltelemetry_unit\n",
            $(".byte 8\n.4byte .Ltelemetry_", $parameter, " - .Ltelemetry_unit\n",)*
            ".byte 0\n",
            ".Ltelemetry_to_", $name, ": .byte 4, 8\n",
            ".4byte .Ltelemetry_", $name, " - .Ltelemetry_unit",
        )
    };
}

/// A variable of this name and type. Its location is DW_OP_addr with the address of the symbol, as
/// the place of the variable, or, before DW_OP_stack_value, as its value.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
macro_rules! variable {
    ($name:literal, $type:literal, $location:literal, $end:literal) => {
        concat!(
            ".byte 9\n.asciz \"",
            $name,
            "\"\n",
            ".4byte .Ltelemetry_",
            $type,
            " - .Ltelemetry_unit\n",
            $location,
            "\n.8byte ",
            $name,
            "\n",
            $end,
        )
    };
}

// Abbreviations: code, tag, whether it has children, then pairs of attribute and form.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
core::arch::global_asm!(
    ".pushsection .rodata.telemetry_debug_unit,\"a\",@progbits",
    ".globl telemetry_debug_unit",
    ".hidden telemetry_debug_unit",
    "telemetry_debug_unit: .byte 0",
    ".hidden EventRoot",
    ".hidden EventKindControl",
    ".hidden EventLast",
    ".popsection",
    ".pushsection .debug_abbrev,\"\",@progbits,unique,4711",
    ".Ltelemetry_abbrev:",
    // 1: unit, with children: language, name.
    ".byte 1, 0x11, 1,  0x13, 0x0B,  0x03, 0x08,  0, 0",
    // 2: base type: name, encoding, size.
    ".byte 2, 0x24, 0,  0x03, 0x08,  0x3E, 0x0B,  0x0B, 0x0B,  0, 0",
    // 3: pointer to void: size.
    ".byte 3, 0x0F, 0,  0x0B, 0x0B,  0, 0",
    // 4: pointer: size, to what.
    ".byte 4, 0x0F, 0,  0x0B, 0x0B,  0x49, 0x13,  0, 0",
    // 5: array, with children: of what.
    ".byte 5, 0x01, 1,  0x49, 0x13,  0, 0",
    // 6: its range: count.
    ".byte 6, 0x21, 0,  0x37, 0x0B,  0, 0",
    // 7: function type, with children: prototyped, result.
    ".byte 7, 0x15, 1,  0x27, 0x19,  0x49, 0x13,  0, 0",
    // 8: its parameter: type.
    ".byte 8, 0x05, 0,  0x49, 0x13,  0, 0",
    // 9: variable: name, type, location.
    ".byte 9, 0x34, 0,  0x03, 0x08,  0x49, 0x13,  0x02, 0x18,  0, 0",
    ".byte 0",
    ".popsection",
    ".pushsection .debug_info,\"\",@progbits,unique,4711",
    ".Ltelemetry_unit:",
    ".4byte .Ltelemetry_unit_end - .Ltelemetry_unit_begin",
    ".Ltelemetry_unit_begin:",
    // Version 4; abbreviations; addresses of 8 bytes.
    ".2byte 4",
    ".4byte .Ltelemetry_abbrev",
    ".byte 8",
    // C99.
    ".byte 1, 0x0C",
    ".asciz \"telemetry\"",
    ".Ltelemetry_int: .byte 2",
    ".asciz \"int\"",
    ".byte 5, 4",
    ".Ltelemetry_long: .byte 2",
    ".asciz \"long\"",
    ".byte 5, 8",
    ".Ltelemetry_mask: .byte 2",
    ".asciz \"unsigned long\"",
    ".byte 7, 8",
    ".Ltelemetry_void: .byte 3, 8",
    ".Ltelemetry_last: .byte 5",
    ".4byte .Ltelemetry_void - .Ltelemetry_unit",
    ".byte 6, 64, 0",
    function_type!("dump", "int"),
    function_type!("describe", "void", "int"),
    function_type!("flush"),
    variable!("EventKindControl", "mask", ".byte 9, 3", ""),
    variable!("EventLast", "last", ".byte 9, 3", ""),
    variable!("EventDump", "to_dump", ".byte 10, 3", ".byte 0x9F"),
    variable!("EventDescribe", "to_describe", ".byte 10, 3", ".byte 0x9F"),
    variable!("EventFlush", "to_flush", ".byte 10, 3", ".byte 0x9F"),
    ".byte 0",
    ".Ltelemetry_unit_end:",
    ".popsection",
);
