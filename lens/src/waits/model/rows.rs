//! Events of the registry `kernel` as rows.
//!
//! ```text
//!  Event ── type, parameters by name ──▶ Row::Switch { prev, next, state, stack } …
//! ```
//!
//! Parameters are found by their names, so that a log of a later version is read too. A parameter
//! that a log lacks is 0. Design: `.waits.events` in `design/waits.md`.

use eventlog::reader::{Event, Log, Registry, Value};

/// Parameters of a row that are numbers, at most.
const VALUE_COUNT_MAX: usize = 5;

/// The meaning of an event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Switch,
    Waking,
    Woken,
    Fork,
    Exec,
    Exit,
    ThreadExists,
    Lost,
    Member,
    Inside,
    Stolen,
    IrqEnter,
    TimerFire,
    IrqLeave,
    SoftEnter,
    SoftLeave,
    Insert,
    Issue,
    Complete,
    Send,
    Receive,
    Ready,
    SocketState,
    SocketName,
    Call,
    CallDone,
    OpenFile,
    Sample,
    ThreadName,
    Symbol,
    Frame,
}

/// Event types, their meanings, and the parameters that a row takes.
const WORDS: [(&str, Word, &[&str]); 32] = [
    ("Switch", Word::Switch, &["prev", "next", "state", "stack"]),
    ("Waking", Word::Waking, &["waker", "target", "context", "stack"]),
    ("Woken", Word::Woken, &["target"]),
    ("Fork", Word::Fork, &["parent", "child", "process"]),
    ("Exec", Word::Exec, &["thread", "was"]),
    ("Exit", Word::Exit, &["thread"]),
    ("ThreadExists", Word::ThreadExists, &["thread", "process", "state"]),
    // Its name in logs of version 1.1 and before.
    ("There", Word::ThreadExists, &["thread", "process", "state"]),
    ("Lost", Word::Lost, &["from"]),
    ("Member", Word::Member, &["thread", "process"]),
    ("Inside", Word::Inside, &["thread", "number"]),
    ("Stolen", Word::Stolen, &["ns"]),
    ("IrqEnter", Word::IrqEnter, &["irq"]),
    ("TimerFire", Word::TimerFire, &["isWakeup"]),
    ("IrqLeave", Word::IrqLeave, &["irq"]),
    ("SoftEnter", Word::SoftEnter, &["vector"]),
    ("SoftLeave", Word::SoftLeave, &["vector"]),
    ("BlockInsert", Word::Insert, &["thread", "device", "sector", "count", "operation"]),
    ("BlockIssue", Word::Issue, &["thread", "device", "sector", "count", "operation"]),
    ("BlockComplete", Word::Complete, &["thread", "device", "sector", "count", "operation"]),
    ("SocketSend", Word::Send, &["thread", "socket", "size"]),
    ("SocketReceive", Word::Receive, &["thread", "socket", "size"]),
    ("SocketReady", Word::Ready, &["socket"]),
    ("SocketState", Word::SocketState, &["socket", "state", "ports"]),
    ("SocketName", Word::SocketName, &["socket"]),
    ("Syscall", Word::Call, &["thread", "call", "object", "value"]),
    ("SyscallDone", Word::CallDone, &["thread", "call", "result"]),
    ("OpenFile", Word::OpenFile, &["process", "file"]),
    ("CpuSample", Word::Sample, &["thread", "stack"]),
    ("ThreadName", Word::ThreadName, &["thread", "process"]),
    ("Symbol", Word::Symbol, &["address"]),
    ("Frame", Word::Frame, &["frame", "parent", "address"]),
];

/// A request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) thread: u32,
    pub(crate) device: u32,
    pub(crate) sector: u64,
    pub(crate) count: u32,
    pub(crate) operation: u32,
}

/// What a kernel told: the event types of the registry `kernel`, which describes their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`events::kernel` describes each event type and parameter")]
pub enum Row<'e> {
    Switch { prev: u32, next: u32, state: u32, stack: u32 },
    Waking { waker: u32, target: u32, context: u32, stack: u32 },
    Woken { target: u32 },
    Fork { parent: u32, child: u32, process: u32 },
    Exec { thread: u32, was: u32, path: &'e [u8] },
    Exit { thread: u32 },
    ThreadExists { thread: u32, process: u32, state: u32 },
    Lost { from: u64 },
    Member { thread: u32, process: u32 },
    Inside { thread: u32, number: u32 },
    Stolen { ns: u64 },
    IrqEnter { irq: u32, name: &'e [u8] },
    TimerFire { is_wakeup: bool },
    IrqLeave { irq: u32 },
    SoftEnter { vector: u32 },
    SoftLeave { vector: u32 },
    Insert(Request),
    Issue(Request),
    Complete(Request),
    Send { thread: u32, socket: u64 },
    Receive { thread: u32, socket: u64 },
    Ready { socket: u64 },
    SocketState { socket: u64, state: u32, ports: u32 },
    SocketName { socket: u64, name: &'e [u8] },
    Call { thread: u32, call: u32, object: u64, value: u64 },
    CallDone { thread: u32, call: u32, result: u64 },
    OpenFile { process: u32, file: u32, path: &'e [u8] },
    Sample { thread: u32, stack: u32 },
    ThreadName { thread: u32, process: u32, name: &'e [u8] },
    Symbol { address: u64, name: &'e [u8] },
    Frame { frame: u32, parent: u32, address: u64 },
}

/// Where the parameters of an event type are.
#[derive(Clone, Copy, Debug)]
struct Form {
    word: Word,
    values: [u8; VALUE_COUNT_MAX],
    text: u8,
}

/// The forms of a registry's event types.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The registry, by its index in the log.
    registry: u32,
    /// By the index of the event type in the registry.
    forms: Vec<Option<Form>>,
}

impl Rows {
    /// Returns the forms of the registry `kernel` of a stream; `None` if the stream lacks it.
    pub fn of(log: &Log, stream: u16) -> Option<Rows> {
        let mut registries = (0..).zip(log.registries());
        let (at, registry) =
            registries.find(|(_, registry)| registry.stream == stream && is_kernel(registry))?;
        let form = |row: &eventlog::reader::EventType| {
            let (_, word, names) = WORDS.iter().find(|(name, ..)| *name == &*row.name)?;
            let index = |name: &str| row.param(name).and_then(|(at, _)| u8::try_from(at).ok());
            let mut values = [u8::MAX; VALUE_COUNT_MAX];
            for (place, name) in values.iter_mut().zip(*names) {
                *place = index(name).unwrap_or(u8::MAX);
            }
            let is_text = |param: &eventlog::reader::Param| param.sort == eventdef::Sort::S;
            let text = row.params.iter().position(is_text).and_then(|at| u8::try_from(at).ok());
            Some(Form { word: *word, values, text: text.unwrap_or(u8::MAX) })
        };
        Some(Rows { registry: at, forms: registry.event_types.iter().map(form).collect() })
    }

    /// Returns whether the log tells the numbers that threads have in their own namespaces.
    pub(super) fn tells_numbers(&self) -> bool {
        self.forms.iter().flatten().any(|form| form.word == Word::Inside)
    }

    /// Returns the row of an event; `None` for an event of another registry, or of a type that does
    /// not matter here.
    #[inline]
    pub fn row<'e>(&self, event: &Event<'_, 'e>) -> Option<Row<'e>> {
        self.parts(event).map(|(row, text)| row.with_text(text))
    }

    /// Returns the row of an event without its text, and that text.
    #[inline]
    pub(super) fn parts<'e>(&self, event: &Event<'_, 'e>) -> Option<(Row<'static>, &'e [u8])> {
        if event.registry_index != self.registry {
            return None;
        }
        let form = self.forms.get(usize::from(event.event_type_index))?.as_ref()?;
        let wide = |at: usize| {
            let index = form.values.get(at).copied().unwrap_or(u8::MAX);
            event.param_at(index.into()).and_then(|value| value.as_u64()).unwrap_or(0)
        };
        let has_text = form.text != u8::MAX;
        let text = match has_text.then(|| event.param_at(form.text.into())).flatten() {
            Some(Value::S(text)) => text,
            _ => &[],
        };
        Some((row_of(form.word, wide), text))
    }
}

impl<'e> Row<'e> {
    /// Returns the row with another text, if it has one.
    #[inline]
    pub(super) fn with_text(mut self, text: &'e [u8]) -> Row<'e> {
        if let Row::IrqEnter { name: own, .. }
        | Row::SocketName { name: own, .. }
        | Row::ThreadName { name: own, .. }
        | Row::Symbol { name: own, .. }
        | Row::OpenFile { path: own, .. }
        | Row::Exec { path: own, .. } = &mut self
        {
            *own = text;
        }
        self
    }
}

/// Returns the row of a word with these parameters, without its text.
#[inline]
fn row_of(word: Word, wide: impl Fn(usize) -> u64) -> Row<'static> {
    let text = &[];
    let number = |at: usize| u32::try_from(wide(at)).unwrap_or(u32::MAX);
    let request = || Request {
        thread: number(0),
        device: number(1),
        sector: wide(2),
        count: number(3),
        operation: number(4),
    };
    match word {
        Word::Switch => {
            let (prev, next) = (number(0), number(1));
            Row::Switch { prev, next, state: number(2), stack: number(3) }
        }
        Word::Waking => {
            let (waker, target) = (number(0), number(1));
            Row::Waking { waker, target, context: number(2), stack: number(3) }
        }
        Word::Woken => Row::Woken { target: number(0) },
        Word::Fork => Row::Fork { parent: number(0), child: number(1), process: number(2) },
        Word::Exec => Row::Exec { thread: number(0), was: number(1), path: text },
        Word::Exit => Row::Exit { thread: number(0) },
        Word::ThreadExists => {
            Row::ThreadExists { thread: number(0), process: number(1), state: number(2) }
        }
        Word::Lost => Row::Lost { from: wide(0) },
        Word::Member => Row::Member { thread: number(0), process: number(1) },
        Word::Inside => Row::Inside { thread: number(0), number: number(1) },
        Word::Stolen => Row::Stolen { ns: wide(0) },
        Word::IrqEnter => Row::IrqEnter { irq: number(0), name: text },
        Word::TimerFire => Row::TimerFire { is_wakeup: wide(0) != 0 },
        Word::IrqLeave => Row::IrqLeave { irq: number(0) },
        Word::SoftEnter => Row::SoftEnter { vector: number(0) },
        Word::SoftLeave => Row::SoftLeave { vector: number(0) },
        Word::Insert => Row::Insert(request()),
        Word::Issue => Row::Issue(request()),
        Word::Complete => Row::Complete(request()),
        Word::Send => Row::Send { thread: number(0), socket: wide(1) },
        Word::Receive => Row::Receive { thread: number(0), socket: wide(1) },
        Word::Ready => Row::Ready { socket: wide(0) },
        Word::SocketState => {
            Row::SocketState { socket: wide(0), state: number(1), ports: number(2) }
        }
        Word::SocketName => Row::SocketName { socket: wide(0), name: text },
        Word::Call => {
            let (thread, call) = (number(0), number(1));
            Row::Call { thread, call, object: wide(2), value: wide(3) }
        }
        Word::CallDone => Row::CallDone { thread: number(0), call: number(1), result: wide(2) },
        Word::OpenFile => Row::OpenFile { process: number(0), file: number(1), path: text },
        Word::Sample => Row::Sample { thread: number(0), stack: number(1) },
        Word::ThreadName => Row::ThreadName { thread: number(0), process: number(1), name: text },
        Word::Symbol => Row::Symbol { address: wide(0), name: text },
        Word::Frame => Row::Frame { frame: number(0), parent: number(1), address: wide(2) },
    }
}

/// Returns whether a registry is that of kernels.
pub(crate) fn is_kernel(registry: &Registry) -> bool {
    *registry.name == *crate::waits::events::kernel::REGISTRY.name
}
