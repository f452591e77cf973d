//! A web page: one file that needs no other, and makes no network request.
//!
//! ```text
//!  title, about ── frame ─┐
//!  body: markup, tables ──┼──▶ page.html: complete without its script, which sorts tables
//!  page.css, page.js ─────┤    policy: no source but the page's own style and script
//!  styles, scripts, data ─┤
//!  chart.*, scale.rs ─────┘    lines and bars as SVG
//! ```
//!
//! Design: `.output.page` in `design/output.md`.

pub mod chart;
pub mod scale;

use crate::table::Table;
use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use serde_json::Value;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};

/// What the pages have in common.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The contents of a page.
pub struct Page<'p> {
    /// The title of the window, and of the page.
    pub title: &'p str,
    /// Words next to the title.
    pub about: &'p str,
    /// Styles of its own.
    pub styles: &'p [&'p str],
    /// Scripts of its own.
    pub scripts: &'p [&'p str],
    /// What is below the title.
    pub body: Markup,
    /// What the scripts find in the element `data`.
    pub data: Option<Value>,
}

impl Page<'_> {
    /// Writes the page.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Page { title, about, styles, scripts, body, data } = self;
        // No text of a log can end the script element that contains it.
        let data = data.as_ref().map(|data| data.to_string().replace('<', "\\u003c"));
        // Nor can it foresee the nonce of the page's own style and script.
        let mut hasher = DefaultHasher::new();
        (&body.0, &data).hash(&mut hasher);
        let nonce = format!("{:016x}", hasher.finish());
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
             base-uri 'none'; form-action 'none'"
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    title { (title) }
                    style nonce=(nonce) {
                        (PreEscaped(STYLE))
                        @for style in *styles { (PreEscaped(style)) }
                    }
                }
                body {
                    main {
                        header {
                            h1 { (title) }
                            span.soft { (about) }
                            label.theme { input type="checkbox" id="theme"; "Dark or light" }
                        }
                        (body)
                    }
                    @if let Some(data) = &data {
                        script type="application/json" id="data" nonce=(nonce) {
                            (PreEscaped(data))
                        }
                    }
                    script nonce=(nonce) {
                        (PreEscaped(SCRIPT))
                        @for script in *scripts { (PreEscaped(script)) }
                    }
                }
            }
        };
        out.write_all(page.into_string().as_bytes())?;
        out.write_all(b"\n")
    }
}

/// Returns boxes of a name and a value each; a bad one stands out.
pub fn facts<N: Render>(facts: impl IntoIterator<Item = (N, String, bool)>) -> Markup {
    html! {
        div.facts {
            @for (name, value, is_bad) in facts {
                div.fact.bad[is_bad] { b { (value) } span.soft { (name) } }
            }
        }
    }
}

/// Returns a table that can be wider and taller than its place. `class` returns the classes of a
/// row.
pub fn scroll(table: &Table<'_>, class: impl Fn(usize) -> String) -> Markup {
    html! { div.scroll { (table.markup(class)) } }
}

/// Returns a section of a title and a table.
pub fn section(title: &str, table: &Table<'_>) -> Markup {
    html! {
        section aria-label=(title) { h2 { (title) } (scroll(table, |_| String::new())) }
    }
}
