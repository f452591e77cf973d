//! The text of a collection.
//!
//! ```text
//!  run 2              the number of its profile
//!  midway             it lacks the begin of its run
//!  cut                it lacks the end of its run
//!  17 23 17 17        letters, in order
//! ```
//!
//! Design: `.paths.files` in `design/paths.md`.

use super::Collection;

/// Reads the text of a collection, and the number of its run, if the text names it.
///
/// # Errors
///
/// Fails at a line that is not such text.
pub fn read(text: &str) -> Result<(Option<usize>, Collection), String> {
    let (mut run, mut collection) = (None, Collection::whole(Vec::new()));
    for (line, text) in (1..).zip(text.lines()) {
        let own = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = own.split_whitespace().collect();
        let wrong = |word: &str| format!("line {line}: {word:?} is not a letter");
        match words[..] {
            ["run", number] => run = Some(number.parse().map_err(|_| wrong(number))?),
            ["midway"] => collection.begins = false,
            ["cut"] => collection.ends = false,
            _ => {
                for word in words {
                    collection.letters.push(word.parse().map_err(|_| wrong(word))?);
                }
            }
        }
    }
    Ok((run, collection))
}
