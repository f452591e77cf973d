//! Recipes of lines: for each event type of a log the text of a line, and where its values are.
//!
//! ```text
//!  step   │ " 002A PoolAlloc           pool:" │ load at 8,  16 digits, the label │
//!  step   │ " size:"                          │ load at 24, 16 digits │    … and the tail " \n"
//! ```
//!
//! Where a line has only hexadecimal numbers with one byte between them, as most lines of the
//! numeric form, the steps are shorter. One load, a shift and a mask find a value, whatever its
//! sort and platform; the load ends where the parameter ends. An event that no recipe covers (too
//! short, or of unknown type) gets its own recipe, for its line alone. Design: `.cnv.speed` in
//! `design/eventcnv.md`.

use crate::show::{Row, Scale};
use crate::text;
use crate::text::page::{Page, Pen, STORE_SIZE};
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use eventdef::Sort;
use eventlog::reader::{Event, EventType, Param, Platform, Registry, Value};

/// Memory of the recipes of a view, in bytes, about. Event types beyond it have no recipe.
const MEMORY_MAX: usize = 4 << 20;
/// Bytes of text of most recipes, at most.
const BYTES_USUAL: usize = 256;
/// Room for a value, or for what `Line::head` writes, next to the text.
const VALUE_ROOM: usize = 64;

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Hex,
    /// Hexadecimal, padded with zeros to this number of digits.
    HexZeros(u8),
    /// Hexadecimal, padded with spaces to this number of columns.
    HexSpaces(u8),
    /// The label, if the value has one; else hexadecimal after 0x.
    Named,
    /// The label, if the value has one; else decimal.
    NamedWord,
    /// In the unit that fits, by this function.
    Scaled(Scale),
    /// [`Form::HexZeros`], then the label, if the value has one.
    Labelled(u8),
    /// Hexadecimal; [`Recipe::write`] returns whether the value has a label.
    LabelledLater,
    Decimal,
    /// The first text for 0, else the second.
    Choice(&'static str, &'static str),
    /// [`Custom::value`].
    Custom,
}

/// What a view appends itself.
pub(crate) trait Custom {
    /// Appends a value of [`Form::Custom`].
    fn value(value: Value<'_>, out: &mut Vec<u8>);

    /// Appends the label of a pointer or address, by the number of its string.
    fn label(_event: &Event<'_, '_>, _id: u64, _out: &mut Vec<u8>) {}
}

#[derive(Clone, Copy, Debug, Default)]
struct Text {
    begin: u32,
    size: u32,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// The text, or the beginning of a long text.
    short: Short,
    /// Offset of the load in the event.
    at: u32,
    index: u16,
    shift: u8,
    is_pointer: bool,
    is_real: bool,
    mask: u64,
    form: Form,
    choice: [Text; 2],
    rest: Text,
}

/// One byte, then a value in hexadecimal.
#[derive(Clone, Copy, Debug)]
struct Plain {
    mask: u64,
    /// Offset of the load in the event.
    at: u32,
    shift: u8,
    byte: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Short {
    bytes: [u8; STORE_SIZE],
    size: u8,
}

impl Short {
    fn new(text: &[u8]) -> Option<Short> {
        let mut bytes = [0; STORE_SIZE];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Short { bytes, size: text.len() as u8 })
    }
}

/// How a view writes the lines of one event type.
#[derive(Debug)]
pub(crate) struct Recipe {
    bytes: Vec<u8>,
    /// Text that the next call adds to `bytes`.
    pending: Vec<u8>,
    /// The text of [`Recipe::write_intro`].
    intro: Text,
    steps: Vec<Step>,
    /// The steps in short, between these two texts; empty if the steps need more.
    plain: Vec<Plain>,
    opening: Short,
    closing: Short,
    /// The text after the last value.
    tail: Text,
    size_min: usize,
    /// Bytes of the line, at most, without the text that the view appends.
    room: usize,
    platform: Platform,
    kind: u8,
}

impl Recipe {
    pub(crate) fn new(row: Row<'_>) -> Recipe {
        Recipe {
            bytes: Vec::with_capacity(BYTES_USUAL),
            pending: Vec::new(),
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

    /// Returns the text before the next value, or the tail, for appending.
    pub(crate) fn text(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Makes room for longer text of `Line::head`.
    pub(crate) fn add_room(&mut self, size: usize) {
        self.room += size;
    }

    /// Makes the text so far that of [`Recipe::write_intro`].
    pub(crate) fn end_intro(&mut self) {
        self.intro = self.take_text();
    }

    /// Adds a step for each parameter: `step` appends the text before the value.
    pub(crate) fn push_all(
        &mut self,
        params: &[Param],
        mut step: impl FnMut(&Param, &mut Vec<u8>) -> Form,
    ) {
        for (index, param) in params.iter().enumerate() {
            let form = step(param, &mut self.pending);
            self.push(param, index, form);
        }
    }

    /// Adds a step: the text so far, then the value of the parameter with this index.
    pub(crate) fn push(&mut self, param: &Param, index: usize, form: Form) {
        let size = match param.sort {
            // An event has at least one byte of its string.
            Sort::S => 1,
            sort => sort.size(usize::from(self.platform.word_size)).clamp(1, 8) as u8,
        };
        let end = param.offset.saturating_add(size.into());
        self.size_min = self.size_min.max(end as usize);
        let is_boolean = param.sort == Sort::B;
        let mask = if is_boolean { param.mask.into() } else { u64::MAX >> (64 - 8 * size) };
        let choice = match form {
            Form::Choice(no, yes) => [self.add(no), self.add(yes)],
            _ => [Text::default(); 2],
        };
        let rest = self.pending.split_off(self.pending.len().min(STORE_SIZE));
        let short = Short::new(&std::mem::replace(&mut self.pending, rest)).unwrap_or_default();
        let step = Step {
            short,
            rest: self.take_text(),
            at: end.saturating_sub(8),
            index: index as u16,
            // The parameter's bytes are the last of the load.
            shift: if self.platform.big_endian { 0 } else { 64 - 8 * size },
            is_pointer: param.sort == Sort::P,
            is_real: param.sort == Sort::D,
            mask,
            form,
            choice,
        };
        self.steps.push(step);
        self.room += VALUE_ROOM + STORE_SIZE;
    }

    /// Ends the recipe: the text so far is the tail.
    pub(crate) fn end(mut self) -> Recipe {
        self.tail = self.take_text();
        // A pen takes text sixteen bytes at a time.
        self.bytes.extend_from_slice(&[0; STORE_SIZE]);
        self
    }

    /// Shortens the steps if possible, which makes each line faster.
    fn shorten(mut self) -> Recipe {
        if let Some((opening, closing, plain)) = self.shortened() {
            (self.opening, self.closing, self.plain) = (opening, closing, plain);
        }
        self.bytes.shrink_to_fit();
        self
    }

    /// Returns the short form of the steps, with the texts before and after, if there is one.
    fn shortened(&self) -> Option<(Short, Short, Vec<Plain>)> {
        let mut opening = Short::default();
        let mut plain = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let text = step.short.bytes.get(..step.short.size.into())?;
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
        let tail = self.bytes.get(self.tail.begin as usize..)?.get(..self.tail.size as usize)?;
        Some((opening, Short::new(tail)?, plain))
    }

    fn take_text(&mut self) -> Text {
        let text = std::mem::take(&mut self.pending);
        self.add(text)
    }

    fn add(&mut self, text: impl AsRef<[u8]>) -> Text {
        let (text, begin) = (text.as_ref(), self.bytes.len() as u32);
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
    fn put(&self, text: Text, pen: &mut Pen<'_>) {
        pen.text(&self.bytes, text.begin as usize, text.size as usize);
    }

    #[inline(always)]
    pub(crate) fn write_intro(&self, pen: &mut Pen<'_>) {
        self.put(self.intro, pen);
    }

    #[inline(always)]
    fn write_plain<O: ByteOrder>(&self, bytes: &[u8], pen: &mut Pen<'_>) {
        pen.put(&self.opening.bytes, self.opening.size.into());
        for plain in &self.plain {
            pen.hex_after(plain.byte, load::<O>(bytes, plain.at) >> plain.shift & plain.mask);
        }
        pen.put(&self.closing.bytes, self.closing.size.into());
    }

    #[inline(always)]
    fn load(&self, bytes: &[u8], at: u32) -> u64 {
        match self.platform.big_endian {
            true => load::<BigEndian>(bytes, at),
            false => load::<LittleEndian>(bytes, at),
        }
    }

    /// Writes the output of `head`, then the steps and the tail. Returns whether a value of
    /// [`Form::LabelledLater`] has a label.
    #[inline(always)]
    pub(crate) fn write<C: Custom>(
        &self,
        event: &Event<'_, '_>,
        page: &mut Page,
        head: impl FnOnce(&Recipe, &mut Pen<'_>),
    ) -> bool {
        let mut pen = page.pen(self.room);
        let mut has_label = false;
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
            pen.put(&step.short.bytes, step.short.size.into());
            if step.rest.size > 0 {
                self.put(step.rest, &mut pen);
            }
            let value = self.load(event.bytes, step.at) >> step.shift & step.mask;
            match step.form {
                Form::Hex => pen.hex(value),
                Form::HexZeros(width) => pen.hex_zeros(value, width.into()),
                Form::HexSpaces(width) => pen.hex_spaces(value, width.into()),
                Form::Labelled(width) => {
                    pen.hex_zeros(value, width.into());
                    if let Some(id) = label_id(event, step, value) {
                        let written = pen.written();
                        pen = page.aside(written, self.room, |out| C::label(event, id, out));
                    }
                }
                Form::Named | Form::NamedWord => match label(event, step, value) {
                    Some(label) => {
                        let written = pen.written();
                        pen = page.aside(written, self.room, |out| text::quoted(out, label));
                    }
                    None => match step.form {
                        Form::Named => pen.hex_after_0x(value),
                        _ => pen.decimal(value),
                    },
                },
                Form::Scaled(scale) => scaled(scale, step.is_real, value, &mut pen),
                Form::LabelledLater => {
                    pen.hex(value);
                    has_label = has_label || label_id(event, step, value).is_some();
                }
                Form::Decimal => pen.decimal(value),
                Form::Choice(..) => {
                    let [no, yes] = step.choice;
                    self.put(if value == 0 { no } else { yes }, &mut pen);
                }
                Form::Custom => {
                    let written = pen.written();
                    let append = |out: &mut Vec<u8>| append_custom::<C>(event, step, out);
                    pen = page.aside(written, self.room, append);
                }
            }
        }
        self.put(self.tail, &mut pen);
        let written = pen.written();
        page.keep(written);
        has_label
    }
}

/// Returns the eight bytes from `at` on as a number.
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

#[inline(always)]
fn label<'e>(event: &Event<'_, 'e>, step: &Step, value: u64) -> Option<&'e [u8]> {
    label_id(event, step, value).and_then(|id| event.labels.string(id))
}

/// Writes a number in its unit, in ASCII.
#[inline(never)]
fn scaled(scale: Scale, is_real: bool, value: u64, pen: &mut Pen<'_>) {
    let value = if is_real { f64::from_bits(value) } else { value as f64 };
    if value.is_finite() {
        let figure = scale(value).ascii();
        let (text, size) = figure.padded();
        return pen.text(text, 0, size);
    }
    let mut text = Vec::new();
    text::double_general(&mut text, value);
    let size = text.len();
    text.extend_from_slice(&[0; STORE_SIZE]);
    pen.text(&text, 0, size);
}

#[inline(never)]
fn append_custom<C: Custom>(event: &Event<'_, '_>, step: &Step, out: &mut Vec<u8>) {
    if let Some(value) = event.param_at(step.index.into()) {
        C::value(value, out);
    }
}

/// The recipes of the event types of a log, by registry and row.
#[derive(Debug, Default)]
pub(crate) struct Recipes {
    rows: Vec<Vec<Recipe>>,
}

impl Recipes {
    /// Returns recipes for the event types of the registries of a log, in their order.
    pub(crate) fn new(registries: &[Registry], recipe: impl Fn(Row<'_>) -> Recipe) -> Recipes {
        let mut memory = 0;
        let rows = |registry: &Registry| {
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
        Recipes { rows: registries.iter().map(rows).collect() }
    }

    /// Returns the recipe for an event, if the event has all parameters and the kind of its type.
    /// (An event has the kind of its block.)
    #[inline(always)]
    pub(crate) fn get(&self, event: &Event<'_, '_>) -> Option<&Recipe> {
        let rows = self.rows.get(event.registry_index as usize)?;
        let recipe = rows.get(usize::from(event.event_type_index))?;
        (event.bytes.len() >= recipe.size_min && event.kind == recipe.kind).then_some(recipe)
    }
}
