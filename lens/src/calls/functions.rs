//! The functions of a log: names and places from its store.
//!
//! ```text
//!  Intern 7 "shop::sell" ─┐
//!  Label  0x5600 = 7 ─────┼─▶ (stream, address) ──▶ number ──▶ name, file, line
//!  Source 0x5600 line 12 ─┘                          one number for a name in all streams
//! ```
//!
//! Design: `.calls.site`, `.calls.lens` in `design/calls.md`.

use crate::calls::model::{Function, NONE};
use eventlog::reader::{Event, Filter, Format, Log, Order, Value};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Functions, at most; further ones are one function.
const FUNCTION_COUNT_MAX: usize = 1 << 20;
/// The name of that function.
const OTHERS: &str = "(others)";
/// How a string begins that states the filter of a program.
const FILTER: &str = "MPS_TELEMETRY_CALLS=";
/// Bytes of all names, at most; further names are missing.
const NAME_MEMORY_MAX: usize = 1 << 26;
/// Bytes of an entry of a table, about.
const ENTRY_SIZE: usize = 48;

/// What is known of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its name: its label, or its address if it has none.
    pub name: Box<str>,
    /// The file of its definition.
    pub file: Option<Box<str>>,
    /// The line of its definition, from 1; 0 unknown.
    pub line: u32,
    /// The stream that first stated its place, and the ticks of that.
    pub since: Option<(u16, u64)>,
    /// The stream, if it has no label: an address is one function in its stream alone.
    pub stream: Option<u16>,
    /// Whether a store states its place: such a function is known without any call.
    pub is_stated: bool,
}

impl Facts {
    /// Returns its file, and its line if that is known.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        Some(match self.line {
            0 => file.to_owned(),
            line => format!("{file}:{line}"),
        })
    }
}

/// How many first events of each buffer are known, by stream and buffer.
pub(crate) type Known = BTreeMap<(u16, u32), u64>;

/// Functions that are found without a search, at most.
const RECENT_COUNT: usize = 1 << 8;

/// A number in a stream.
type Place = (u16, u64);

/// The place of a statement, as the store states it.
#[derive(Clone, Debug)]
pub(crate) struct StatementPlace {
    pub(crate) stream: u16,
    pub(crate) address: u64,
    pub(crate) label: Box<str>,
    /// Bytes of the label that name its function.
    pub(crate) function_size: usize,
    pub(crate) file: Option<Box<str>>,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// A Source of the store: the place of a function or of a statement.
struct Stated {
    place: Place,
    ticks: u64,
    file: Option<Box<str>>,
    line: u32,
    column: u32,
    offset: u32,
    size: u32,
}

/// A file, and a line of it.
type FilePlace = (Option<Box<str>>, u32);

/// The functions of a log, by numbers.
#[derive(Clone, Debug)]
pub struct Functions {
    all: Vec<Facts>,
    statements: Vec<StatementPlace>,
    by_name: HashMap<Box<str>, Function, RandomState>,
    by_address: HashMap<Place, Function, RandomState>,
    /// Some of these, by the low bits of their addresses; address 0 is none.
    recent: Box<[(Place, Function)]>,
    labels: HashMap<Place, u64, RandomState>,
    strings: HashMap<Place, Box<str>, RandomState>,
    filters: BTreeSet<Box<str>>,
    /// The first file and line that each stream states for a function.
    places: HashMap<(u16, Function), FilePlace, RandomState>,
    shared: BTreeSet<Function>,
    memory: usize,
}

impl Default for Functions {
    fn default() -> Functions {
        Functions {
            all: vec![Facts::default()],
            statements: Vec::new(),
            by_name: HashMap::default(),
            by_address: HashMap::default(),
            recent: vec![((0, 0), NONE); RECENT_COUNT].into(),
            labels: HashMap::default(),
            strings: HashMap::default(),
            filters: BTreeSet::new(),
            places: HashMap::default(),
            shared: BTreeSet::new(),
            memory: 0,
        }
    }
}

impl Functions {
    /// Reads the store of a log.
    pub fn new(log: &Log) -> Functions {
        let mut functions = Functions::default();
        functions.learn(log, &Known::new());
        functions
    }

    /// Reads what the store of a log has in addition to the `known` events of each buffer.
    pub fn learn(&mut self, log: &Log, known: &Known) {
        let has_calls = log.registries().iter().any(|registry| &*registry.name == "calls");
        if log.format() != Format::Stream || !has_calls {
            return;
        }
        let mut sources = Vec::new();
        let filter = Filter::new().events(["Intern", "Label", "Source"]).known(known.clone());
        log.events(Order::Time, &filter).each(|event| {
            let count = known.get(&(event.stream, event.buffer));
            if count.is_none_or(|count| event.number >= *count) {
                self.note(event, &mut sources);
            }
        });
        for stated in sources {
            if let Some(statement) = self.statement(&stated) {
                self.statements.push(statement);
                continue;
            }
            let Stated { place: (stream, address), ticks, file, line, .. } = stated;
            let function = self.number(stream, address);
            let first = self.places.entry((stream, function)).or_insert((file.clone(), line));
            if (&first.0, first.1) != (&file, line) {
                self.shared.insert(function);
            }
            if let Some(known) = self.all.get_mut(function as usize)
                && !known.is_stated
            {
                *known = Facts {
                    name: std::mem::take(&mut known.name),
                    file,
                    line,
                    since: Some((stream, ticks)),
                    stream: known.stream,
                    is_stated: true,
                };
            }
        }
    }

    /// Returns the statement that a Source belongs to: its label ends with the line and the column
    /// of the Source (`.statements.identity`).
    fn statement(&self, stated: &Stated) -> Option<StatementPlace> {
        let Stated { place: (stream, address), ref file, line, column, offset, size, .. } = *stated;
        let label = self.label(stream, address)?;
        let function_size = label.strip_suffix(&format!(":{line}:{column}"))?.len();
        let (label, file) = (label.into(), file.clone());
        Some(StatementPlace {
            stream,
            address,
            label,
            function_size,
            file,
            line,
            column,
            offset,
            size,
        })
    }

    /// Takes the statements that the store states.
    pub(crate) fn take_statements(&mut self) -> Vec<StatementPlace> {
        std::mem::take(&mut self.statements)
    }

    /// Returns the label of an address of a stream.
    pub(crate) fn label(&self, stream: u16, address: u64) -> Option<&str> {
        let id = self.labels.get(&(stream, address))?;
        self.strings.get(&(stream, *id)).map(|string| &**string)
    }

    fn note(&mut self, event: &Event<'_, '_>, sources: &mut Vec<Stated>) {
        let name = event.event_type.map(|row| &*row.name);
        let number = |name| event.param(name).and_then(|value| value.as_u64());
        let string = |name| match event.param(name) {
            Some(Value::S(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        if event.registry.index != 0 || self.memory > NAME_MEMORY_MAX {
            return;
        }
        self.memory += ENTRY_SIZE;
        match name {
            Some("Intern") => {
                if let (Some(id), Some(string)) = (number("stringId"), string("string")) {
                    self.memory += string.len();
                    if let Some(filter) = string.strip_prefix(FILTER) {
                        self.filters.insert(filter.into());
                    }
                    self.strings.insert((event.stream, id), string.into());
                }
            }
            Some("Label") => {
                if let (Some(address), Some(id)) = (number("address"), number("stringId")) {
                    self.labels.insert((event.stream, address), id);
                }
            }
            Some("Source") => {
                let Some(address) = number("address") else { return };
                let file = string("file").filter(|file| !file.is_empty());
                self.memory += file.as_ref().map_or(0, String::len);
                let small = |name| number(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                sources.push(Stated {
                    place: (event.stream, address),
                    ticks: event.ticks,
                    file: file.map(Into::into),
                    line: small("line"),
                    column: small("column"),
                    offset: small("offset"),
                    size: small("size"),
                });
            }
            _ => {}
        }
    }

    /// Returns the filters by which the programs recorded: functions that they exclude are missing.
    pub fn filters(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|filter| &**filter)
    }

    /// Returns the functions that stand for several of one stream: they have one name, and several
    /// files or lines.
    pub fn shared(&self) -> impl ExactSizeIterator<Item = Function> {
        self.shared.iter().copied()
    }

    /// Returns the function at an address of a stream; address 0 is none.
    #[inline]
    pub fn number(&mut self, stream: u16, address: u64) -> Function {
        // A site has a multiple of 16.
        let place = (address >> 4 ^ address >> 12) as usize % RECENT_COUNT;
        match self.recent.get(place) {
            Some((found, function)) if *found == (stream, address) => *function,
            _ => self.search(place, stream, address),
        }
    }

    fn search(&mut self, place: usize, stream: u16, address: u64) -> Function {
        if address == 0 {
            return NONE;
        }
        let function = match self.by_address.get(&(stream, address)) {
            Some(function) => *function,
            None => self.find(stream, address),
        };
        if let Some(place) = self.recent.get_mut(place) {
            *place = ((stream, address), function);
        }
        function
    }

    #[cold]
    fn find(&mut self, stream: u16, address: u64) -> Function {
        if self.by_address.len() >= FUNCTION_COUNT_MAX {
            return self.named(OTHERS);
        }
        let function = match self.label(stream, address).map(str::to_owned) {
            Some(name) => self.named(&name),
            None => self.add(format!("{address:#x}").into(), Some(stream)),
        };
        self.by_address.insert((stream, address), function);
        function
    }

    /// Returns the function with a name.
    pub fn named(&mut self, name: &str) -> Function {
        if let Some(function) = self.by_name.get(name) {
            return *function;
        }
        if self.by_name.len() >= FUNCTION_COUNT_MAX && name != OTHERS {
            return self.named(OTHERS);
        }
        let function = self.add(name.into(), None);
        self.by_name.insert(name.into(), function);
        function
    }

    fn add(&mut self, name: Box<str>, stream: Option<u16>) -> Function {
        self.all.push(Facts { name, stream, ..Facts::default() });
        self.all.len() as Function - 1
    }

    /// Returns what is known of a function.
    pub fn facts(&self, function: Function) -> Option<&Facts> {
        self.all.get(function as usize)
    }

    /// Returns the name of a function; that of none is empty.
    pub fn name(&self, function: Function) -> &str {
        self.all.get(function as usize).map_or("", |facts| &facts.name)
    }

    /// Returns all functions with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Function, &Facts)> {
        (1..).zip(self.all.iter().skip(1))
    }

    /// Returns one more than the greatest number.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}
