//! Counts the words of a text.

use std::collections::BTreeMap;

fn words(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut word = String::new();
    for letter in text.chars().chain([' ']) {
        match letter {
            'a'..='z' | '\'' => word.push(letter),
            'A'..='Z' => word.push(letter.to_ascii_lowercase()),
            _ if word.is_empty() => {}
            _ => *counts.entry(std::mem::take(&mut word)).or_insert(0) += 1,
        }
    }
    counts
}

fn main() {
    let text = "An apple, a pear; an apple pie isn't a pear pie. A fig is 1 fig, An apple too.";
    for (word, count) in words(&text.repeat(4)) {
        if count > 1 {
            println!("{count} {word}");
        }
    }
}
