//! The processes and threads of a log, with their numbers and names for other tools.
//!
//! ```text
//!  stream 0 ──▶ Process { pid 4711, "shop" }   thread 3 of it ──▶ Thread { tid 4713, "teller 2" }
//! ```
//!
//! Streams of one boot, process and start are one process; OS numbers tell its threads apart.
//! Processes of two hosts may have one number; here each process has a number of its own. Design:
//! `.cnv.export` in `design/eventcnv.md`.

use crate::open::input::threads;
use eventlog::reader::{Event, Log};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The first number for processes and threads whose own number is unknown or taken.
const NUMBER_MIN: u32 = 0x4000_0000;

#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) tid: u32,
    pub(crate) name: String,
}

/// The processes and threads of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    pub(crate) by_stream: Vec<Process>,
    /// The first stream of the process of each stream.
    firsts: Vec<u16>,
    /// By stream and index.
    pub(crate) threads: BTreeMap<(u16, u32), Thread>,
    /// The first stream and index of threads that an earlier stream of their process has too.
    same: HashMap<(u16, u32), (u16, u32)>,
    /// Taken numbers of each process, by its first stream.
    tids: Vec<HashSet<u32>>,
}

impl Processes {
    pub(crate) fn new(log: &Log) -> Processes {
        let mut pids = HashSet::new();
        let mut by_stream: Vec<Process> = Vec::new();
        let mut firsts: Vec<u16> = Vec::new();
        let mut known = HashMap::new();
        for (index, stream) in (0..).zip(log.streams()) {
            let place = index as u16;
            let key = (stream.boot_id, stream.pid, stream.start);
            let is_known = stream.boot_id != [0; 16] && stream.pid > 0;
            let first = if is_known { *known.entry(key).or_insert(place) } else { place };
            firsts.push(first);
            if let Some(process) = by_stream.get(usize::from(first)).cloned() {
                by_stream.push(process);
                continue;
            }
            let name = match (&*stream.program, &*stream.host) {
                ("", "") => format!("stream {index}"),
                (program, "") => program.to_owned(),
                ("", host) => format!("stream {index} ({host})"),
                (program, _) if log.streams().len() == 1 => program.to_owned(),
                (program, host) => format!("{program} ({host})"),
            };
            by_stream.push(Process { pid: number(stream.pid, index, &mut pids), name });
        }
        let tids = vec![HashSet::new(); by_stream.len()];
        let mut processes = Processes { by_stream, firsts, tids, ..Processes::default() };
        let mut recorded = BTreeMap::new();
        for thread in threads::recorded(log) {
            if let Ok(index) = u32::try_from(thread.index) {
                recorded.insert((thread.stream, index), (thread.os_thread, thread.name));
            }
        }
        // The OS reuses the number of an ended thread. So the second thread with a number in one
        // stream is the second thread with it in another.
        let (mut counts, mut known) = (HashMap::new(), HashMap::new());
        for (place, (os_thread, name)) in recorded {
            let count = counts.entry((place.0, os_thread)).or_insert(0);
            *count += 1;
            let first =
                *known.entry((processes.first(place.0), os_thread, *count)).or_insert(place);
            if first == place || os_thread == 0 {
                processes.add(place.0, place.1, os_thread, name);
            } else if let Some(thread) = processes.threads.get_mut(&first) {
                if thread.name.is_empty() {
                    thread.name = name;
                }
                let thread = thread.clone();
                processes.threads.insert(place, thread);
                processes.same.insert(place, first);
            }
        }
        processes
    }

    pub(crate) fn first(&self, stream: u16) -> u16 {
        self.firsts.get(usize::from(stream)).copied().unwrap_or(stream)
    }

    /// Returns the first stream that has a thread, and its index there.
    pub(crate) fn place(&self, stream: u16, thread: u32) -> (u16, u32) {
        if thread == 0 {
            return (self.first(stream), 0);
        }
        self.same.get(&(stream, thread)).copied().unwrap_or((stream, thread))
    }

    fn add(&mut self, stream: u16, index: u32, os_thread: u64, name: String) {
        let first = usize::from(self.first(stream));
        let Some(tids) = self.tids.get_mut(first) else { return };
        let tid = number(os_thread, index, tids);
        self.threads.insert((stream, index), Thread { tid, name });
    }

    /// Returns the number of the thread of an event, and the name of a new thread.
    pub(crate) fn thread(&mut self, event: &Event<'_, '_>) -> (u32, Option<String>) {
        let place = match event.thread {
            0 => self.place(event.stream, 0),
            thread => (event.stream, thread),
        };
        if let Some(thread) = self.threads.get(&place) {
            return (thread.tid, None);
        }
        // The events of an MPS log have no thread: the process stands for it.
        let pid = self.pid(event.stream);
        match event.thread {
            0 if self.has_no_threads(event.stream) => {
                self.add(place.0, 0, pid.into(), "unknown thread".to_owned());
            }
            0 => self.add(place.0, 0, 0, "no thread".to_owned()),
            index => self.add(event.stream, index, 0, format!("thread {index}")),
        }
        let new = self.threads.get(&place);
        new.map_or((0, None), |thread| (thread.tid, Some(thread.name.clone())))
    }

    fn has_no_threads(&self, stream: u16) -> bool {
        self.tids.get(usize::from(self.first(stream))).is_some_and(HashSet::is_empty)
    }

    pub(crate) fn pid(&self, stream: u16) -> u32 {
        self.by_stream.get(usize::from(stream)).map_or(0, |process| process.pid)
    }
}

/// Returns the own number if it is free, else another.
fn number(own: u64, index: u32, taken: &mut HashSet<u32>) -> u32 {
    let own = u32::try_from(own).ok().filter(|&own| own > 0 && own < NUMBER_MIN);
    let mut number =
        own.filter(|own| !taken.contains(own)).unwrap_or(NUMBER_MIN + index % NUMBER_MIN);
    while !taken.insert(number) {
        number = if number >= 2 * (NUMBER_MIN - 1) { NUMBER_MIN } else { number + 1 };
    }
    number
}
