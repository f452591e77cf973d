//! A log as data sets of Parquet, read back by the library. `.cnv.parquet`

use crate::logs;
use crate::support::{mps, run};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The files below a directory.
fn files(directory: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.extend([path]),
        }
    }
    found
}

/// The rows of a file: names and values.
fn rows(path: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    });
    rows.collect()
}

/// An event as the numeric dump prints it, without the index of its registry, and which of its
/// words are doubles.
fn line(code: &str, row: &[(String, Field)]) -> (Vec<String>, Vec<usize>) {
    let Field::ULong(time) = row[0].1 else { panic!("{row:?}") };
    let (mut line, mut doubles) = (vec![format!("{time:016X}"), code.to_owned()], Vec::new());
    for (name, field) in &row[6..] {
        line.push(match field {
            Field::ULong(value) => format!("{value:X}"),
            Field::UInt(value) => format!("{value:X}"),
            Field::Bool(value) => u8::from(*value).to_string(),
            Field::Double(value) => {
                doubles.push(line.len());
                value.to_string()
            }
            Field::Str(text) if !name.ends_with("_label") => logs::quoted(text.as_bytes()),
            Field::Bytes(bytes) => logs::quoted(bytes.data()),
            _ => continue,
        });
    }
    (line, doubles)
}

/// The codes of event types by their names.
fn codes(log: &str) -> BTreeMap<String, String> {
    let (text, ..) = run(&["query", log, "SELECT name, printf('%X', code) FROM types", "--csv"]);
    let text = String::from_utf8(text).unwrap();
    let pairs = text.lines().skip(1).filter_map(|line| line.rsplit_once(','));
    pairs.map(|(name, code)| (name.to_owned(), code.to_owned())).collect()
}

#[test]
fn every_event_is_in_its_data_set_with_the_values_of_the_dump() {
    let directory = TempDir::new().unwrap();
    for (index, log) in logs::all(directory.path()).iter().enumerate() {
        let (name, output) = (log.to_str().unwrap(), directory.path().join(index.to_string()));
        run(&["parquet", name, "-o", output.to_str().unwrap()]);
        let codes = codes(name);
        let mut found = Vec::new();
        for file in files(&output) {
            let set = file.strip_prefix(&output).unwrap().iter().next().unwrap();
            let code = &codes[set.to_str().unwrap()];
            found.extend(rows(&file).iter().map(|row| line(code, row)));
        }
        found.sort();
        let mut expected = logs::numeric(log);
        for line in &mut expected {
            line[1] = line[1].rsplit(':').next().unwrap().to_owned();
        }
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{name}");
        for ((found, doubles), expected) in found.iter().zip(&expected) {
            let is_double = |index| doubles.contains(&index);
            assert!(logs::agree(found, expected, is_double), "{found:?}, not {expected:?}");
        }
    }
}

#[test]
fn labels_wall_times_and_awkward_strings_have_their_columns() {
    let directory = TempDir::new().unwrap();
    let (log, output) = (directory.path().join("a.log"), directory.path().join("out"));
    fs::write(&log, logs::pools(9)).unwrap();
    let words = ["parquet", log.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let (text, code, errors) = run(&words);
    assert_eq!((code, &*errors), (0, ""));
    assert!(String::from_utf8(text).unwrap().ends_with("out: 8 events in 4 files\n"));
    let of = |set: &str| {
        let place = "host=unknown/process=program-4711/kind=Pool";
        rows(&output.join(set).join(place).join("part-0.parquet"))
    };
    let text = |text: &str| Field::Str(text.to_owned());
    let pools = of("PoolInit");
    let column = |row: &[(String, Field)], name: &str| {
        row.iter().find(|(found, _)| found == name).unwrap().1.clone()
    };
    assert_eq!(column(&pools[0], "pool_label"), text("symbols"));
    assert_eq!(column(&pools[1], "pool_label"), text("old"));
    assert_eq!(column(&pools[0], "poolClass_label"), Field::Null);
    assert_eq!(column(&pools[0], "arena"), Field::ULong(0xFFFF_FFFF_FFFF_F000));
    assert_eq!(column(&pools[0], "thread"), Field::UInt(3));
    let odd = of("Poll%22%3B%20DROP%20TABLE%20logs%3B%20--");
    assert_eq!(column(&odd[0], "time_"), Field::ULong(u64::MAX));
    assert_eq!(column(&odd[0], "number_"), text("it's \"so\""));
    assert_eq!(column(&odd[0], "number__bytes"), Field::Null);
    assert_eq!(column(&odd[1], "number_"), Field::Null);
    assert_eq!(column(&odd[1], "number__bytes"), Field::Bytes(vec![0xFF, 0].into()));
    let Field::Double(number) = column(&odd[1], "a\" b") else { panic!("{odd:?}") };
    assert!(number.is_nan());
    // A directory that is there is left alone.
    let (_, code, errors) = run(&words);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
    let (_, code, _) = run(&[&words[..], &["--force", "--events", "PoolInit"]].concat());
    assert_eq!((code, files(&output).len()), (0, 1));
}

#[test]
fn a_damaged_log_becomes_what_can_be_had_of_it() {
    let directory = TempDir::new().unwrap();
    let (log, output) = (directory.path().join("cut.log"), directory.path().join("out"));
    let bytes = fs::read(mps("labels.log")).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let (text, code, errors) =
        run(&["parquet", log.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!(code, 1, "{errors}");
    assert!(String::from_utf8(text).unwrap().contains("150 events in"));
    assert_eq!(files(&output).iter().map(|file| rows(file).len()).sum::<usize>(), 150);
}
