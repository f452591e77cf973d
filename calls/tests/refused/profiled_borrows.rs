//! Errors of borrows in profiled code: the compiler shows the user's lines, and no macro of ours.
//~ profiled_borrows.rs:15:13
//~ profiled_borrows.rs:17:49
//~ profiled_borrows.rs:20:52
//~ profiled_borrows.rs:22:9
//~ future cannot be sent between threads safely
//~ profiled_borrows.rs:28:32
//~! __block
//~! __STATEMENTS
#[calls::profiled]
mod shop {
    pub fn sell(mut names: Vec<String>) -> usize {
        for name in &names {
            drop(name);
            names.clear();
        }
        let closure = |text: &String| -> &str { &String::new() };
        match names.len() {
            0 => drop(names),
            _ => drop(names.into_iter().map(|name| (name, &name)).count()),
        }
        names.len()
    }

    pub async fn later() -> usize {
        let shared = std::rc::Rc::new(3);
        let size = *shared;
        std::future::ready(()).await;
        size + *shared
    }
}

fn sent<T: Send>(_: T) {}

fn main() {
    sent(shop::later());
}
