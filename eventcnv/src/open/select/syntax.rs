//! Parses conditions: `size >= 4096 and pool == "symbols"`.
//!
//! ```text
//!  text ── tokens ──▶ or ── and ── not ── comparison ── operand     │ error and its column
//! ```
//!
//! Design: `.cnv.where` in `design/eventcnv.md`.

use crate::open::select::condition::{Expression, Fact, Operand, Operator};
use eventlog::reader::marks::Unit;
use std::fmt;

/// Parentheses and negations within one another, at most.
const DEPTH_MAX: usize = 64;

/// The forms of a number.
const NUMBERS: &str = "4096, 1_000, 0x1F, 0.5, 5e6; with K, M, G or KiB to EiB for powers of \
                       1024; with ns, us, ms, s, h, d, y for ns";

/// An error at a byte of a condition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    text: String,
    at: usize,
    what: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.at).unwrap_or(&self.text).chars().count();
        writeln!(f, "{} at column {} of the condition", self.what, before + 1)?;
        let text: String =
            self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        write!(f, "  {text}\n  {:before$}^", "")
    }
}

pub(crate) fn parse(text: &str) -> Result<Expression, SyntaxError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let expression = parser.disjunction()?;
    match parser.peek()? {
        Token::End => Ok(expression),
        _ => Err(parser.expected("`and`, `or` or the end")),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    End,
    Open,
    Close,
    And,
    Or,
    Not,
    Operator(Operator),
    Operand(Operand),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn disjunction(&mut self) -> Result<Expression, SyntaxError> {
        let mut terms = vec![self.conjunction()?];
        while self.peek()? == Token::Or {
            self.take()?;
            terms.push(self.conjunction()?);
        }
        Ok(if terms.len() > 1 { Expression::Or(terms) } else { terms.remove(0) })
    }

    fn conjunction(&mut self) -> Result<Expression, SyntaxError> {
        let mut terms = vec![self.term()?];
        while self.peek()? == Token::And {
            self.take()?;
            terms.push(self.term()?);
        }
        Ok(if terms.len() > 1 { Expression::And(terms) } else { terms.remove(0) })
    }

    fn term(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(self.at, format!("more than {DEPTH_MAX} parentheses")));
        }
        let expression = match self.peek()? {
            Token::Not => {
                self.take()?;
                Expression::Not(Box::new(self.term()?))
            }
            Token::Open => {
                self.take()?;
                let inner = self.disjunction()?;
                if self.peek()? != Token::Close {
                    return Err(self.expected("`)`, `and` or `or`"));
                }
                self.take()?;
                inner
            }
            Token::Operand(left) => {
                self.take()?;
                self.comparison(left)?
            }
            _ => return Err(self.expected("a parameter, a number, a string or `(`")),
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn comparison(&mut self, left: Operand) -> Result<Expression, SyntaxError> {
        let Token::Operator(operator) = self.peek()? else {
            return match left {
                Operand::Param { .. } | Operand::Fact(_) => Ok(Expression::Is(left)),
                _ => Err(self.expected("a comparison (==, !=, <, <=, >, >=, ~)")),
            };
        };
        self.take()?;
        let Token::Operand(right) = self.peek()? else {
            return Err(self.expected("a parameter, a number or a string"));
        };
        self.take()?;
        Ok(Expression::Compare(left, operator, right))
    }

    fn peek(&self) -> Result<Token, SyntaxError> {
        Ok(self.token()?.0)
    }

    fn take(&mut self) -> Result<(), SyntaxError> {
        self.at = self.token()?.1;
        Ok(())
    }

    /// Returns the next token, and its end.
    fn token(&self) -> Result<(Token, usize), SyntaxError> {
        let begin = self.begin();
        let rest = self.text.get(begin..).unwrap_or_default();
        let symbols = [
            ("&&", Token::And),
            ("||", Token::Or),
            ("==", Token::Operator(Operator::Equal)),
            ("!=", Token::Operator(Operator::Unequal)),
            ("<=", Token::Operator(Operator::AtMost)),
            (">=", Token::Operator(Operator::AtLeast)),
            ("<", Token::Operator(Operator::Less)),
            (">", Token::Operator(Operator::Greater)),
            ("=", Token::Operator(Operator::Equal)),
            ("~", Token::Operator(Operator::Contains)),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        for (symbol, token) in symbols {
            if rest.starts_with(symbol) {
                return Ok((token, begin + symbol.len()));
            }
        }
        match rest.chars().next() {
            None => Ok((Token::End, begin)),
            Some(quote @ ('"' | '\'')) => self.string(begin, quote),
            Some(c) if c.is_ascii_digit() || c == '-' || c == '.' => self.number(begin),
            Some(c) if is_of_name(c) || c == '@' => self.name(begin),
            Some(c) => Err(self.error(begin, format!("unexpected {c:?}"))),
        }
    }

    fn begin(&self) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at + (rest.len() - rest.trim_start().len())
    }

    /// Parses a string in either quotation marks. A backslash keeps the next character.
    fn string(&self, begin: usize, quote: char) -> Result<(Token, usize), SyntaxError> {
        let mut string = String::new();
        let mut chars = self.text.get(begin + 1..).unwrap_or_default().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    let end = begin + 1 + at + 1;
                    return Ok((Token::Operand(Operand::Text(string.into())), end));
                }
                '\\' => string.extend(chars.next().map(|(_, c)| c)),
                c => string.push(c),
            }
        }
        Err(self.error(begin, format!("the string lacks its closing {quote}")))
    }

    /// Parses a number: 4096, 0x1F, 4K, 1_000, 0.5, -1, 5ms, 5 ms.
    fn number(&self, begin: usize) -> Result<(Token, usize), SyntaxError> {
        let rest = self.text.get(begin..).unwrap_or_default();
        let is_part = |(at, c): &(usize, char)| {
            c.is_alphanumeric()
                || matches!(c, '_' | '.')
                || (*at == 0 && *c == '-')
                || (matches!(c, '-' | '+')
                    && !rest.starts_with("0x")
                    && rest[..*at].ends_with(['e', 'E']))
        };
        let end = rest.char_indices().find(|part| !is_part(part));
        let size = end.map_or(rest.len(), |(at, _)| at);
        let mut text = rest.get(..size).unwrap_or_default().to_owned();
        // A space before the unit, as `--style text` prints it.
        let after = rest.get(size..).unwrap_or_default();
        let spaced = after.trim_start();
        let word = spaced.find(|c| !is_of_name(c)).unwrap_or(spaced.len());
        let unit = spaced.get(..word).unwrap_or_default();
        let is_unit = UNITS.iter().any(|(known, ..)| *known == unit);
        let unit_size = if is_unit { after.len() - spaced.len() + word } else { 0 };
        text += if is_unit { unit } else { "" };
        let operand = number(&text)
            .ok_or_else(|| self.error(begin, format!("{text} is not a number ({NUMBERS})")))?;
        Ok((Token::Operand(operand), begin + size + unit_size))
    }

    fn name(&self, begin: usize) -> Result<(Token, usize), SyntaxError> {
        let rest = self.text.get(begin..).unwrap_or_default();
        let is_part =
            |(at, c): &(usize, char)| is_of_name(*c) || *c == '.' || (*at == 0 && *c == '@');
        let end = rest.char_indices().find(|part| !is_part(part)).map_or(rest.len(), |(at, _)| at);
        let name = rest.get(..end).unwrap_or_default();
        let token = match name {
            "and" => Token::And,
            "or" => Token::Or,
            "not" => Token::Not,
            "true" => Token::Operand(Operand::Bool(true)),
            "false" => Token::Operand(Operand::Bool(false)),
            _ => Token::Operand(match name.strip_prefix('@') {
                Some(fact) => Operand::Fact(Fact::named(fact).ok_or_else(|| {
                    let names = Fact::ALL.map(|(name, _)| format!("@{name}")).join(", ");
                    self.error(begin, format!("unknown {name}; expected one of {names}"))
                })?),
                None => match name.split_once('.') {
                    Some((of, name)) => {
                        Operand::Param { of: Some(of.to_owned()), name: name.to_owned() }
                    }
                    None => Operand::Param { of: None, name: name.to_owned() },
                },
            }),
        };
        Ok((token, begin + end))
    }

    fn expected(&self, what: &str) -> SyntaxError {
        self.error(self.begin(), format!("expected {what}"))
    }

    fn error(&self, at: usize, what: String) -> SyntaxError {
        SyntaxError { text: self.text.to_owned(), at, what }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The units of numbers, and what a number with them is: one that ends another comes after it.
const UNITS: [(&str, u64, Option<Unit>); 18] = {
    const BYTES: Option<Unit> = Some(Unit::Bytes);
    const NS: Option<Unit> = Some(Unit::Ns);
    [
        ("K", 1 << 10, None),
        ("k", 1 << 10, None),
        ("M", 1 << 20, None),
        ("G", 1 << 30, None),
        ("KiB", 1 << 10, BYTES),
        ("MiB", 1 << 20, BYTES),
        ("GiB", 1 << 30, BYTES),
        ("TiB", 1 << 40, BYTES),
        ("PiB", 1 << 50, BYTES),
        ("EiB", 1 << 60, BYTES),
        ("ns", 1, NS),
        ("us", 1_000, NS),
        ("µs", 1_000, NS),
        ("ms", 1_000_000, NS),
        ("s", 1_000_000_000, NS),
        ("h", 3_600_000_000_000, NS),
        ("d", 86_400_000_000_000, NS),
        ("y", 31_557_600_000_000_000, NS),
    ]
};

/// Parses a number: decimal or hexadecimal, with a unit, or with a fraction.
fn number(text: &str) -> Option<Operand> {
    let plain = text.replace('_', "");
    let hex = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X"));
    if let Some(digits) = hex {
        return u64::from_str_radix(digits, 16).ok().map(Operand::Int);
    }
    let split = |(word, factor, unit): &(&str, u64, Option<Unit>)| {
        Some((plain.strip_suffix(word)?, *factor, *unit))
    };
    let (digits, factor, unit) = UNITS.iter().find_map(split).unwrap_or((&plain, 1, None));
    let number = scaled(digits, factor)?;
    Some(match unit {
        Some(unit) => Operand::Measure(text.to_owned(), unit, Box::new(number)),
        None => number,
    })
}

/// Parses a decimal number, times a factor.
fn scaled(digits: &str, factor: u64) -> Option<Operand> {
    if let Ok(value) = digits.parse::<u64>() {
        let whole = value.checked_mul(factor).map(Operand::Int);
        // As any number that is greater than all words.
        return Some(whole.unwrap_or(Operand::Real(value as f64 * factor as f64)));
    }
    let is_numeric = digits.bytes().all(|byte| byte.is_ascii_digit() || b".-+eE".contains(&byte));
    let value: f64 = is_numeric.then(|| digits.parse().ok()).flatten()?;
    Some(Operand::Real(value * factor as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(expression) => format!("{expression:?}"),
            Err(error) => error.to_string(),
        }
    }

    /// `.cnv.where`
    #[test]
    fn not_binds_before_and_and_and_before_or() {
        let param = |of: Option<&str>, name: &str| Operand::Param {
            of: of.map(str::to_owned),
            name: name.to_owned(),
        };
        let is = |name: &str| Expression::Is(param(None, name));
        let compare =
            |name: &str, operator, value| Expression::Compare(param(None, name), operator, value);
        let text = |text: &str| Operand::Text(text.as_bytes().to_vec());
        let (int, not) = (Operand::Int, |term| Expression::Not(Box::new(term)));
        let measure =
            |text: &str, unit, number| Operand::Measure(text.to_owned(), unit, Box::new(number));
        let ns = |text, value| measure(text, Unit::Ns, int(value));
        let ns_real = |text, value| measure(text, Unit::Ns, Operand::Real(value));
        let bytes = |text, value| measure(text, Unit::Bytes, int(value));
        use Expression::{And, Compare, Or};
        use Operator::{AtMost, Contains, Equal, Greater, Less, Unequal};
        for (condition, expected) in [
            (
                "a == 1 or b==2 and c=3",
                Or(vec![
                    compare("a", Equal, int(1)),
                    And(vec![compare("b", Equal, int(2)), compare("c", Equal, int(3))]),
                ]),
            ),
            (
                "not a < 1 && !(b or c)",
                And(vec![not(compare("a", Less, int(1))), not(Or(vec![is("b"), is("c")]))]),
            ),
            (
                "x.y ~ 'it\\'s' || @kind == \"Pool\"",
                Or(vec![
                    Compare(param(Some("x"), "y"), Contains, text("it's")),
                    Compare(Operand::Fact(Fact::Kind), Equal, text("Pool")),
                ]),
            ),
            ("4K <= size", Compare(int(4096), AtMost, param(None, "size"))),
            ("a > 5M", compare("a", Greater, int(5 << 20))),
            ("a > 5MiB", compare("a", Greater, bytes("5MiB", 5 << 20))),
            ("a > 5e6", compare("a", Greater, Operand::Real(5_000_000.0))),
            ("a > 5_000_000", compare("a", Greater, int(5_000_000))),
            ("a > 1GiB", compare("a", Greater, bytes("1GiB", 1 << 30))),
            ("a > 7ns", compare("a", Greater, ns("7ns", 7))),
            ("a > 5us", compare("a", Greater, ns("5us", 5_000))),
            ("a > 5µs", compare("a", Greater, ns("5µs", 5_000))),
            ("a > 1.5ms", compare("a", Greater, ns_real("1.5ms", 1_500_000.0))),
            ("a > 2s", compare("a", Greater, ns("2s", 2_000_000_000))),
            ("a > .5s", compare("a", Greater, ns_real(".5s", 500_000_000.0))),
            ("a > 2E-1us", compare("a", Greater, ns_real("2E-1us", 200.0))),
            ("a > 5 ms", compare("a", Greater, ns("5ms", 5_000_000))),
            ("8 PiB<a", Compare(bytes("8PiB", 8 << 50), Less, param(None, "a"))),
            (
                "a > 16EiB",
                compare("a", Greater, measure("16EiB", Unit::Bytes, Operand::Real(2f64.powi(64)))),
            ),
            ("a > 2 d", compare("a", Greater, ns("2d", 172_800_000_000_000))),
            ("w != 0xfF", compare("w", Unequal, int(255))),
            ("d > -1.5e-3", compare("d", Greater, Operand::Real(-0.0015))),
            ("done == true", compare("done", Equal, Operand::Bool(true))),
        ] {
            assert_eq!(parse(condition), Ok(expected), "{condition}");
        }
    }

    #[test]
    fn a_syntax_error_shows_its_place() {
        for (text, column, what) in [
            ("", 1, "expected a parameter, a number, a string or `(`"),
            ("size >=", 8, "expected a parameter, a number or a string"),
            ("(a", 3, "expected `)`, `and` or `or`"),
            ("é == \"x", 6, "the string lacks its closing \""),
            ("a 3", 3, "expected `and`, `or` or the end"),
            ("7", 2, "expected a comparison (==, !=, <, <=, >, >=, ~)"),
            ("a > 1q", 5, &format!("1q is not a number ({NUMBERS})")),
            ("a > 5sec", 5, &format!("5sec is not a number ({NUMBERS})")),
            ("a > 5Kms", 5, &format!("5Kms is not a number ({NUMBERS})")),
            ("a > 5 sec", 7, "expected `and`, `or` or the end"),
            ("a > 5ms ms", 5, &format!("5msms is not a number ({NUMBERS})")),
            ("a > 1.2.3", 5, &format!("1.2.3 is not a number ({NUMBERS})")),
            ("a > .", 5, &format!(". is not a number ({NUMBERS})")),
            ("a > 0x1ms", 5, &format!("0x1ms is not a number ({NUMBERS})")),
            ("a # b", 3, "unexpected '#'"),
        ] {
            let caret = " ".repeat(column + 1) + "^";
            let expected = format!("{what} at column {column} of the condition\n  {text}\n{caret}");
            assert_eq!(shown(text), expected);
        }
        assert!(shown("@colour == 1").starts_with("unknown @colour; expected one of @event, "));
        assert!(shown(&"(".repeat(1000)).starts_with("more than 64 parentheses at column"));
        assert!(shown(&"not ".repeat(1000)).starts_with("more than 64 parentheses at column"));
    }
}
