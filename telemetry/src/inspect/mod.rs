//! Readers of memory, while the program runs or dies: history, tracebacks, the debugger's entry
//! points. Knows every room except that of annotations.

pub(crate) mod debug;
pub(crate) mod history;
pub mod postmortem;
pub(crate) mod text;
pub(crate) mod traceback;
