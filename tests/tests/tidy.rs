//! The rules of the repository as tests, which a reviewer would otherwise check.
//!
//! ```text
//!  tree.rs    the files of the repository, and code without its comments and strings
//!  walls.rs   the dependencies of each crate; the modules with unsafe code
//!  rooms.rs   imports between the rooms of a crate
//!  sizes.rs   lines, columns, functions, macros
//!  tags.rs    code and tests cite each tag of design/, and design/ defines each cited tag
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
