//! Reads a text of JSON, changes it, and writes it.

use serde_json::{Value, json};

const TEXT: &str = r#"{"fruit": [{"name": "apple", "price": 1.25, "kinds": ["red", "green"]},
 {"name": "pear \u00e9", "price": 2e-1, "kinds": []}], "open": true, "next": null}"#;

fn main() {
    let mut read: Value = serde_json::from_str(TEXT).expect("JSON");
    if let Some(fruit) = read["fruit"].as_array_mut() {
        fruit.push(json!({"name": "fig", "price": 3, "kinds": ["blue"]}));
        fruit.sort_by_key(|own| own["name"].to_string());
    }
    println!("{read}");
}
