//! Marks as written: in options, and in brackets in doc strings.
//!
//! ```text
//!  TraceBegin=TraceEnd:trace        Alloc.size-Free.size:pool        [name function]
//! ```
//!
//! Design: `.cnv.marks` in `design/eventcnv.md`.

use super::{Form, KEY_COUNT_MAX};

/// A mark as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark<'a> {
    pub(super) form: Form,
    pub(super) from: (&'a str, Option<&'a str>),
    pub(super) to: Option<(&'a str, Option<&'a str>)>,
    /// Parameter names, in the first and in the second event type.
    pub(super) key: Vec<(&'a str, &'a str)>,
}

pub(super) fn parse(form: Form, text: &str) -> Result<Mark<'_>, String> {
    let (of, key) = text.split_once(':').unwrap_or((text, ""));
    let pair = |text| <str>::split_once(text, '=').unwrap_or((text, text));
    let key: Vec<(&str, &str)> =
        key.split(',').map(str::trim).filter(|name| !name.is_empty()).map(pair).collect();
    let param = |text: &str| {
        let parts = text.trim().split_once('.');
        parts.is_some_and(|(name, param)| !name.is_empty() && !param.is_empty())
    };
    let split = |text| {
        let (name, param) = <str>::split_once(text, '.').unwrap_or((text, ""));
        (name.trim(), Some(param.trim()).filter(|param| !param.is_empty()))
    };
    let (from, to) = match form {
        Form::Counter => match of.split_once('-') {
            Some((from, to)) if param(from) && param(to) => (split(from), Some(split(to))),
            None if param(of) => (split(of), None),
            _ => return Err("a counter is EVENT.PARAM or EVENT.PARAM-EVENT.PARAM".to_owned()),
        },
        _ => match of.split_once('=') {
            Some((from, to)) if !from.trim().is_empty() && !to.trim().is_empty() => {
                ((from.trim(), None), Some((to.trim(), None)))
            }
            _ => return Err("a pair is BEGIN=END, or BEGIN=END:PARAM,...".to_owned()),
        },
    };
    if key.len() > KEY_COUNT_MAX {
        return Err(format!("at most {KEY_COUNT_MAX} parameters tell one from another"));
    }
    Ok(Mark { form, from, to, key })
}

/// Returns the marks in a doc string: `[slice XBegin=XEnd]`.
pub(super) fn in_doc(doc: &str) -> impl Iterator<Item = Mark<'_>> {
    words_in_doc(doc).filter_map(|(word, text)| {
        let (_, form) = Form::ALL.into_iter().find(|(name, _)| *name == word)?;
        parse(form, text).ok()
    })
}

/// Returns the parameters that a doc string names slices by: `[name function]`.
pub(super) fn named_in_doc(doc: &str) -> impl Iterator<Item = &str> {
    words_in_doc(doc).filter(|(word, _)| *word == "name").map(|(_, param)| param.trim())
}

/// Returns the first word and the rest of each text in brackets.
fn words_in_doc(doc: &str) -> impl Iterator<Item = (&str, &str)> {
    let brackets = doc.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    brackets.filter_map(|(inside, _)| inside.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.cnv.marks`
    #[test]
    fn marks_parse_to_pairs_and_counters() {
        let pair = parse(Form::Slice, "GcBegin=GcEnd:gc,heap=of").unwrap();
        assert_eq!((pair.from, pair.to), (("GcBegin", None), Some(("GcEnd", None))));
        assert_eq!(pair.key, [("gc", "gc"), ("heap", "of")]);
        let counter = parse(Form::Counter, "Alloc.size-Free.bytes:pool").unwrap();
        assert_eq!(counter.from, ("Alloc", Some("size")));
        assert_eq!(counter.to, Some(("Free", Some("bytes"))));
        assert_eq!(parse(Form::Counter, "Load.level").unwrap().to, None);
        for (form, text) in [
            (Form::Slice, "GcBegin"),
            (Form::Slice, "=GcEnd"),
            (Form::Flow, "a=b:p,q,r,s,t"),
            (Form::Counter, "Alloc"),
            (Form::Counter, "Alloc.size-Free"),
            (Form::Counter, ".size"),
        ] {
            assert!(parse(form, text).is_err(), "{text}");
        }
    }

    #[test]
    fn marks_stand_in_brackets_in_a_doc_string() {
        let doc = "Begins [slice A=B:p] a [thing] of [flow C=D], [counter E.f] and [slice x].";
        let found: Vec<(Form, &str)> = in_doc(doc).map(|mark| (mark.form, mark.from.0)).collect();
        assert_eq!(found, [(Form::Slice, "A"), (Form::Flow, "C"), (Form::Counter, "E")]);
        let doc = "A call [slice A=B] [name function] of a [name] and [names x] [name  other ].";
        assert_eq!(named_in_doc(doc).collect::<Vec<_>>(), ["function", "other"]);
    }
}
