//! A real browser, headless: the console messages of a page, and the values that a script finds.
//!
//! ```text
//!  page + <script nonce> of the test ── chromium --dump-dom ──▶ data-NAME="…", CONSOLE lines
//! ```

use std::fs;
use std::process::{Command, Stdio};

/// A page after its scripts ran, and its console messages.
pub(crate) struct Page {
    pub(crate) dom: String,
    pub(crate) console: Vec<String>,
}

impl Page {
    /// Opens the page without scripts.
    pub(crate) fn still(page: &str) -> Page {
        let end = page.find("<script").expect("a script in the page");
        Page::open(&format!("{}</body></html>", &page[..end]), 1280)
    }

    /// Opens the page and runs a script, which may `say(name, value)`.
    pub(crate) fn used(page: &str, script: &str) -> Page {
        Page::open(&Page::with(page, script), 1280)
    }

    /// Opens pages in frames of these widths, because a window cannot be as narrow as a telephone.
    /// A value has the name `name-INDEX-WIDTH`.
    pub(crate) fn used_in_frames(pages: &[String], script: &str, widths: &[u32]) -> Page {
        let mut frames = String::new();
        for (index, page) in pages.iter().enumerate() {
            let inside = Page::with(page, script).replace('&', "&amp;").replace('"', "&quot;");
            for width in widths {
                let place = format!("name={index}-{width} width={width} height=1100");
                frames += &format!("<iframe {place} srcdoc=\"{inside}\"></iframe>");
            }
        }
        Page::open(&format!("<!doctype html><body>{frames}</body>"), 1800)
    }

    fn with(page: &str, script: &str) -> String {
        let nonce = page.split("script nonce=\"").nth(1).and_then(|rest| rest.split('"').next());
        let nonce = nonce.expect("a script of the page itself");
        let say = "const place = top === self ? '' : '-' + self.name;
            const say = (name, value) =>
              top.document.body.setAttribute(`data-${name}${place}`, value);";
        let own = format!("<script nonce=\"{nonce}\">{{ {say} {script} }}</script></body>");
        page.replace("</body>", &own)
    }

    fn open(page: &str, width: u32) -> Page {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("page.html");
        fs::write(&path, page).expect("a written page");
        let mut browser = Command::new("chromium");
        browser.args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]);
        browser.arg(format!("--window-size={width},1200"));
        browser.args(["--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom"]);
        browser.arg(format!("--user-data-dir={}", directory.path().join("profile").display()));
        browser.arg(format!("file://{}", path.display())).stdin(Stdio::null());
        let output = browser.output().expect("chromium runs; ./test --install installs it");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let console = errors.lines().filter(|line| line.contains("CONSOLE"));
        let console = console.map(str::to_owned).collect();
        Page { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console }
    }

    /// Returns a value of the script.
    pub(crate) fn said(&self, name: &str) -> &str {
        let begin = format!("data-{name}=\"");
        let rest = self.dom.split_once(&begin).map(|(_, rest)| rest);
        let rest = rest.unwrap_or_else(|| panic!("no {name}; the console: {:?}", self.console));
        rest.split('"').next().expect("a value")
    }

    /// Returns a number of the script.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.said(name).parse().expect("a number")
    }
}
