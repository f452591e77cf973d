//! The text that describes the fields of a tracepoint, and values by their fields.
//!
//! ```text
//!  field:pid_t prev_pid;  offset:24;  size:4;  signed:1;
//!        └type┘└─name─┘         │        │       │
//!  record: 00 … [24] 2a 00 00 00 … ── value ──▶ 42
//! ```
//!
//! The text comes from a file of somebody else: offsets, sizes and numbers are checked here, and
//! each access is checked against its record.
//!
//! Design: `.waits.page` in `design/waits.md`.

use thiserror::Error;

/// Bytes of the text of a format, at most.
pub const TEXT_SIZE_MAX: usize = 1 << 20;
/// Fields of a format, at most.
pub const FIELD_COUNT_MAX: usize = 256;
/// Bytes of a record, at most: what the kernel keeps of one event.
pub const RECORD_SIZE_MAX: u32 = 1 << 16;
/// Bytes of a line that an error repeats.
const SHOWN_SIZE_MAX: usize = 120;

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// The kernel that wrote the records: the order and the size of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The order of bytes.
    pub order: ByteOrder,
    /// Bytes of an `unsigned long`: 4 or 8.
    pub word_size: u8,
}

impl Machine {
    /// The kernel on which this program runs, if the two have words of one size.
    pub const HERE: Machine = Machine {
        order: if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little },
        word_size: size_of::<usize>() as u8,
    };

    /// Returns the unsigned number in these bytes: 1, 2, 4 or 8 of them.
    #[inline]
    pub fn number(self, bytes: &[u8]) -> Option<u64> {
        let is_little = self.order == ByteOrder::Little;
        Some(match bytes.len() {
            1 => u64::from(*bytes.first()?),
            2 => {
                let bytes = bytes.try_into().ok()?;
                u64::from(if is_little {
                    u16::from_le_bytes(bytes)
                } else {
                    u16::from_be_bytes(bytes)
                })
            }
            4 => {
                let bytes = bytes.try_into().ok()?;
                u64::from(if is_little {
                    u32::from_le_bytes(bytes)
                } else {
                    u32::from_be_bytes(bytes)
                })
            }
            8 => {
                let bytes = bytes.try_into().ok()?;
                if is_little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
            }
            _ => return None,
        })
    }
}

/// Why the text of a format has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the documentation of a variant tells its fields")]
pub enum FormatError {
    /// The text is too long.
    #[error("the format has {size} bytes; at most {TEXT_SIZE_MAX} are read")]
    Size { size: usize },
    /// A line lacks a part, or has a number that is none.
    #[error(
        "the line {line:?} does not describe a field; expected \"field:TYPE NAME; offset:N; \
         size:N; signed:N;\""
    )]
    Line { line: String },
    /// A field lies outside of each record.
    #[error(
        "the field {name:?} has offset {offset} and size {size}; a record has at most \
         {RECORD_SIZE_MAX} bytes"
    )]
    Place { name: String, offset: u64, size: u64 },
    /// The format has too many fields.
    #[error("the format has more than {FIELD_COUNT_MAX} fields")]
    Fields,
    /// The format lacks a line.
    #[error("the format lacks {what}")]
    Lacks { what: &'static str },
}

/// How the value of a field is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the field itself.
    Own,
    /// The field has the offset of the value in the record, and its size (`__data_loc`).
    DataLoc,
    /// The field has the offset of the value from the field's end, and its size (`__rel_loc`).
    RelLoc,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without the bounds of an array.
    pub name: Box<str>,
    /// Where its bytes are.
    pub slot: Slot,
}

/// Where the bytes of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The offset in a record, in bytes.
    pub offset: u32,
    /// The size in bytes. 0: to the end of the record.
    pub size: u32,
    /// The elements of an array; 1 of another field. At least 1.
    pub count: u32,
    /// Whether numbers in it are signed.
    pub is_signed: bool,
    /// How the value is found.
    pub place: Place,
}

impl Slot {
    /// Returns the bytes of the field itself.
    #[inline]
    pub fn bytes<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let rest = record.get(self.offset as usize..)?;
        if self.size == 0 { Some(rest) } else { rest.get(..self.size as usize) }
    }

    /// Returns the number in the field, its sign extended to 64 bits if it is signed.
    #[inline]
    pub fn number(&self, machine: Machine, record: &[u8]) -> Option<u64> {
        Some(self.extend(machine.number(self.bytes(record)?)?, self.size))
    }

    /// Returns the number in the field, cut to 32 bits: identifiers of threads, of processors.
    #[inline]
    pub fn number_u32(&self, machine: Machine, record: &[u8]) -> Option<u32> {
        Some(self.number(machine, record)? as u32)
    }

    /// Returns an element of an array of numbers.
    pub fn element(&self, machine: Machine, record: &[u8], index: u32) -> Option<u64> {
        let size = self.size / self.count.max(1);
        let from = index.checked_mul(size).filter(|_| index < self.count)? as usize;
        let bytes = self.bytes(record)?.get(from..)?.get(..size as usize)?;
        Some(self.extend(machine.number(bytes)?, size))
    }

    /// Returns where an element of an array is.
    pub fn at(&self, index: u32) -> Option<Slot> {
        let size = self.size / self.count.max(1);
        let from = index.checked_mul(size).filter(|_| index < self.count)?;
        Some(Slot { offset: self.offset.checked_add(from)?, size, count: 1, ..*self })
    }

    /// Returns the string of the field, up to its first zero byte.
    pub fn string<'r>(&self, machine: Machine, record: &'r [u8]) -> Option<&'r [u8]> {
        let bytes = self.value(machine, record)?;
        Some(bytes.split(|byte| *byte == 0).next().unwrap_or(bytes))
    }

    /// Returns the bytes of the value, which the field holds or refers to.
    pub fn value<'r>(&self, machine: Machine, record: &'r [u8]) -> Option<&'r [u8]> {
        let bytes = self.bytes(record)?;
        let base = match self.place {
            Place::Own => return Some(bytes),
            Place::DataLoc => 0,
            Place::RelLoc => self.offset as usize + self.size as usize,
        };
        let location = machine.number(bytes)?;
        let (offset, size) = (location as usize & 0xFFFF, (location >> 16) as usize & 0xFFFF);
        record.get(base.checked_add(offset)?..)?.get(..size)
    }

    #[inline]
    fn extend(&self, number: u64, size: u32) -> u64 {
        match size {
            1 | 2 | 4 if self.is_signed => {
                let unused = 64 - 8 * size;
                (((number << unused) as i64) >> unused) as u64
            }
            _ => number,
        }
    }
}

/// The format of the records of a tracepoint.
///
/// ```
/// use lens::waits::source::format::{Format, Machine, ByteOrder};
///
/// let text = "name: sched_wakeup\nID: 374\nformat:\n\
///             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
///             \tfield:pid_t pid;\toffset:4;\tsize:4;\tsigned:1;\n";
/// let format = Format::parse("sched", text)?;
/// let machine = Machine { order: ByteOrder::Little, word_size: 8 };
/// let record = [0x76, 1, 0, 0, 42, 0, 0, 0];
/// let pid = format.slot("pid").and_then(|pid| pid.number(machine, &record));
/// assert_eq!((format.id, pid), (374, Some(42)));
/// # Ok::<(), lens::waits::source::format::FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number of the tracepoint in its kernel: the first two bytes of each record.
    pub id: u16,
    /// The group of the tracepoint, as `sched`.
    pub system: Box<str>,
    /// The name of the tracepoint, as `sched_switch`.
    pub name: Box<str>,
    /// The fields, with those that all tracepoints have.
    pub fields: Vec<Field>,
    /// How the kernel prints a record: C code.
    pub print: Box<str>,
}

impl Format {
    /// Reads the text of a file `events/SYSTEM/NAME/format`.
    ///
    /// # Errors
    ///
    /// Fails if the text is too long, lacks its name or number, or has a field that lies outside of
    /// each record.
    pub fn parse(system: &str, text: &str) -> Result<Format, FormatError> {
        if text.len() > TEXT_SIZE_MAX {
            return Err(FormatError::Size { size: text.len() });
        }
        let after = |mark: &str| text.lines().find_map(|line| line.strip_prefix(mark));
        let name = after("name:").map(str::trim).filter(|name| !name.is_empty());
        let id = after("ID:").and_then(|id| id.trim().parse().ok());
        Ok(Format {
            id: id.ok_or(FormatError::Lacks { what: "its line \"ID: NUMBER\"" })?,
            system: system.into(),
            name: name.ok_or(FormatError::Lacks { what: "its line \"name: NAME\"" })?.into(),
            fields: fields(text)?,
            print: after("print fmt:").unwrap_or_default().trim().into(),
        })
    }

    /// Returns where a field of this name is.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.fields.iter().find(|field| *field.name == *name).map(|field| field.slot)
    }
}

/// Reads the lines of fields in a text: a format, or `header_page`.
///
/// # Errors
///
/// Fails as [`Format::parse`] does.
pub fn fields(text: &str) -> Result<Vec<Field>, FormatError> {
    if text.len() > TEXT_SIZE_MAX {
        return Err(FormatError::Size { size: text.len() });
    }
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let declaration =
            line.strip_prefix("field:").or_else(|| line.strip_prefix("field special:"));
        let Some(declaration) = declaration else { continue };
        if found.len() >= FIELD_COUNT_MAX {
            return Err(FormatError::Fields);
        }
        found.push(field(line, declaration)?);
    }
    Ok(found)
}

fn field(line: &str, text: &str) -> Result<Field, FormatError> {
    let wrong = || {
        let end = line.floor_char_boundary(SHOWN_SIZE_MAX);
        FormatError::Line { line: line.get(..end).unwrap_or_default().to_owned() }
    };
    let (declaration, rest) = text.split_once(';').ok_or_else(wrong)?;
    let part = |mark: &str| {
        let mut parts = rest.split(';').map(str::trim);
        parts.find_map(|part| part.strip_prefix(mark)).and_then(|n| n.trim().parse::<u64>().ok())
    };
    let offset = part("offset:").ok_or_else(wrong)?;
    let size = part("size:").ok_or_else(wrong)?;
    // Kernels before 2.6.30 do not tell it.
    let is_signed = part("signed:").is_some_and(|signed| signed != 0);
    let declaration = declaration.trim();
    let place = match declaration {
        kind if kind.starts_with("__data_loc") => Place::DataLoc,
        kind if kind.starts_with("__rel_loc") => Place::RelLoc,
        _ => Place::Own,
    };
    let (declaration, bounds) = match declaration.split_once('[') {
        Some((declaration, bounds)) if place == Place::Own => (declaration, Some(bounds)),
        _ => (declaration, None),
    };
    let (kind, name) = declaration.rsplit_once([' ', '\t', ']']).ok_or_else(wrong)?;
    let name = name.trim_start_matches('*');
    if name.is_empty() {
        return Err(wrong());
    }
    let end = offset.checked_add(size).filter(|end| *end <= u64::from(RECORD_SIZE_MAX));
    if end.is_none() {
        return Err(FormatError::Place { name: name.chars().take(64).collect(), offset, size });
    }
    let bound = bounds.and_then(|bounds| bounds.split_once(']')).map(|(bound, _)| bound.trim());
    let count = bound.map_or(1, |bound| array_count(kind, bound, size as u32));
    let slot = Slot { offset: offset as u32, size: size as u32, count, is_signed, place };
    Ok(Field { name: name.into(), slot })
}

/// Returns the number of elements of an array of `size` bytes: the bound, or what fits if the bound
/// is a name.
fn array_count(kind: &str, bound: &str, size: u32) -> u32 {
    let count = bound.parse::<u32>().ok().filter(|count| *count > 0 && size.is_multiple_of(*count));
    let is_bytes = kind.contains("char") || kind.contains("u8");
    count.unwrap_or(if is_bytes { size } else { 1 }).max(1)
}
