//! The head of a trace.dat of version 6: one part after another.
//!
//! ```text
//!  header_page │ formats │ functions │ printk │ names │ processors │ options │ "flyrecord" │ …
//!  an option BUFFER: an instance ──▶ its "flyrecord" ──▶ the places of its pages
//! ```
//!
//! Design: `.waits.dat` in `design/waits.md`.

use super::head::{
    BUFFER, CPU_COUNT_MAX, CpuPlace, Head, OPTIONS_COUNT_MAX, TEXT_REFUSED, left_out, part,
};
use crate::waits::source::cursor::{Cursor, until_zero};
use crate::waits::source::format::ByteOrder;
use crate::waits::source::import::{ImportError, Imported, Place};
use eventlog::reader::Source;

/// Bytes before the pages, at most.
const HEAD_SIZE_MAX: u64 = 256 << 20;
/// The mark before the places of pages.
const FLYRECORD: &[u8] = b"flyrecord\0";

impl Head {
    /// Reads version 6: one part after another.
    pub(super) fn version_6(
        &mut self,
        source: &dyn Source,
        from: u64,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        let bytes = part(source, from, HEAD_SIZE_MAX)?;
        let mut instances = Vec::new();
        let mut cursor = Cursor::new(self.description.layout.machine, &bytes);
        let mut read = || -> Option<Option<&'static str>> {
            self.description.pages(&mut cursor)?;
            self.description.ftrace(&mut cursor)?;
            self.description.systems(&mut cursor)?;
            self.description.functions(&mut cursor)?;
            let size = cursor.u32()?;
            cursor.take(size as usize)?;
            let size = cursor.u64()?;
            self.names = cursor.take_u64(size)?.to_vec();
            let count = cursor.u32()?.min(CPU_COUNT_MAX);
            loop {
                match cursor.take(10)? {
                    b"options  \0" => {
                        while let id @ 1.. = cursor.u16()? {
                            let size = cursor.u32()?;
                            let data = cursor.take(size as usize)?;
                            self.options.take(id, data);
                            let mut value = Cursor::new(cursor.machine, data);
                            if id == BUFFER && instances.len() < OPTIONS_COUNT_MAX {
                                let from = value.u64()?;
                                instances.push((from, until_zero(value.rest).to_vec()));
                            }
                        }
                    }
                    FLYRECORD => break,
                    b"latency  \0" => return Some(Some("latency")),
                    _ => return None,
                }
            }
            self.cpus = places_6(&mut cursor, count)?;
            Some(None)
        };
        match read() {
            Some(None) => self.instances_6(source, instances, done),
            Some(Some(_)) => Err(ImportError::Refused(TEXT_REFUSED.into())),
            None => Err(ImportError::Refused("the head of trace.dat is cut or damaged".into())),
        }
    }

    /// Takes the places of the pages of instances: of the first that has some.
    fn instances_6(
        &mut self,
        source: &dyn Source,
        instances: Vec<(u64, Vec<u8>)>,
        done: &mut Imported,
    ) -> Result<(), ImportError> {
        for (from, name) in instances {
            if self.cpus.iter().any(|cpu| cpu.size > 0) {
                done.fault(Place::Offset(from), left_out(&name));
                continue;
            }
            let count = self.cpus.len() as u32;
            let bytes = part(source, from, FLYRECORD.len() as u64 + 16 * u64::from(count))?;
            let mut cursor = Cursor::new(self.description.layout.machine, &bytes);
            let mark = cursor.take(FLYRECORD.len()).filter(|mark| *mark == FLYRECORD);
            match mark.and_then(|_| places_6(&mut cursor, count)) {
                Some(cpus) => self.take_instance(name, Vec::new(), cpus),
                None => done.fault(Place::Offset(from), "the places of the pages are cut"),
            }
        }
        Ok(())
    }
}

/// Reads the places of the pages of version 6.
fn places_6(cursor: &mut Cursor<'_>, count: u32) -> Option<Vec<CpuPlace>> {
    let is_big_endian = cursor.machine.order == ByteOrder::Big;
    let mut cpus = Vec::new();
    for cpu in 0..count.min(CPU_COUNT_MAX) {
        let (offset, size) = (cursor.u64()?, cursor.u64()?);
        cpus.push(CpuPlace { cpu, offset, size, is_compressed: false, is_big_endian });
    }
    Some(cpus)
}
