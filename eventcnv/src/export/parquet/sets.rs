//! The data sets of a log, and their columns.
//!
//! ```text
//!  event type PoolInit (P pool) ──▶ "PoolInit": time timestamp thread … pool pool_label
//! ```
//!
//! Design: `.cnv.parquet` in `design/eventcnv.md`.

use crate::export::parquet::Failure;
use crate::export::parquet::row::{COUNTER, FIRST, Form, SLICE};
use crate::open::input::threads;
use crate::text::names::{PARAM_COUNT_MAX, Taken, clipped, note_of_cut};
use eventdef::Sort;
use eventlog::reader::{EventType, Log, Registry, Stream};
use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical,
    ZstdLevel,
};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesPtr, WriterVersion,
};
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of events of unknown type.
const UNKNOWN: [(&str, Form, bool); 3] =
    [("registry", Form::Int, false), ("code", Form::Int, false), ("bytes", Form::Bytes, false)];
/// Bytes of the name of a directory, at most: file systems allow 255.
const NAME_SIZE_MAX: usize = 200;
const UNKNOWN_VALUE: &str = "unknown";

/// The partitions of a data set: readers add a column for each.
pub(super) const PARTITIONS: [&str; 3] = ["host", "process", "kind"];
/// Further names of columns that readers add: DuckDB by its options, pyarrow always.
const ADDED: [&str; 6] = [
    "filename",
    "file_row_number",
    "__filename",
    "__fragment_index",
    "__batch_index",
    "__last_in_fragment",
];

/// The indices of the sets of unknown events, of slices and of changes of counters.
pub(crate) const UNKNOWN_SET: usize = 0;
pub(crate) const SLICES: usize = 1;
pub(crate) const COUNTERS: usize = 2;

/// A data set: the events of one type.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) schema: SchemaDescriptor,
    pub(crate) properties: WriterPropertiesPtr,
    pub(crate) columns: Vec<(Form, bool)>,
    /// The number of parameters, if not all have columns.
    cut: Option<usize>,
}

/// The data sets of a log.
pub(crate) struct Sets {
    /// The first ones are those of unknown events, of slices and of changes of counters.
    pub(crate) all: Vec<Set>,
    /// The set of each code, for each registry of the log.
    pub(crate) codes: Vec<Vec<u32>>,
    pub(crate) with_labels: bool,
    /// Host and process as parts of a path; the process of each stream; the kind of each set.
    pub(crate) processes: Vec<[String; 2]>,
    pub(crate) streams: Vec<usize>,
    pub(crate) kinds: Vec<String>,
    /// The names of threads, by stream and index.
    pub(crate) threads: HashMap<(u32, u32), String>,
}

impl Sets {
    /// Returns the data sets of a log; `file` returns the file of a stream.
    pub(crate) fn new<'l>(
        log: &'l Log,
        with_labels: bool,
        file: impl Fn(&Stream) -> &'l str,
    ) -> Result<Sets, Failure> {
        let names = ["unknown_events", "slices", "counters"];
        let mut taken = Taken::new(names);
        let mut all = Vec::new();
        for (name, columns) in names.into_iter().zip([&UNKNOWN[..], &SLICE, &COUNTER]) {
            let columns = FIRST.iter().chain(columns);
            let columns = columns.map(|&(name, form, optional)| (name.to_owned(), form, optional));
            all.push(Set::new(name.to_owned(), columns.collect())?);
        }
        let mut processes: Vec<[String; 2]> = Vec::new();
        let mut known = HashMap::new();
        // Streams without a process, by file.
        let nameless = log.streams().iter().filter(|stream| process_of(stream).is_empty());
        let mut runs: HashMap<&str, (usize, usize)> = HashMap::new();
        nameless.for_each(|stream| runs.entry(file(stream)).or_default().0 += 1);
        let place = |stream: &Stream| {
            let process = [
                partition(&stream.host),
                match &*process_of(stream) {
                    "" => run_of(file(stream), &mut runs),
                    process => partition(process),
                },
            ];
            *known.entry(process.clone()).or_insert_with(|| {
                processes.push(process);
                processes.len() - 1
            })
        };
        let streams = log.streams().iter().map(place).collect();
        let mut sets = Sets {
            codes: Vec::new(),
            with_labels,
            processes,
            streams,
            kinds: vec![partition(""); all.len()],
            all,
            threads: HashMap::new(),
        };
        for thread in threads::recorded(log).into_iter().filter(|thread| !thread.name.is_empty()) {
            if let Ok(index) = u32::try_from(thread.index) {
                sets.threads.insert((thread.stream.into(), index), thread.name);
            }
        }
        let mut known = HashMap::new();
        for registry in log.registries() {
            let highest = registry.event_types.last().map_or(0, |row| usize::from(row.code) + 1);
            let mut codes = vec![UNKNOWN_SET as u32; highest];
            for row in &registry.event_types {
                let params: Vec<_> = row.params.iter().map(|p| (p.sort, &*p.name)).collect();
                let kind = registry.kind(row.kind).map(|kind| clipped(&kind.name));
                let key = (clipped(&registry.name), &*row.name, kind);
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

    fn add(
        &mut self,
        registry: &Registry,
        row: &EventType,
        taken: &mut Taken,
    ) -> Result<u32, Failure> {
        let long = escaped(&format!("{}_{}", clipped(&registry.name), clipped(&row.name)));
        let name = taken.take([&*escaped(&row.name), &long]);
        let set = Set::new(name, columns(row, self.with_labels))?;
        let cut = Some(row.params.len()).filter(|&count| count > PARAM_COUNT_MAX);
        self.all.push(Set { cut, ..set });
        self.kinds.push(partition(registry.kind(row.kind).map_or("", |kind| &kind.name)));
        Ok(self.all.len() as u32 - 1)
    }

    /// Returns a note about sets that lack columns for some parameters.
    pub(crate) fn note(&self) -> Option<String> {
        note_of_cut(self.all.iter().filter_map(|set| Some((&*set.name, set.cut?))))
    }
}

/// Returns program and process number of a stream, as far as the stream states them.
fn process_of(stream: &Stream) -> String {
    match (&*stream.program, stream.pid) {
        ("", 0) => String::new(),
        ("", pid) => pid.to_string(),
        (program, pid) => format!("{program}-{pid}"),
    }
}

/// Returns the name of a stream without a process: its file, and the number of the run if the file
/// has several.
fn run_of<'l>(file: &'l str, runs: &mut HashMap<&'l str, (usize, usize)>) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    let (count, next) = runs.entry(file).or_default();
    *next += 1;
    if *count > 1 { partition(&format!("{name}-{}", *next - 1)) } else { partition(name) }
}

/// Returns a value in the name of a directory, as Hive reads it. It does not use Hive's word for
/// NULL, as some readers fail on a column that is entirely NULL.
fn partition(value: &str) -> String {
    if value.is_empty() { UNKNOWN_VALUE.to_owned() } else { escaped(value) }
}

/// Returns a name for a directory. Escapes special characters, and a first one that would hide it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for (index, byte) in clipped(name).bytes().enumerate() {
        match byte {
            b'.' | b'_' if index == 0 => text += &format!("%{byte:02X}"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => text.push(byte as char),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text.truncate(NAME_SIZE_MAX);
    text
}

fn columns(row: &EventType, with_labels: bool) -> Vec<(String, Form, bool)> {
    let first = FIRST.iter().map(|(name, ..)| name);
    let mut taken = Taken::new(first.chain(&PARTITIONS).chain(&ADDED));
    let mut columns =
        FIRST.map(|(name, form, optional)| (name.to_owned(), form, optional)).to_vec();
    let params = row.params.iter().take(PARAM_COUNT_MAX);
    let names: Vec<String> = params.map(|param| taken.column(&param.name)).collect();
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
                columns.push((taken.column(&format!("{name}_label")), Form::Text, true));
            }
            Sort::S => columns.push((taken.column(&format!("{name}_bytes")), Form::Bytes, true)),
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
                    Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                    ConvertedType::TIMESTAMP_MICROS,
                ),
                Form::Signed => (Physical::INT64, None, ConvertedType::NONE),
                Form::Int => {
                    (Physical::INT32, Some(LogicalType::integer(32, false)), ConvertedType::UINT_32)
                }
                Form::Double => (Physical::DOUBLE, None, ConvertedType::NONE),
                Form::Bool => (Physical::BOOLEAN, None, ConvertedType::NONE),
                Form::Text | Form::Thread => {
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
        let properties = properties(&schema);
        let schema = SchemaDescriptor::new(Arc::new(schema));
        Ok(Set { name, schema, properties, columns, cut: None })
    }
}

/// Returns how columns are encoded.
fn properties(schema: &Type) -> WriterPropertiesPtr {
    let producer = format!("eventcnv {}", env!("CARGO_PKG_VERSION"));
    let mut properties = WriterProperties::builder()
        .set_created_by(producer)
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_offset_index_disabled(true);
    for column in schema.get_fields() {
        let path = ColumnPath::from(column.name());
        properties = match column.get_physical_type() {
            Physical::INT64 | Physical::INT32 => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Physical::BYTE_ARRAY => properties.set_column_dictionary_enabled(path, true),
            _ => properties,
        };
    }
    Arc::new(properties.build())
}
