//! The functions whose addresses an image names: pointers may call them, and so may code outside.
//!
//! Design: `.collect.sites` in `design/collect.md`.

use super::image::Image;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::BTreeSet;

/// Returns the addresses that an instruction has, its targets apart: of code, of data, or numbers
/// that look like them.
fn addresses(one: &Instruction) -> impl Iterator<Item = u64> {
    let is_address = one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand();
    let address = is_address.then(|| one.ip_rel_memory_address());
    let is_flow = one.flow_control() != FlowControl::Next;
    let fixed = (0..one.op_count()).filter(move |_| !is_flow).filter_map(|operand| {
        let kind = one.op_kind(operand);
        let is_wide =
            matches!(kind, OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64);
        is_wide.then(|| one.immediate(operand))
    });
    address.into_iter().chain(fixed)
}

/// Returns the functions whose addresses an instruction has.
pub(super) fn by(image: &Image<'_>, one: &Instruction) -> impl Iterator<Item = u64> {
    addresses(one).filter(|at| image.extents.contains_key(at))
}

/// Returns the labels inside of functions whose addresses an instruction has.
pub(super) fn labels(image: &Image<'_>, one: &Instruction) -> impl Iterator<Item = u64> {
    let is_address = image.is_fixed || one.mnemonic() == Mnemonic::Lea;
    addresses(one).filter(move |at| is_address && image.is_label(*at))
}

/// Returns the functions that any code or data of the image names. Code outside may call them, also
/// where no path of the graph names them: handlers, constructors, what a handler registers.
pub(super) fn all(image: &Image<'_>) -> BTreeSet<u64> {
    let mut found = image.named_in_data();
    for extent in image.extents.values() {
        let code = image.code(extent.start).unwrap_or_default();
        let size = usize::try_from(extent.end - extent.start).unwrap_or(usize::MAX);
        let code = code.get(..size).unwrap_or(code);
        let mut decoder = Decoder::with_ip(64, code, extent.start, DecoderOptions::NONE);
        let mut one = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut one);
            found.extend(by(image, &one));
        }
    }
    found
}
