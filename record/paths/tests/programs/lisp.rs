//! A small Lisp: numbers, `if`, `+ - * <`, functions of one argument by their number.

#[derive(Debug)]
enum Form {
    Number(i64),
    Word(String),
    List(Vec<Form>),
}

fn read(words: &mut std::iter::Peekable<std::str::SplitWhitespace<'_>>) -> Form {
    match words.next() {
        Some("(") => {
            let mut list = Vec::new();
            while words.peek().is_some_and(|word| *word != ")") {
                list.push(read(words));
            }
            words.next();
            Form::List(list)
        }
        Some(word) => word.parse().map_or_else(|_| Form::Word(word.to_owned()), Form::Number),
        None => Form::Number(0),
    }
}

fn value(form: &Form, n: i64, function: &Form) -> i64 {
    match form {
        Form::Number(number) => *number,
        Form::Word(_) => n,
        Form::List(list) => {
            let at = |index: usize| list.get(index).map_or(0, |own| value(own, n, function));
            match list.first() {
                Some(Form::Word(word)) => match word.as_str() {
                    "if" if at(1) != 0 => at(2),
                    "if" => at(3),
                    "+" => at(1) + at(2),
                    "-" => at(1) - at(2),
                    "*" => at(1) * at(2),
                    "<" => i64::from(at(1) < at(2)),
                    _ => value(function, at(1), function),
                },
                _ => 0,
            }
        }
    }
}

fn main() {
    let text = "( if ( < n 2 ) n ( + ( f ( - n 1 ) ) ( f ( - n 2 ) ) ) )";
    let function = read(&mut text.split_whitespace().peekable());
    println!("{}", value(&function, 9, &function));
}
