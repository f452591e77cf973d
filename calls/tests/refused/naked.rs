//! The attribute on a naked function.
//~ #[traced]: a naked function cannot be recorded, since its body is assembly alone
#![expect(unsafe_code, reason = "the attribute of a naked function")]

#[calls::traced]
#[unsafe(naked)]
extern "C" fn nothing() {
    std::arch::naked_asm!("ret")
}

fn main() {
    nothing();
}
