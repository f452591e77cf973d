//! The attribute on a naked function.
//~ #[traced]: a naked function cannot be recorded, since its body is assembly alone
#[calls::traced]
#[unsafe(naked)]
extern "C" fn nothing() {
    std::arch::naked_asm!("ret")
}

fn main() {
    nothing();
}
