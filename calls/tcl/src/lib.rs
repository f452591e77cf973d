//! Records the calls of a Tcl program's procedures: the package `turtles` for Tcl 8.6 and 9.
//!
//! ```tcl
//! package require turtles
//! ::turtles::release_the_turtles ::argv
//! # procedures that are defined from here on are recorded
//! ::turtles::capture_the_turtles
//! ```
//!
//! ```text
//!  tclsh ─ each command ─▶ tcl ─▶ commands: a procedure? ─▶ calls::Function ─▶ turtles-PID.log
//!                           └ its end ─▶ the call's end                          │ eventcnv follow
//!                                                                        turtles-PID.db
//! ```
//!
//! Design: `.calls.tcl` in `design/calls.md`.

mod commands;
mod follower;
mod package;
mod places;
mod recording;
mod script;
mod statements;
mod system;
mod tcl;
