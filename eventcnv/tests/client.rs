//! The ring of a client: rates against its own counts; hard names and values in each form.
//!
//! ```text
//!  client 9000 ─┬─ ring:ring.log?size=90000 ──▶ eventcnv: events a second, columns, names
//!               └─ counted.txt: how many steps it made, and when ──▶ the truth
//! ```
//!
//! `tests/src/bin/client.rs` recorded both. Rules: `.cnv.history`, `.cnv.styles`, `.cnv.json`,
//! `.cnv.where`, `.cnv.marks`, `.cnv.sql`, `.cnv.parquet` in `design/eventcnv.md`.

#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;

use std::collections::BTreeSet;
use std::fs;
use support::{golden_path, run};
use tempfile::TempDir;

fn ring() -> String {
    golden_path("client/ring.log").to_str().unwrap().to_owned()
}

fn out(args: &[&str]) -> String {
    let (text, code, errors) = run(args);
    assert!(code < 2, "{args:?}: {errors}");
    String::from_utf8(text).unwrap()
}

/// `.cnv.styles`
#[test]
fn csv_columns_have_names_of_their_own() {
    let text = out(&["--style", "csv", &ring()]);
    let heading: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let distinct: BTreeSet<String> = heading.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(distinct.len(), heading.len(), "{heading:?}");
    let connect = text.lines().find(|line| line.contains(",Connect,")).unwrap();
    let cells: Vec<&str> = connect.split(',').collect();
    let cell = |name| cells[heading.iter().position(|found| *found == name).unwrap()];
    assert_eq!([cell("kind"), cell("thread")], ["User", "1"]);
    let own = ["kind_", "process", "Host", "thread_", "Thread__2", "host_"].map(cell);
    assert_eq!(own, ["1", "4711", "9", "10", "11", "db1.example.org"]);
}

/// `.cnv.parquet`: the parameter is not the partition.
#[cfg(feature = "parquet")]
#[test]
fn no_parameter_has_the_name_of_a_readers_column() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let directory = TempDir::new().unwrap();
    let data = directory.path().join("data");
    out(&["parquet", &ring(), "-o", data.to_str().unwrap()]);
    let host = fs::read_dir(data.join("Connect")).unwrap().next().unwrap().unwrap().path();
    let process = fs::read_dir(&host).unwrap().next().unwrap().unwrap().path();
    let file = fs::File::open(process.join("kind=User/part-0.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let found: Vec<(String, String)> = row
        .get_column_iter()
        .skip(8)
        .map(|(name, field)| (name.clone(), field.to_string()))
        .collect();
    let expected = [
        ("kind_", "1"),
        ("process_", "4711"),
        ("filename_", "7"),
        ("__filename_", "8"),
        ("Host_", "9"),
        ("thread_", "10"),
        ("Thread__2", "11"),
        ("host__2", "\"db1.example.org\""),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found[..8], expected, "{found:?}");
    let is_zstd = |at| reader.metadata().row_group(0).column(at).compression();
    assert!(format!("{:?}", is_zstd(0)).starts_with("ZSTD"));
}
