//! Why a file has no graph.

/// A file whose control flow cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BinaryError {
    /// The bytes are not an ELF file.
    NotElf(String),
    /// The file is for another processor than x86-64.
    OtherMachine,
    /// The file has neither symbols nor frames.
    NoFunctions,
    /// The function to begin with does not exist.
    NoRoot(String),
}

impl core::fmt::Display for BinaryError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BinaryError::NotElf(cause) => write!(f, "not an ELF file ({cause})"),
            BinaryError::OtherMachine => write!(f, "not a program for x86-64"),
            BinaryError::NoFunctions => {
                write!(f, "neither symbols nor .eh_frame tell where its functions begin")
            }
            BinaryError::NoRoot(name) => write!(f, "function {name} not found"),
        }
    }
}

impl core::error::Error for BinaryError {}
