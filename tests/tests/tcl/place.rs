//! Runs scripts under tclsh with the package, and reads what they leave.
//!
//! ```text
//!  script.tcl ─ tclsh ─▶ Ran: what it printed      Place: logs/turtles-PID.log ─ SQL ─▶ edges
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tests::programs::{eventcnv, lines, root, run, system};

/// Calls by caller and callee.
pub(crate) type Edges = BTreeMap<(String, String), u64>;

/// A folder in which scripts run.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// What a script left.
pub(crate) struct Ran<'p> {
    place: &'p Place,
    output: Output,
}

/// Begins to record.
pub(crate) const RELEASE: &str = "package require turtles\n::turtles::release_the_turtles ::argv\n";
/// Has the commands fork, wait, kill, busy and threads.
pub(crate) const TOOLS: &str = "load [file join $env(TOOLS) libtools.so] Tools\n";
pub(crate) const ON: &[&str] = &["+TURTLES", "-enabled", "-dbPath", "logs", "-TURTLES"];

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command that runs a script with arguments.
    pub(crate) fn command(&self, script: &str, arguments: &[&str]) -> Command {
        std::fs::write(self.path().join("script.tcl"), script).expect("a writable folder");
        let name = std::env::var("TCLSH").unwrap_or_else(|_| "tclsh".to_owned());
        let mut command = system(&name);
        command.arg("script.tcl").args(arguments).current_dir(self.path());
        // `TCL_PROFILE` profiles the statements of all scripts.
        match std::env::var_os("TCL_PROFILE") {
            Some(mode) => command.env("MPS_TELEMETRY_PROFILE", mode),
            None => command.env_remove("MPS_TELEMETRY_PROFILE"),
        };
        for name in ["CONTROL", "FILENAME", "BLOCK_SIZE", "WRITER", "SOCKET", "POLICY", "CALLS"] {
            command.env_remove(format!("MPS_TELEMETRY_{name}"));
        }
        command.env_remove("EVENTCNV").env("TCLLIBPATH", package()).env("TOOLS", package());
        command
    }

    /// Runs a script that must succeed.
    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> Ran<'_> {
        self.end(&mut self.command(script, arguments))
    }

    pub(crate) fn end(&self, command: &mut Command) -> Ran<'_> {
        let output = command.output().expect("tclsh runs");
        let ran = Ran { place: self, output };
        assert!(ran.output.status.success(), "{}\n{}", ran.printed(), ran.said());
        ran
    }

    /// Returns the files in the folder `logs` that have this extension.
    pub(crate) fn files(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(files) = self.path().join("logs").read_dir() else { return Vec::new() };
        let paths = files.map(|file| file.expect("a folder").path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
        paths.sort();
        paths
    }

    /// Returns the one log.
    pub(crate) fn log(&self) -> PathBuf {
        let logs = self.files("log");
        let [log] = &logs[..] else { panic!("{logs:?}") };
        log.clone()
    }

    pub(crate) fn edges(&self) -> Edges {
        edges(&self.log())
    }
}

impl Ran<'_> {
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Returns what is on standard error.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Returns the counts that the script printed: a line for each caller and callee.
    pub(crate) fn twin(&self) -> Edges {
        let printed = self.printed();
        let counts = printed.lines().filter_map(|line| line.strip_prefix("twin "));
        let counts = counts.map(|line| {
            let words: Vec<&str> = line.split(',').collect();
            let [caller, callee, count] = words[..] else { panic!("{line}") };
            ((caller.to_owned(), callee.to_owned()), count.parse().expect("a number"))
        });
        counts.collect()
    }

    /// Asserts that the log has the calls that the script counted.
    pub(crate) fn check(&self) {
        let twin = self.twin();
        assert!(!twin.is_empty(), "{}", self.said());
        assert_eq!(self.place.edges(), twin);
    }
}

/// Returns the folder with the package, as it is installed, and the tools of these tests.
pub(crate) fn package() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // Builds the library, too, in the same folder.
        let program = PathBuf::from(eventcnv().get_program());
        let built = program.parent().expect("a folder");
        // Another library than that of the tests, such as one for use.
        let other = std::env::var_os("TURTLES").map(PathBuf::from);
        let folder = built.join(if other.is_some() { "tcl-package-other" } else { "tcl-package" });
        std::fs::create_dir_all(&folder).expect("a writable folder");
        // Another test may run it at this moment.
        let index = root().join("calls/tcl/pkgIndex.tcl");
        let link = |from: &Path, name: &str| {
            let _ = std::os::unix::fs::symlink(from, folder.join(name));
        };
        link(&index, "pkgIndex.tcl");
        link(&other.unwrap_or(built.join("libturtles.so")), "libturtles.so");
        let temporary = tempfile::NamedTempFile::new_in(&folder).expect("a file");
        let source = root().join("tests/tests/tcl/tools.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(temporary.path()).arg(source);
        run(cc.arg("-lpthread"));
        temporary.persist(folder.join("libtools.so")).expect("the same folder");
        folder
    })
}

/// Returns the answer of a query on logs: rows of columns.
pub(crate) fn query(logs: &[PathBuf], sql: &str) -> Vec<Vec<String>> {
    let lines = lines(eventcnv().args(["query", "--csv"]).args(logs).arg(sql));
    lines[1..].iter().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// Returns the calls in a log by caller and callee.
pub(crate) fn edges(log: &Path) -> Edges {
    let sql = "SELECT caller_name, callee_name, calls FROM calls_by_caller_callee";
    let rows = query(&[log.to_owned()], sql).into_iter();
    let rows = rows.map(|row| {
        let [caller, callee, count] = &row[..] else { panic!("{row:?}") };
        ((caller.replace('"', ""), callee.clone()), count.parse().expect("a number"))
    });
    rows.collect()
}

/// Returns edges for `caller callee count` in each line.
pub(crate) fn expected(text: &str) -> Edges {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let edges = words.filter(|words| !words.is_empty()).map(|words| {
        let [caller, callee, count] = words[..] else { panic!("{words:?}") };
        let caller = if caller == "-" { "" } else { caller };
        ((caller.to_owned(), callee.to_owned()), count.parse().expect("a number"))
    });
    edges.collect()
}
