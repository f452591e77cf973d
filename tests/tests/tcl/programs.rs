//! Random programs that count their own lines.

use tests::naive::Random;

/// Returns a random program that counts its own lines.
pub(crate) fn program_of(seed: u64) -> String {
    let mut writer = Writer { random: Random::new(seed), lines: Vec::new(), procedures: 4 };
    for number in 0..writer.procedures {
        writer.line(&format!("proc p{number} {{}} {{"));
        writer.line("if {[incr ::budget -1] < 0} {return x}");
        writer.block(4, false, true);
        if writer.random.one_in(3) {
            let to = writer.random.below(writer.procedures);
            writer.line(&format!("tailcall p{to}"));
        }
        writer.line("}");
    }
    writer.line("set ::budget 60; set ::k 0");
    for _ in 0..3 {
        writer.block(4, false, false);
    }
    writer.lines.join("\n") + "\n"
}

struct Writer {
    random: Random,
    lines: Vec<String>,
    procedures: u64,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    fn count(&self) -> String {
        format!("incr ::c({})", self.lines.len() + 1)
    }

    /// `text` ends with the brace that the block is in.
    fn within(&mut self, text: &str, depth: u32, is_loop: bool, is_procedure: bool) {
        self.line(text);
        self.block(depth, is_loop, is_procedure);
    }

    fn block(&mut self, depth: u32, is_loop: bool, is_procedure: bool) {
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth.saturating_sub(1), is_loop, is_procedure);
        }
    }

    fn statement(&mut self, depth: u32, is_loop: bool, is_procedure: bool) {
        let callee = self.random.below(self.procedures);
        let count = self.count();
        let choice = if depth == 0 { self.random.below(8) } else { self.random.below(24) };
        match choice {
            0..=2 => self.line(&count),
            3 => self.line(&format!("p{callee}")),
            4 => self.line(&format!("set y [p{callee}][{count}]")),
            5 => self.line(&format!("set y \"[p{callee}] [expr {{[{count}] + 1}}]\"; set z $y")),
            6 if is_loop => self.line("if {[incr ::k] % 4 == 0} continue"),
            6 if is_procedure => self.line("if {[incr ::k] % 5 == 0} {return y}"),
            7 if is_loop => self.line("if {[incr ::k] % 7 == 0} {break}"),
            6 | 7 => self.line(&format!("catch {{{count}; error x}}")),
            8..=21 => self.compound(choice, depth, is_loop, is_procedure),
            22 => self.line(&format!("{count}; {count}; set y [{count}][{count}]")),
            _ => self.line(&format!("lmap a {{1 2 3}} {{{count}}}; p{callee} ;# p{callee}")),
        }
        // Some texts have several lines.
        self.lines =
            self.lines.iter().flat_map(|text| text.split('\n')).map(str::to_owned).collect();
    }

    fn compound(&mut self, choice: u64, depth: u32, is_loop: bool, is_procedure: bool) {
        let (callee, number) = (self.random.below(self.procedures), self.lines.len());
        match choice {
            8 => {
                self.within("if {[incr ::k] % 3} {", depth, is_loop, is_procedure);
                self.within("} else {", depth, is_loop, is_procedure);
                self.line("}");
            }
            9 => {
                let text =
                    format!("for {{set i{number} 0}} {{$i{number} < 2}} {{incr i{number}}} {{");
                self.within(&text, depth, true, is_procedure);
                self.line("}");
            }
            10 => {
                self.within("foreach {a b} {1 2 3 4} {", depth, true, is_procedure);
                self.line("}");
            }
            11 => {
                self.line(&format!("set w{number} 0"));
                let text = format!("while {{[incr w{number}] < 4}} {{");
                self.within(&text, depth, true, is_procedure);
                self.line("}");
            }
            12 => {
                self.within("catch {", depth, false, is_procedure);
                self.line(&format!("set y [p{callee}][error x][{}]", self.count()));
                self.line("}");
            }
            13 => {
                self.within("eval {", depth, is_loop, is_procedure);
                self.line("}");
            }
            14 => {
                self.within("uplevel #0 {", depth, false, false);
                self.line("}");
            }
            15 => {
                self.within("switch [expr {[incr ::k] % 2}] {\n0 {", depth, is_loop, is_procedure);
                self.within("}\ndefault {", depth, is_loop, is_procedure);
                self.line("}\n}");
            }
            16 => {
                self.within("try {", depth, is_loop, is_procedure);
                self.within("} finally {", depth, false, false);
                self.line("}");
            }
            17 => {
                self.within("apply {{} {", depth, false, true);
                self.line("}}");
            }
            18 => {
                self.within("coroutine ::co[incr ::k] apply {{} {", depth, false, true);
                self.within("set z [yield [incr ::k]]", depth, false, true);
                self.line("}}");
            }
            19 => {
                self.line("foreach co [info commands ::co*] {catch $co}");
            }
            20 => {
                self.within("dict for {a b} {1 2 3 4} {", depth, true, is_procedure);
                self.line("}");
            }
            21 => {
                self.within("time {", depth, false, is_procedure);
                self.line("} 2");
            }
            _ => unreachable!("a choice from 8 to 21"),
        }
    }
}
