//! Random functions that tell their own path: at the beginning of each way, they note its line and
//! its word.
//!
//! ```text
//!  seed ─▶ statements of every kind ─▶ one Rust file: functions, and a `main` that runs them
//! ```
//!
//! A note is an ordinary call in the code, or around an operand. So it makes no fork, and knows
//! nothing of `#[path]`.

use std::fmt::Write;

/// Functions of a file.
pub(crate) const FUNCTION_COUNT: usize = 100;
/// Calls of each function by `main`.
pub(crate) const CALL_COUNT: usize = 40;

/// What all functions use.
const PRELUDE: &str = include_str!("prelude.rs");

/// Returns a file.
pub(crate) fn file(seed: u64) -> String {
    let mut own =
        Generator { seed, text: PRELUDE.to_owned(), label: 0, places: Vec::new(), blocks: 0 };
    for number in 0..FUNCTION_COUNT {
        own.function(number);
    }
    own.line("static ALL: &[fn(&mut X) -> Option<u32>] = &[");
    for number in 0..FUNCTION_COUNT {
        own.line(&format!("    f{number},"));
    }
    own.line("];");
    own.line(&format!("const CALL_COUNT: u64 = {CALL_COUNT};"));
    own.text
}

struct Generator {
    seed: u64,
    text: String,
    label: usize,
    /// The loops and blocks around: their labels, and whether they are loops.
    places: Vec<(usize, bool)>,
    /// Labelled blocks around.
    blocks: usize,
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) % bound
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// The number of the line that is written next.
    fn here(&self) -> usize {
        self.text.lines().count() + 1
    }

    fn function(&mut self, number: usize) {
        self.line("#[calls::path]");
        self.line(&format!("fn f{number}(x: &mut X) -> Option<u32> {{"));
        self.line(&format!("let _call = Call::new({number});"));
        self.line("let mut sum = 0u32;");
        self.statements(0, number);
        let end = [
            "Some(sum)",
            "x.opt(&mut sum)",
            "{ if x.bit() { t(\"then\"); None } else { t(\"else\"); Some(1) } }",
        ];
        let end = end[self.below(3) as usize];
        self.line(end);
        self.line("}");
    }

    fn statements(&mut self, depth: usize, number: usize) {
        for _ in 0..1 + self.below(if depth == 0 { 5 } else { 3 }) {
            let kinds = if depth < 4 { 19 } else { 4 };
            match self.below(kinds) {
                0 => self.line("sum = sum.wrapping_add(x.num(9));"),
                1 => self.lazy(),
                2 => self.tried(),
                3 => self.macros(),
                4 => self.choice(depth, number),
                5 => self.short_choice(depth, number),
                6 | 7 => self.turns(depth, number),
                8 => self.endless(depth, number),
                9 | 10 => self.matching(depth, number),
                11 => self.let_else(),
                12 => self.jump(),
                13 => self.labelled(depth, number),
                14 => self.calling(number),
                15 => self.opaque(),
                16 => self.conditional(depth, number),
                17 => self.panicking(),
                _ => self.else_if(depth, number),
            }
        }
    }

    /// A condition: everything in it stands on one line.
    fn condition(&mut self, depth: usize, may_let: bool) -> String {
        let right = "t(\"right side\");";
        match self.below(if depth < 2 { 6 } else { 2 }) {
            2 => {
                let [one, other] = [0, 1].map(|_| self.condition(depth + 1, may_let));
                let other = if other.starts_with("let ") {
                    other.replacen("{ ", &format!("{{ {right} "), 1)
                } else if other.contains("let ") {
                    return one;
                } else {
                    format!("{{ {right} {other} }}")
                };
                format!("{one} && {other}")
            }
            3 => {
                let [one, other] = [0, 1].map(|_| self.condition(depth + 1, false));
                format!("({one} || {{ {right} {other} }})")
            }
            4 => format!("!({})", self.condition(depth + 1, false)),
            5 if may_let => "let Some(_) = { x.opt(&mut sum) }".to_owned(),
            _ => "x.bit()".to_owned(),
        }
    }

    fn choice(&mut self, depth: usize, number: usize) {
        let condition = self.condition(0, true);
        self.line(&format!("if {condition} {{ t(\"then\");"));
        self.statements(depth + 1, number);
        self.line("} else { t(\"else\");");
        self.statements(depth + 1, number);
        self.line("}");
    }

    fn else_if(&mut self, depth: usize, number: usize) {
        let condition = self.condition(0, true);
        self.line(&format!("if {condition} {{ t(\"then\");"));
        self.statements(depth + 1, number);
        self.line("} else if { t(\"else\"); x.bit() } { t(\"then\");");
        self.line("sum += 1;");
        self.line("} else { t(\"else\");");
        self.statements(depth + 1, number);
        self.line("}");
    }

    /// Without an `else`: the condition notes it, with the line where the block ends.
    fn short_choice(&mut self, depth: usize, number: usize) {
        let mark = format!("@{}@", self.here());
        self.line(&format!("if or_note(x.bit(), {mark}, \"else\") {{ t(\"then\");"));
        self.statements(depth + 1, number);
        let end = self.here().to_string();
        self.line("}");
        self.text = self.text.replace(&mark, &end);
    }

    fn turns(&mut self, depth: usize, number: usize) {
        self.label += 1;
        let label = self.label;
        let head = match self.below(3) {
            0 => "for _ in 0..x.num(3)".to_owned(),
            1 => format!("while {}", self.condition(0, true)),
            _ => "while x.bit()".to_owned(),
        };
        let out = fork("x.is_out()", "break;");
        self.line(&format!("'l{label}: {head} {{ t(\"body\"); {out}"));
        self.places.push((label, true));
        self.statements(depth + 1, number);
        self.places.pop();
        self.line("} t(\"after\");");
    }

    fn endless(&mut self, depth: usize, number: usize) {
        self.label += 1;
        let label = self.label;
        self.line(&format!("sum += 'l{label}: loop {{"));
        let out = "x.is_out() || { t(\"right side\"); x.bit() }";
        self.line(&fork(out, "break 3;"));
        self.places.push((label, false));
        self.statements(depth + 1, number);
        self.places.pop();
        self.line("};");
    }

    fn matching(&mut self, depth: usize, number: usize) {
        self.line("sum += match x.num(6) {");
        let guard = self.condition(1, false);
        self.line(&format!("0 | 1 if {{ t(\"guard\"); {guard} }} => {{ t(\"arm\");"));
        self.statements(depth + 1, number);
        self.line("1 }");
        self.line("1 => { t(\"arm\"); 2 }");
        let guard = self.condition(0, false);
        let right = format!("{{ t(\"right side\"); {guard} }}");
        let first = "n @ (2 | 3) if { t(\"guard\"); n > 1 }";
        self.line(&format!("{first} && {right} => note(n, \"arm\"),"));
        self.line("4 => { t(\"arm\");");
        self.statements(depth + 1, number);
        self.line("4 }");
        self.line("_ => note(0, \"arm\"),");
        self.line("};");
    }

    fn lazy(&mut self) {
        let (op, is_and) = if self.below(2) == 0 { ("&&", true) } else { ("||", false) };
        let right = "{ t(\"right side\"); x.bit() }";
        self.line(&format!("sum += u32::from(lazy(x.bit(), {is_and}) {op} {right});"));
    }

    fn tried(&mut self) {
        self.line("sum = sum.wrapping_add(note(x.often(&mut sum)?, \"value of ?\"));");
    }

    fn let_else(&mut self) {
        let other = "{ t(\"else\"); return Some(9); }";
        self.line(&format!("let Some(value) = x.often(&mut sum) else {other}; t(\"matched\");"));
        self.line("sum ^= value;");
    }

    fn macros(&mut self) {
        let before = if self.is_looped() { "t(\"before the macro\"); " } else { "" };
        self.line(&format!("{before}own!(sum); t(\"after the macro\");"));
    }

    /// Returns whether a loop or a labelled block is around.
    fn is_looped(&self) -> bool {
        !self.places.is_empty() || self.blocks > 0
    }

    fn jump(&mut self) {
        let place = self.places.last().copied();
        let jump = match (place, self.below(4)) {
            (Some((label, true)), 0) => format!("continue 'l{label};"),
            (Some((_, true)), 1) => "break;".to_owned(),
            (Some((label, true)), 2) => format!("break 'l{label};"),
            (Some((label, false)), 0) => format!("continue 'l{label};"),
            (Some((label, false)), _) => format!("break 'l{label} 7;"),
            _ => "return Some(sum);".to_owned(),
        };
        self.line(&format!("if x.bit() {{ t(\"then\"); {jump} }} else {{ t(\"else\"); }}"));
    }

    fn labelled(&mut self, depth: usize, number: usize) {
        self.label += 1;
        let label = self.label;
        self.line(&format!("'l{label}: {{"));
        self.line(&fork("x.bit()", &format!("break 'l{label};")));
        self.blocks += 1;
        self.statements(depth + 1, number);
        self.blocks -= 1;
        self.line("}");
    }

    fn calling(&mut self, number: usize) {
        let callee = (number + self.below(3) as usize).min(FUNCTION_COUNT - 1);
        let call = format!("sum ^= f{callee}(x).unwrap_or(1); x.leave();");
        self.line(&fork("x.may_call()", &call));
    }

    fn opaque(&mut self) {
        let all = [
            "let own = |y: u32| { if y > 3 { return 1; } y }; sum += own(x.num(8));",
            "unsafe { if x.bit() { t(\"then\"); sum += 1; } else { t(\"else\"); } }",
            "sum += const { if 1 > 2 { 3 } else { 4 } };",
            "fn inner(y: u32) -> u32 { if y > 3 { return 1; } y } sum += inner(x.num(8));",
            "sum += [x.num(3), if x.bit() { t(\"then\"); 1 } else { t(\"else\"); 2 }][1];",
            "println_to(format_args!(\"{}\", sum)); assert!(sum < u32::MAX, \"{sum}\");",
        ];
        let own = all[self.below(all.len() as u64) as usize];
        self.line(&format!("{{ {own} }}"));
    }

    fn conditional(&mut self, depth: usize, number: usize) {
        let (is, word) =
            if self.below(2) == 0 { ("not(never)", "with") } else { ("never", "without") };
        let line = self.here();
        self.line(&format!("put({}, \"{word}\");", line + 1));
        let choice = "if x.bit() { t(\"then\"); sum += 1; } else { t(\"else\");";
        self.line(&format!("#[cfg({is})] {{ {choice}"));
        self.statements(depth + 2, number);
        self.line("} }");
    }

    fn panicking(&mut self) {
        self.line("if x.rarely() { t(\"then\"); panic!(\"rarely\"); } else { t(\"else\"); }");
    }
}

/// Returns a fork: what runs if a condition holds.
fn fork(condition: &str, then: &str) -> String {
    format!("if {condition} {{ t(\"then\"); {then} }} else {{ t(\"else\"); }}")
}

/// Returns the line of a text that a number stands for, for a message.
pub(crate) fn around(text: &str, line: usize) -> String {
    let mut shown = String::new();
    for (at, own) in text.lines().enumerate().skip(line.saturating_sub(4)).take(7) {
        let _ = writeln!(shown, "{:5} {own}", at + 1);
    }
    shown
}
