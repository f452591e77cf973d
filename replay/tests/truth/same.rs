//! What each thread of a recording asked of malloc: the same for two recordings of the same calls.
//!
//! ```text
//!  log ─ a HashMap of addresses ─▶ for each thread: (call, size, alignment), and on which object
//! ```
//!
//! Two runs number threads and addresses differently. So threads are in the order of their calls.
//! An object is known by its thread and by the index of the call that made it. Design:
//! `.rep.truth.same` in `design/replay.md`.

use eventlog::reader::{Filter, Log, Order};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The sizes of a replayer's marks (`.rep.truth.mark`).
const BEGIN: u64 = isize::MAX as u64 - 0x5265_706C;
const END: u64 = BEGIN - 1;

/// A call, its size and its alignment.
type Shape = (&'static str, u64, u64);
/// A thread, and the index of its call that made an object.
type Object = (u32, usize);
/// The calls of a thread; the threads of objects are indices of the list.
pub(crate) type Calls = Vec<(Shape, (Option<usize>, usize))>;

/// Returns the calls of all threads of a log, or of all as one thread. Of a replayer, only those
/// count that it made between its marks; a replayer that played nothing has none.
pub(crate) fn calls(path: &Path, is_single: bool, is_replayer: bool) -> Vec<Calls> {
    let log = Log::open(path).expect("a log");
    let (mut all, mut played) = (BTreeMap::<u32, Vec<(Shape, Object)>>::new(), BTreeMap::new());
    let (mut objects, mut begun) = (HashMap::<u64, Object>::new(), HashMap::new());
    let mut events = log.events(Order::Time, &Filter::default());
    while let Some(event) = events.next() {
        let of = |name: &str| event.param(name).and_then(|it| it.as_u64());
        let address = of("address").unwrap_or(0);
        let size = of("size").unwrap_or(0).saturating_mul(of("count").unwrap_or(1));
        let thread = if is_single { 0 } else { event.thread };
        let calls = all.entry(thread).or_default();
        let new = (thread, calls.len());
        let (name, object) = match event.name() {
            "Free" => ("free", objects.remove(&address)),
            "ReallocBegin" => {
                begun.insert(event.thread, (address, objects.remove(&address)));
                continue;
            }
            "Realloc" => match (begun.remove(&event.thread).expect("a beginning"), address) {
                ((_, object @ Some(_)), 0) if size == 0 => ("free", object),
                ((old, Some(object)), 0) => {
                    objects.insert(old, object);
                    continue;
                }
                ((_, object @ Some(_)), _) => ("reallocate", object),
                ((_, None), _) => ("allocate", Some(new)),
            },
            "Calloc" => ("allocate zeroed", Some(new)),
            "Malloc" | "MallocLarge" | "PosixMemalign" | "Memalign" => ("allocate", Some(new)),
            _ => continue,
        };
        match (name, address, size) {
            ("free" | "reallocate", ..) => {}
            (_, 0, BEGIN) => calls.clear(),
            (_, 0, END) => drop(played.insert(thread, std::mem::take(calls))),
            _ => {}
        }
        let Some(object) = object.filter(|_| address != 0 || name == "free") else { continue };
        if name != "free" {
            objects.insert(address, object);
        }
        let alignment = of("alignment").filter(|alignment| *alignment > 16).unwrap_or(1);
        let size = if name == "free" { 0 } else { size };
        calls.push(((name, size, alignment), object));
    }
    let threads = if is_replayer { played } else { all };
    let mut threads: Vec<_> = threads.into_iter().filter(|(_, calls)| !calls.is_empty()).collect();
    threads.sort_by_cached_key(|(_, calls)| calls.iter().map(|it| it.0).collect::<Vec<_>>());
    let index = |of: u32| threads.iter().position(|(thread, _)| *thread == of);
    let renamed = |calls: &Vec<(Shape, Object)>| {
        calls.iter().map(|(shape, (thread, made))| (*shape, (index(*thread), *made))).collect()
    };
    threads.iter().map(|(_, calls)| renamed(calls)).collect()
}
