//! Reads the sentences and the shares of a log of `waits explain`.
//!
//! ```text
//!  Sentence, Share of the registry "waits" ──▶ Waited: in words, and in ns
//! ```
//!
//! Design: `.cnv.report.waits` in `design/eventcnv.md`.

use crate::page::waitflame::REGISTRY;
use eventlog::format::text::OneLine;
use eventlog::reader::{Filter, Log, Order, Pick};

/// Sentences, at most: of several answers in one log.
const SENTENCE_COUNT_MAX: usize = 64;

/// What a target waited for.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    /// The target, then the waits, the longest first.
    pub(crate) sentences: Vec<String>,
    /// Name, ns, runs and waits.
    pub(crate) shares: Vec<(String, u64, u64)>,
}

/// Reads them. Returns nothing if the log has none.
pub(super) fn read(log: &Log) -> Option<Waited> {
    if !log.registries().iter().any(|registry| &*registry.name == REGISTRY) {
        return None;
    }
    let filter =
        Filter::new().events(["Sentence", "Share"].map(|name| Pick::Name(name.to_owned())));
    let mut waited = Waited::default();
    // Each process of the target has the shares of all.
    let mut first = None;
    log.events(Order::Time, &filter).each(|event| {
        if &*event.registry.name != REGISTRY {
            return;
        }
        let number = |name: &str| event.param(name).and_then(|value| value.as_u64()).unwrap_or(0);
        let text = |name: &str| {
            let bytes = event.param(name).and_then(|value| value.as_bytes()).unwrap_or_default();
            OneLine(bytes).to_string()
        };
        if event.name() == "Sentence" {
            if waited.sentences.len() < SENTENCE_COUNT_MAX {
                waited.sentences.push(text("text"));
            }
        } else if *first.get_or_insert(event.stream) == event.stream && number("ns") > 0 {
            waited.shares.push((text("name"), number("ns"), number("count")));
        }
    });
    (!waited.shares.is_empty() || !waited.sentences.is_empty()).then_some(waited)
}
