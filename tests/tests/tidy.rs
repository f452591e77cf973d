//! The house rules as tests: what a reviewer would otherwise have to see.
//!
//! ```text
//!  tree.rs    the files of the repository, and code without its comments and strings
//!  walls.rs   who may depend on whom; where unsafe code may be
//!  rooms.rs   imports between the rooms of a crate
//!  sizes.rs   lines, columns, functions, macros
//!  tags.rs    what design/ says is cited in code and in a test, and the other way round
//!  phrases.rs the prose of documents, comments and messages
//!  words.rs   names, first lines, the licence, paths
//! ```
//!
//! The rules: `ARCHITECTURE.md`, Invariants; the tags: `design/format.md`, `design/telemetry/`.

mod tidy {
    pub(crate) mod phrases;
    pub(crate) mod rooms;
    pub(crate) mod sizes;
    pub(crate) mod tags;
    pub(crate) mod tree;
    pub(crate) mod walls;
    pub(crate) mod words;
}
