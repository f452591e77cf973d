//! Operations of block devices.
//!
//! ```text
//!  insert ├ queue ┤ issue ├ device ┤ complete ──▶ Operation of the thread that asked
//! ```
//!
//! Design: `.waits.model` in `design/waits.md`.

use super::rows::Request;
use super::state::Building;
use super::things::{OPERATION_COUNT_MAX, Operation};
use super::{NEVER, NONE};

/// Operations of block devices that are open, at most.
const OPEN_COUNT_MAX: usize = 1 << 16;
impl Building {
    pub(super) fn insert(&mut self, at: u64, request: &Request) {
        let issuer = self.find(request.thread);
        self.open_operation(request, Operation { issuer, ..begun(request, at, NEVER) });
    }

    pub(super) fn issue(&mut self, at: u64, request: &Request) {
        if let Some(open) = self.open_operations.get_mut(&(request.device, request.sector)) {
            open.issued = open.issued.min(at);
            return;
        }
        let issuer = self.find(request.thread);
        self.open_operation(request, Operation { issuer, ..begun(request, at, at) });
    }

    fn open_operation(&mut self, request: &Request, operation: Operation) {
        let key = (request.device, request.sector);
        let open = &mut self.open_operations;
        if open.len() >= OPEN_COUNT_MAX && !open.contains_key(&key) {
            self.model.counts.left_out += 1;
            return;
        }
        open.insert(key, operation);
    }

    /// Ends an operation. Returns its index in the model; [`NONE`] if its beginning is not known.
    pub(super) fn complete(&mut self, at: u64, request: &Request) -> u32 {
        let key = (request.device, request.sector);
        let Some(mut operation) = self.open_operations.remove(&key) else { return NONE };
        if self.model.operations.len() >= OPERATION_COUNT_MAX {
            self.model.counts.left_out += 1;
            return NONE;
        }
        if operation.issued == NEVER {
            operation.issued = operation.inserted;
        }
        operation.done = at;
        let index = self.model.operations.len() as u32;
        self.model.operations.push(operation);
        if let Some(own) = self.states.get_mut(operation.issuer as usize) {
            own.done = index;
        }
        index
    }
}

fn begun(request: &Request, inserted: u64, issued: u64) -> Operation {
    let Request { device, sector, count, operation, .. } = *request;
    Operation { issuer: NONE, device, sector, count, operation, inserted, issued, done: NEVER }
}
