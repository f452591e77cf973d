//! A connection of the service: its request, and how much of the answer was sent.
//!
//! ```text
//!  reading ─ newline ─▶ performing ─▶ answering, piece by piece ─▶ draining ─▶ free
//!     └─ timeout, too long, another user ─▶ one line ──────────────────┘
//! ```
//!
//! Nothing here waits: each step goes as far as the other side allows. Design: `.control.tool` in
//! `design/telemetry.md`.

use crate::block::clock;
use crate::os::report::Line;
use crate::os::sys::{File, Held, own_user};
use crate::os::{local_sockets, pages, sockets};
use crate::service::request::{self, PIECE_SIZE_MAX};
use core::ffi::c_int;
use eventlog::control::{REQUEST_SIZE_MAX, RequestError, write_answer_end};

/// The time for a request, and for taking the answer, in ns.
const LIMIT: u64 = 1_000_000_000;

/// The size of the buffers of a connection: for the request, and for the current piece of the
/// answer.
const BYTES_SIZE: usize = REQUEST_SIZE_MAX + PIECE_SIZE_MAX;

pub(crate) struct Connection {
    pub(crate) stage: Stage,
    /// The end of this stage.
    pub(crate) deadline: u64,
    /// Mapped when the place is first used.
    bytes: Option<&'static mut [u8]>,
    /// The size of the request; the size of the piece, and how much of it was sent.
    request_size: usize,
    piece_size: usize,
    sent_size: usize,
    /// The index of the next registry to describe; `None`: the answer ends here.
    next: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Free,
    Reading,
    Answering,
    /// The answer was sent. Later input is discarded until the other side has read the answer.
    Draining,
}

/// Returns whether a user may control this process (`.control.tool.owner`): its own user, or root.
fn is_allowed(peer: Option<libc::uid_t>, own: libc::uid_t) -> bool {
    peer.is_some_and(|peer| peer == own || peer == 0)
}

/// Returns the file number of a connection; -1 if the program has taken the number.
pub(crate) fn number_of(file: &Held) -> c_int {
    file.number().unwrap_or(-1)
}

impl Connection {
    pub(crate) const NONE: Connection = Connection {
        stage: Stage::Free,
        deadline: 0,
        bytes: None,
        request_size: 0,
        piece_size: 0,
        sent_size: 0,
        next: None,
    };

    pub(crate) fn begin(&mut self, file: &Held, accepted: File) {
        file.set(Some(accepted));
        if self.bytes.is_none() {
            self.bytes = pages::map_bytes(BYTES_SIZE);
        }
        (self.request_size, self.piece_size, self.sent_size, self.next) = (0, 0, 0, None);
        self.enter(Stage::Reading);
        if self.bytes.is_none() {
            return self.close(file);
        }
        if !is_allowed(local_sockets::peer_user(number_of(file)), own_user()) {
            return self.fail(file, &"the process is another user's");
        }
        // Most clients have sent their request already.
        self.progress(file);
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.deadline = clock::monotonic() + LIMIT;
    }

    /// Goes as far as the other side allows.
    pub(crate) fn progress(&mut self, file: &Held) {
        let number = number_of(file);
        match self.stage {
            Stage::Free => {}
            Stage::Reading => self.read(file, number),
            Stage::Answering => self.answer(file, number),
            Stage::Draining => {
                let Some(bytes) = self.bytes.as_deref_mut() else { return };
                if !matches!(local_sockets::receive(number, bytes), Ok(1..) | Err(libc::EAGAIN)) {
                    self.close(file);
                }
            }
        }
    }

    fn read(&mut self, file: &Held, number: c_int) {
        let Some(bytes) = self.bytes.as_deref_mut() else { return };
        let (request, piece) = bytes.split_at_mut(REQUEST_SIZE_MAX);
        let size = match local_sockets::receive(number, &mut request[self.request_size..]) {
            Err(libc::EAGAIN) => return,
            Err(_) => return self.close(file),
            Ok(size) => size,
        };
        self.request_size += size;
        let request = &request[..self.request_size];
        let end = request.iter().position(|byte| *byte == b'\n');
        let end = match (end, size, self.request_size) {
            (Some(end), ..) => end,
            // The request is complete.
            (None, 0, 0) => return self.close(file),
            (None, 0, size) => size,
            (None, _, REQUEST_SIZE_MAX) => return self.fail(file, &RequestError::TooLong),
            _ => return,
        };
        self.request_size = end;
        let mut piece = Line::new(piece);
        self.next = request::begin(&request[..end], &mut piece);
        self.piece_size = piece.bytes().len();
        self.enter(Stage::Answering);
        self.answer(file, number);
    }

    /// Sends the answer, as much as the socket accepts.
    fn answer(&mut self, file: &Held, number: c_int) {
        let Some(bytes) = self.bytes.as_deref_mut() else { return };
        let (request, piece) = bytes.split_at_mut(REQUEST_SIZE_MAX);
        loop {
            while self.sent_size < self.piece_size {
                match sockets::send(number, &piece[self.sent_size..self.piece_size]) {
                    Ok(0) => return,
                    Ok(size) => self.sent_size += size,
                    Err(_) => return self.close(file),
                }
            }
            let Some(index) = self.next else { break };
            let mut piece = Line::new(piece);
            self.next = request::go_on(&request[..self.request_size], index, &mut piece);
            (self.piece_size, self.sent_size) = (piece.bytes().len(), 0);
        }
        local_sockets::end_sending(number);
        self.enter(Stage::Draining);
    }

    /// Answers that nothing was done, and why.
    pub(crate) fn fail(&mut self, file: &Held, why: &dyn core::fmt::Display) {
        let Some(bytes) = self.bytes.as_deref_mut() else { return };
        let mut piece = Line::new(&mut bytes[REQUEST_SIZE_MAX..]);
        // These texts fit.
        let _ = write_answer_end(&mut piece, Err(why));
        (self.piece_size, self.sent_size, self.next) = (piece.bytes().len(), 0, None);
        self.enter(Stage::Answering);
        self.answer(file, number_of(file));
    }

    pub(crate) fn close(&mut self, file: &Held) {
        file.close();
        self.stage = Stage::Free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.control.tool.owner`
    #[test]
    fn only_the_user_of_the_process_and_root_may_control_it() {
        assert!(is_allowed(Some(1000), 1000) && is_allowed(Some(0), 1000));
        assert!(!is_allowed(Some(1001), 1000) && !is_allowed(Some(1000), 0));
        assert!(!is_allowed(None, 1000), "the user is unknown");
    }
}
