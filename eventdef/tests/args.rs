//! The Rust types that may stand for each sort, and their values.
#![allow(missing_docs)]

use eventdef::ToField;
use eventdef::field::{A, P};
use std::ptr::NonNull;

fn pointer(arg: impl ToField<P>) -> usize {
    arg.to_field().0
}

fn address(arg: impl ToField<A>) -> usize {
    arg.to_field().0
}

#[test]
fn every_pointer_or_reference_stands_for_its_address() {
    let mut pool = [1u16, 2];
    let expected = (&raw const pool).addr();
    assert_eq!(pointer(&pool), expected);
    assert_eq!(pointer(&mut pool), expected);
    assert_eq!(pointer(&raw const pool), expected);
    assert_eq!(pointer(&raw mut pool), expected);
    assert_eq!(pointer(NonNull::from(&pool)), expected);
    assert_eq!(pointer(Some(NonNull::from(&pool))), expected);
    assert_eq!(pointer(Some(&pool)), expected);
    assert_eq!(pointer(Some(&mut pool)), expected);
    assert_eq!(pointer(&pool[..]), expected);
    assert_eq!(pointer(P(expected)), expected);
    let object: &dyn std::fmt::Debug = &pool;
    assert_eq!(pointer(object), expected);
}

#[test]
fn a_missing_pointer_is_zero() {
    assert_eq!(pointer(None::<&u8>), 0);
    assert_eq!(pointer(None::<&mut u8>), 0);
    assert_eq!(pointer(None::<NonNull<u8>>), 0);
    assert_eq!(pointer(std::ptr::null::<u8>()), 0);
    assert_eq!(address(None::<NonNull<u8>>), 0);
    assert_eq!(address(std::ptr::null_mut::<u8>()), 0);
}

#[test]
fn an_address_may_be_a_pointer_or_a_number() {
    let mut memory = 1u8;
    let expected = (&raw const memory).addr();
    assert_eq!(address(&raw const memory), expected);
    assert_eq!(address(&raw mut memory), expected);
    assert_eq!(address(NonNull::from(&memory)), expected);
    assert_eq!(address(Some(NonNull::from(&memory))), expected);
    assert_eq!(address(expected), expected);
    assert_eq!(address(A(expected)), expected);
}

#[test]
fn numbers_keep_their_value() {
    fn word(arg: impl ToField<usize>) -> usize {
        arg.to_field()
    }
    fn unsigned(arg: impl ToField<u32>) -> u32 {
        arg.to_field()
    }
    fn double(arg: impl ToField<f64>) -> f64 {
        arg.to_field()
    }
    assert_eq!(word(u8::MAX), 255);
    assert_eq!(word(u16::MAX), 65535);
    assert_eq!(word(u32::MAX), 0xFFFF_FFFF);
    assert_eq!(word(usize::MAX), usize::MAX);
    #[cfg(target_pointer_width = "64")]
    assert_eq!(word(u64::MAX), usize::MAX);
    assert_eq!([unsigned(u8::MAX), unsigned(u16::MAX), unsigned(u32::MAX)], [255, 65535, u32::MAX]);
    assert_eq!([double(0.5f32), double(f64::MAX)], [0.5, f64::MAX]);
    assert!(ToField::<bool>::to_field(&true));
}

#[test]
fn a_string_of_any_type_stands_for_its_bytes() {
    fn string<'a>(arg: impl ToField<&'a [u8]>) -> &'a [u8] {
        arg.to_field()
    }
    assert_eq!(string("word"), b"word");
    assert_eq!(string(b"\xFF\0".as_slice()), b"\xFF\0");
    assert_eq!(string(b"array"), b"array");
    assert_eq!(string(&String::from("word")), b"word");
    assert_eq!(string(&vec![1, 2]), [1, 2]);
}
