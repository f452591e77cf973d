//! Lines prepared beforehand: for each event type of a log, what is written and where its values
//! are.
//!
//! ```text
//!  step   │ " 002A PoolAlloc           pool:" │ load at 8,  16 digits, what it is called │
//!  step   │ " size:"                          │ load at 24, 16 digits │     … and the tail " \n"
//! ```
//!
//! Where all that is written is numbers in hexadecimal with one byte between them, as in most lines
//! of the numeric form, the steps are shorter. A value is found by one load, which ends where the
//! parameter does, a shift and a mask, whatever the sort and the platform. An event that no recipe
//! covers (it is short, or of unknown type, or of no log) gets one of its own, for its line alone.
//! Design: `.cnv.speed` in `design/eventcnv.md`.

use super::row::Row;
use crate::text::page::{Page, Pen, STORE_SIZE};
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use eventdef::Sort;
use eventlog::reader::{Event, EventType, Param, Platform, Registry, Value};

/// Memory that the recipes of a view may take, in bytes, about; event types beyond it have none.
const MEMORY_MAX: usize = 4 << 20;
/// Bytes of text that most recipes have, at most.
const BYTES_USUAL: usize = 256;
/// Room that a value, or what a view writes before the first step, may take beside the text.
const VALUE_ROOM: usize = 64;

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// In hexadecimal.
    Hex,
    /// With zeros before it up to so many digits.
    HexZeros(u8),
    /// With spaces before it up to so many columns.
    HexSpaces(u8),
    /// With zeros up to so many digits; what it is called, if anything, the view appends.
    Called(u8),
    /// In hexadecimal; that something is called anything is told in the end.
    Noted,
    Decimal,
    /// One text or another.
    Choice(&'static str, &'static str),
    /// As the view appends it.
    Own,
}

/// What a view appends by itself.
pub(crate) trait Own {
    /// A value of a form of its own.
    fn value(value: Value<'_>, out: &mut Vec<u8>);

    /// What a pointer or address is called, by the number of the string.
    fn label(_event: &Event<'_, '_>, _id: u64, _out: &mut Vec<u8>) {}
}

/// Text, by where it is in that of its recipe.
#[derive(Clone, Copy, Debug, Default)]
struct Text {
    begin: u32,
    size: u32,
}

/// Text, and then a value.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The text, if it is short; else what it begins with.
    short: [u8; STORE_SIZE],
    short_size: u8,
    /// Where the load begins in the event.
    at: u32,
    /// The parameter.
    index: u16,
    shift: u8,
    is_pointer: bool,
    mask: u64,
    form: Form,
    choice: [Text; 2],
    /// What follows on `short`.
    rest: Text,
}

/// One byte, and then a value in hexadecimal.
#[derive(Clone, Copy, Debug)]
struct Plain {
    mask: u64,
    /// Where the load begins in the event.
    at: u32,
    shift: u8,
    byte: u8,
}

/// A text that is stored at once.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    bytes: [u8; STORE_SIZE],
    size: u8,
}

impl Short {
    /// None if it is too long.
    fn new(text: &[u8]) -> Option<Short> {
        let mut bytes = [0; STORE_SIZE];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Short { bytes, size: text.len() as u8 })
    }
}

/// How the line of an event of one type is written, after what stands before its first step.
#[derive(Debug)]
pub(crate) struct Recipe {
    bytes: Vec<u8>,
    /// What the view may ask for before the steps.
    intro: Text,
    steps: Vec<Step>,
    /// The same shorter, between these two texts; empty if there is more to the steps.
    plain: Vec<Plain>,
    opening: Short,
    closing: Short,
    /// After the last value.
    tail: Text,
    /// The least size of an event that has all of its parameters.
    size_min: usize,
    /// What the line takes, but for what the view appends.
    room: usize,
    platform: Platform,
    /// The kind of the events.
    kind: u8,
}

impl Recipe {
    /// Begins the recipe of a row.
    pub(crate) fn new(row: Row<'_>) -> Recipe {
        Recipe {
            bytes: Vec::with_capacity(BYTES_USUAL),
            intro: Text::default(),
            steps: Vec::with_capacity(row.params.len()),
            plain: Vec::new(),
            opening: Short::default(),
            closing: Short::default(),
            tail: Text::default(),
            size_min: 0,
            room: 2 * VALUE_ROOM,
            platform: row.registry.platform,
            kind: row.kind,
        }
    }

    /// Sets the text that [`Recipe::introduce`] writes.
    pub(crate) fn intro(&mut self, text: &[u8]) {
        self.intro = self.add(text);
    }

    /// Adds a step: this text, then the value of the parameter with this index.
    pub(crate) fn push(&mut self, text: &[u8], param: &Param, index: usize, form: Form) {
        let size = match param.sort {
            // Of a string, one byte must be there.
            Sort::S => 1,
            sort => sort.size(usize::from(self.platform.word_size)).clamp(1, 8) as u8,
        };
        let end = param.offset.saturating_add(size.into());
        self.size_min = self.size_min.max(end as usize);
        let is_boolean = param.sort == Sort::B;
        let mask = if is_boolean { param.mask.into() } else { u64::MAX >> (64 - 8 * size) };
        let choice = match form {
            Form::Choice(no, yes) => [self.add(no.as_bytes()), self.add(yes.as_bytes())],
            _ => [Text::default(); 2],
        };
        let mut short = [0; STORE_SIZE];
        let (begin, rest) = text.split_at(text.len().min(STORE_SIZE));
        if let Some(place) = short.get_mut(..begin.len()) {
            place.copy_from_slice(begin);
        }
        let step = Step {
            short,
            short_size: begin.len() as u8,
            rest: self.add(rest),
            at: end.saturating_sub(8),
            index: index as u16,
            // The last bytes of the load are the highest, but where the highest come first.
            shift: if self.platform.big_endian { 0 } else { 64 - 8 * size },
            is_pointer: param.sort == Sort::P,
            mask,
            form,
            choice,
        };
        self.steps.push(step);
        self.room += VALUE_ROOM + STORE_SIZE;
    }

    /// Ends it with this text.
    pub(crate) fn end(mut self, text: &[u8]) -> Recipe {
        self.tail = self.add(text);
        // So that a pen can take it sixteen bytes at a time.
        self.bytes.extend_from_slice(&[0; STORE_SIZE]);
        self
    }

    /// Shortens the steps, if that can be: it takes a while, and makes each line faster.
    fn shorten(mut self) -> Recipe {
        let tail = self.bytes.get(self.tail.begin as usize..).unwrap_or_default();
        if let Some((opening, closing, plain)) =
            self.in_short(tail.get(..self.tail.size as usize).unwrap_or_default())
        {
            (self.opening, self.closing, self.plain) = (opening, closing, plain);
        }
        self.bytes.shrink_to_fit();
        self
    }

    /// The steps in short, with what stands before and after them, if there is no more to them.
    fn in_short(&self, tail: &[u8]) -> Option<(Short, Short, Vec<Plain>)> {
        let mut opening = Short::default();
        let mut plain = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let text = step.short.get(..step.short_size.into())?;
            let (&byte, before) = text.split_last()?;
            if !matches!(step.form, Form::Hex) || step.rest.size > 0 {
                return None;
            }
            if plain.is_empty() {
                opening = Short::new(before)?;
            } else if !before.is_empty() {
                return None;
            }
            plain.push(Plain { mask: step.mask, at: step.at, shift: step.shift, byte });
        }
        Some((opening, Short::new(tail)?, plain))
    }

    fn add(&mut self, text: &[u8]) -> Text {
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.room += text.len() + STORE_SIZE;
        Text { begin, size: text.len() as u32 }
    }

    fn memory(&self) -> usize {
        let steps = self.steps.capacity() * size_of::<Step>();
        let plain = self.plain.capacity() * size_of::<Plain>();
        size_of::<Recipe>() + self.bytes.capacity() + steps + plain
    }

    #[inline(always)]
    fn text(&self, text: Text, pen: &mut Pen<'_>) {
        pen.text(&self.bytes, text.begin as usize, text.size as usize);
    }

    /// Writes the intro.
    #[inline(always)]
    pub(crate) fn introduce(&self, pen: &mut Pen<'_>) {
        self.text(self.intro, pen);
    }

    #[inline(always)]
    fn write_plain<O: ByteOrder>(&self, bytes: &[u8], pen: &mut Pen<'_>) {
        pen.put(&self.opening.bytes, self.opening.size.into());
        for plain in &self.plain {
            pen.hex_after(plain.byte, load::<O>(bytes, plain.at) >> plain.shift & plain.mask);
        }
        pen.put(&self.closing.bytes, self.closing.size.into());
    }

    /// Writes what `head` writes, then the steps and the tail. Returns whether something is called
    /// anything, of what is to be noted.
    #[inline(always)]
    pub(crate) fn write<O: Own>(
        &self,
        event: &Event<'_, '_>,
        page: &mut Page,
        head: impl FnOnce(&Recipe, &mut Pen<'_>),
    ) -> bool {
        let mut pen = page.pen(self.room);
        let mut is_called = false;
        head(self, &mut pen);
        if !self.plain.is_empty() {
            if self.platform.big_endian {
                self.write_plain::<BigEndian>(event.bytes, &mut pen);
            } else {
                self.write_plain::<LittleEndian>(event.bytes, &mut pen);
            }
            let written = pen.written();
            page.keep(written);
            return false;
        }
        for step in &self.steps {
            pen.put(&step.short, step.short_size.into());
            if step.rest.size > 0 {
                self.text(step.rest, &mut pen);
            }
            let load = if self.platform.big_endian {
                load::<BigEndian>(event.bytes, step.at)
            } else {
                load::<LittleEndian>(event.bytes, step.at)
            };
            let value = load >> step.shift & step.mask;
            match step.form {
                Form::Hex => pen.hex(value),
                Form::HexZeros(width) => pen.hex_zeros(value, width.into()),
                Form::HexSpaces(width) => pen.hex_spaces(value, width.into()),
                Form::Called(width) => {
                    pen.hex_zeros(value, width.into());
                    if let Some(id) = label_id(event, step, value) {
                        let written = pen.written();
                        page.keep(written);
                        page.write(|out| O::label(event, id, out));
                        pen = page.pen(self.room);
                    }
                }
                Form::Noted => {
                    pen.hex(value);
                    is_called = is_called || label_id(event, step, value).is_some();
                }
                Form::Decimal => pen.decimal(value),
                Form::Choice(..) => {
                    let [no, yes] = step.choice;
                    self.text(if value == 0 { no } else { yes }, &mut pen);
                }
                Form::Own => {
                    let written = pen.written();
                    page.keep(written);
                    page.write(|out| own::<O>(event, step, out));
                    pen = page.pen(self.room);
                }
            }
        }
        self.text(self.tail, &mut pen);
        let written = pen.written();
        page.keep(written);
        is_called
    }
}

/// The eight bytes that begin there, as a number.
#[inline(always)]
fn load<O: ByteOrder>(bytes: &[u8], at: u32) -> u64 {
    // 32 bits, so that the end cannot overflow: one comparison is enough.
    let at = at as usize;
    let load = bytes.get(at..at.wrapping_add(8)).and_then(|load| load.first_chunk::<8>());
    load.map_or(0, |load| O::read_u64(load))
}

#[inline(always)]
fn label_id(event: &Event<'_, '_>, step: &Step, value: u64) -> Option<u64> {
    let value = if step.is_pointer { Value::P(value) } else { Value::A(value) };
    event.labels.label_id_of(value)
}

#[inline(never)]
fn own<O: Own>(event: &Event<'_, '_>, step: &Step, out: &mut Vec<u8>) {
    if let Some(value) = event.param_at(step.index.into()) {
        O::value(value, out);
    }
}

/// The recipes of the event types of a log, by registry and row.
#[derive(Debug, Default)]
pub(crate) struct Recipes {
    rows: Vec<Vec<Recipe>>,
}

impl Recipes {
    /// Recipes for the event types of these registries, which are those of a log, in its order.
    pub(crate) fn new(registries: &[Registry], recipe: impl Fn(Row<'_>) -> Recipe) -> Recipes {
        let mut memory = 0;
        let of_registry = |registry: &Registry| {
            let mut rows = Vec::new();
            let known = registry.event_types.iter();
            for event_type in known.take_while(|row| row.params.len() < 1 << 16) {
                if memory >= MEMORY_MAX {
                    break;
                }
                let EventType { code, kind, params, .. } = event_type;
                let (code, kind, event_type) = (*code, *kind, Some(event_type));
                rows.push(recipe(Row { registry, event_type, code, kind, params }).shorten());
                memory += rows.last().map_or(0, Recipe::memory);
            }
            rows
        };
        Recipes { rows: registries.iter().map(of_registry).collect() }
    }

    /// The recipe for an event, if there is one, the event has all parameters, and its kind is that
    /// of its type: the kind is that of its block.
    #[inline(always)]
    pub(crate) fn of(&self, event: &Event<'_, '_>) -> Option<&Recipe> {
        let rows = self.rows.get(event.registry_index as usize)?;
        let recipe = rows.get(usize::from(event.event_type_index))?;
        (event.bytes.len() >= recipe.size_min && event.kind == recipe.kind).then_some(recipe)
    }
}
