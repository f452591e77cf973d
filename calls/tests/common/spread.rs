//! A macro for a function with tokens of two files.

macro_rules! spread {
    ($name:ident $body:block) => {
        #[calls::traced]
        fn $name() $body
    };
}
