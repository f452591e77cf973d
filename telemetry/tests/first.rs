//! The first event: what was decided before it holds for it too, wherever it comes.

mod common;

use common::{CONTROL, Kinds, Three, ran};
use telemetry::{control, event};

/// What is switched off before there is a registry is off for its first event.
#[test]
fn a_kind_that_is_switched_off_is_off_for_the_first_event() {
    let test = "a_kind_that_is_switched_off_is_off_for_the_first_event";
    ran(test, &[], || {
        control::reset_recorded(Kinds::Object);
        (0..3usize).for_each(|index| event!(Three, 0usize, index, index));
        assert_eq!(telemetry::losses(), telemetry::Losses::default());
        control::set_recorded(Kinds::Object);
        event!(Three, 0usize, 0usize, 0usize);
        assert_eq!(telemetry::losses_of(&CONTROL, Kinds::Object).recorded, 1);
    });
}
