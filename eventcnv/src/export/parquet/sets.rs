//! The data sets: which there are, and what columns they have.
//!
//! ```text
//!  event type PoolInit (P pool) ──▶ "PoolInit": time timestamp thread … pool pool_label
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use super::Failure;
use super::columns::{FIRST, Form};
use crate::export::sql::names::Taken;
use eventdef::Sort;
use eventlog::reader::{EventType, Log, Registry};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::{Type, TypePtr};
use std::collections::HashMap;
use std::sync::Arc;

/// Of the events that no registry has.
const UNKNOWN: [(&str, Form, bool); 3] =
    [("registry", Form::Int, false), ("code", Form::Int, false), ("bytes", Form::Bytes, false)];
/// Bytes of the name of a directory, at most, so that there is a file system for it.
const NAME_SIZE_MAX: usize = 200;
/// What a host is called that the log does not name.
const UNKNOWN_VALUE: &str = "unknown";

/// A data set: the events of one type.
pub(crate) struct Set {
    /// The name of its directory.
    pub(crate) name: String,
    pub(crate) schema: TypePtr,
    pub(crate) columns: Vec<(Form, bool)>,
}

/// The data sets of a log.
pub(crate) struct Sets {
    /// The first is that of unknown events.
    pub(crate) all: Vec<Set>,
    /// For each registry of the log the set of each code.
    pub(crate) codes: Vec<Vec<u32>>,
    pub(crate) with_labels: bool,
    /// Host and process, and of each set the kind, as parts of a path; of each stream the process.
    pub(crate) processes: Vec<[String; 2]>,
    pub(crate) streams: Vec<usize>,
    pub(crate) kinds: Vec<String>,
}

impl Sets {
    pub(crate) fn of(log: &Log, with_labels: bool) -> Result<Sets, Failure> {
        let mut taken = Taken::new(["unknown_events"]);
        let unknown = FIRST.into_iter().chain(UNKNOWN);
        let unknown = unknown.map(|(name, form, optional)| (name.to_owned(), form, optional));
        let all = vec![Set::new("unknown_events".to_owned(), unknown.collect())?];
        let mut processes: Vec<[String; 2]> = Vec::new();
        let mut known = HashMap::new();
        let place = |stream| {
            let process = partitions(stream);
            *known.entry(process.clone()).or_insert_with(|| {
                processes.push(process);
                processes.len() - 1
            })
        };
        let streams = log.streams().iter().map(place).collect();
        let mut sets = Sets {
            all,
            codes: Vec::new(),
            with_labels,
            processes,
            streams,
            kinds: vec![partition("")],
        };
        let mut known = HashMap::new();
        for registry in log.registries() {
            let highest = registry.event_types.last().map_or(0, |row| usize::from(row.code) + 1);
            let mut codes = vec![0; highest];
            for row in &registry.event_types {
                let params: Vec<_> = row.params.iter().map(|p| (p.sort, &*p.name)).collect();
                let key = (&*registry.name, &*row.name, registry.kind(row.kind).map(|k| &*k.name));
                let index = match known.get(&(key, params.clone())) {
                    Some(index) => *index,
                    None => sets.add(registry, row, &mut taken)?,
                };
                known.insert((key, params), index);
                codes[usize::from(row.code)] = index;
            }
            sets.codes.push(codes);
        }
        Ok(sets)
    }

    /// Makes the set of an event type.
    fn add(
        &mut self,
        registry: &Registry,
        row: &EventType,
        taken: &mut Taken,
    ) -> Result<u32, Failure> {
        let long = format!("{}_{}", registry.name, row.name);
        let name = taken.take(&[escaped(&row.name), escaped(&long)]);
        self.all.push(Set::new(name, columns(row, self.with_labels))?);
        self.kinds.push(partition(registry.kind(row.kind).map_or("", |kind| &kind.name)));
        Ok(self.all.len() as u32 - 1)
    }
}

/// Host and process of a stream, as parts of a path.
fn partitions(stream: &eventlog::reader::Stream) -> [String; 2] {
    let process = match (&*stream.program, stream.pid) {
        ("", 0) => String::new(),
        ("", pid) => pid.to_string(),
        (program, pid) => format!("{program}-{pid}"),
    };
    [partition(&stream.host), partition(&process)]
}

/// A value in the name of a directory, as Hive and its kin read it. Hive has a word for NULL, but
/// there are readers that make nothing of a column in which all is NULL.
fn partition(value: &str) -> String {
    if value.is_empty() { UNKNOWN_VALUE.to_owned() } else { escaped(value) }
}

/// A name for a directory: what is not plain is escaped, and so is what would hide it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for (index, byte) in name.bytes().enumerate() {
        match byte {
            b'.' | b'_' if index == 0 => text += &format!("%{byte:02X}"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => text.push(byte as char),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text.truncate(NAME_SIZE_MAX);
    text
}

/// The columns of an event type.
fn columns(row: &EventType, with_labels: bool) -> Vec<(String, Form, bool)> {
    let mut taken = Taken::new(FIRST.map(|(name, ..)| name));
    let mut take = |name: &str| taken.take(&[name.to_owned(), format!("{name}_")]);
    let mut columns =
        FIRST.map(|(name, form, optional)| (name.to_owned(), form, optional)).to_vec();
    let names: Vec<String> = row.params.iter().map(|param| take(&param.name)).collect();
    for (param, name) in row.params.iter().zip(names) {
        let form = match param.sort {
            Sort::P | Sort::A | Sort::W => Form::Long,
            Sort::U => Form::Int,
            Sort::D => Form::Double,
            Sort::B => Form::Bool,
            Sort::S => Form::Text,
        };
        columns.push((name.clone(), form, true));
        match param.sort {
            Sort::P | Sort::A if with_labels => {
                columns.push((take(&format!("{name}_label")), Form::Text, true));
            }
            Sort::S => columns.push((take(&format!("{name}_bytes")), Form::Bytes, true)),
            _ => {}
        }
    }
    columns
}

impl Set {
    fn new(name: String, columns: Vec<(String, Form, bool)>) -> Result<Set, Failure> {
        let mut fields = Vec::new();
        for (name, form, is_optional) in &columns {
            let (physical, logical, converted) = match form {
                Form::Long => {
                    (Physical::INT64, Some(LogicalType::integer(64, false)), ConvertedType::UINT_64)
                }
                Form::Timestamp => (
                    Physical::INT64,
                    Some(LogicalType::timestamp(true, TimeUnit::NANOS)),
                    ConvertedType::NONE,
                ),
                Form::Int => {
                    (Physical::INT32, Some(LogicalType::integer(32, false)), ConvertedType::UINT_32)
                }
                Form::Double => (Physical::DOUBLE, None, ConvertedType::NONE),
                Form::Bool => (Physical::BOOLEAN, None, ConvertedType::NONE),
                Form::Text => {
                    (Physical::BYTE_ARRAY, Some(LogicalType::String), ConvertedType::UTF8)
                }
                Form::Bytes => (Physical::BYTE_ARRAY, None, ConvertedType::NONE),
            };
            let repetition = if *is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .with_converted_type(converted)
                .build()?;
            fields.push(Arc::new(field));
        }
        let schema = Type::group_type_builder("event").with_fields(fields).build()?;
        let columns = columns.iter().map(|&(_, form, optional)| (form, optional)).collect();
        Ok(Set { name, schema: Arc::new(schema), columns })
    }
}
