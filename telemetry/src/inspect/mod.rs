//! What looks into memory while the program runs or dies: history, events as text, tracebacks, the
//! debugger's entry points. Knows every room but that of annotations.

pub(crate) mod debug;
pub(crate) mod gdb;
pub(crate) mod history;
pub mod postmortem;
pub(crate) mod text;
pub(crate) mod traceback;
