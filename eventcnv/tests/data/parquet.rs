//! The library reads the Parquet data sets of a log back. `.cnv.parquet`

use crate::logs;
use crate::made::{Step, made};
use crate::support::{mps, run};
use ::parquet::basic::{LogicalType, TimeUnit};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Columns before the parameters.
const FIRST_COUNT: usize = 8;

/// Returns the files below a directory.
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

/// Returns the rows of a file: names and values.
fn rows(path: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    });
    rows.collect()
}

/// Returns an event as the numeric dump prints it, without the index of its registry, and the
/// indices of its doubles.
fn line(code: &str, row: &[(String, Field)]) -> (Vec<String>, Vec<usize>) {
    let Field::ULong(time) = row[0].1 else { panic!("{row:?}") };
    let (mut line, mut doubles) = (vec![format!("{time:016X}"), code.to_owned()], Vec::new());
    for (name, field) in &row[FIRST_COUNT..] {
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

/// Returns the codes of event types by their names.
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
            if set == "slices" || set == "counters" {
                continue;
            }
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

/// `.cnv.parquet`: the data set of slices has what the table of a database has.
#[test]
fn slices_have_a_data_set_with_the_keys_of_their_events() {
    let directory = TempDir::new().unwrap();
    let golden = |name: &str| crate::support::golden_path(name).to_str().unwrap().to_owned();
    for (index, log) in
        [mps("amcss-arena-pool-trace.log"), golden("log/heap.log")].iter().enumerate()
    {
        let output = directory.path().join(index.to_string());
        let (text, code, _) = run(&["parquet", log, "-o", output.to_str().unwrap()]);
        let found: Vec<_> =
            files(&output.join("slices")).iter().flat_map(|file| rows(file)).collect();
        let text = String::from_utf8(text).unwrap();
        assert!(code == 0 && text.contains(&format!(" events, {} slices", found.len())), "{text}");
        let number = |field: &Field| match field {
            Field::ULong(value) => value.to_string(),
            Field::UInt(value) => value.to_string(),
            Field::Str(text) => text.clone(),
            Field::Null => String::new(),
            other => panic!("{other}"),
        };
        let columns = "name begin end duration verdict thread number end_number".split(' ');
        let line = |row: &Vec<(String, Field)>| {
            let cell = |name: &str| number(&row.iter().find(|(found, _)| found == name).unwrap().1);
            columns.clone().map(cell).collect::<Vec<_>>().join(",")
        };
        let mut lines: Vec<String> = found.iter().map(line).collect();
        lines.sort();
        let mask = (1u64 << 40) - 1;
        let sql = format!(
            "SELECT name, begin, end, duration, verdict, thread, begin_event & {mask},
               end_event & {mask} FROM slices"
        );
        let (csv, ..) = run(&["query", log, &sql, "--csv"]);
        let csv = String::from_utf8(csv).unwrap();
        let mut expected: Vec<&str> = csv.lines().skip(1).collect();
        expected.sort();
        assert_eq!(lines, expected);
        assert!(lines.len() > 3);
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
    // An existing directory stays.
    let (_, code, errors) = run(&words);
    assert!(code == 2 && errors.contains("--force"), "{errors}");
    let (_, code, _) = run(&[&words[..], &["--force", "--events", "PoolInit"]].concat());
    assert_eq!((code, files(&output).len()), (0, 1));
}

/// `.cnv.parquet`: Spark refuses a file with a timestamp in ns.
#[test]
fn a_time_of_day_has_a_column_in_us_and_one_in_ns() {
    let directory = TempDir::new().unwrap();
    let (log, output) = (directory.path().join("a.log"), directory.path().join("out"));
    fs::write(&log, logs::pools(9)).unwrap();
    run(&["parquet", log.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let place = "PoolInit/host=unknown/process=program-4711/kind=Pool/part-0.parquet";
    let reader = SerializedFileReader::new(File::open(output.join(place)).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    let of = |name: &str| schema.get_fields().iter().find(|field| field.name() == name).unwrap();
    let unit = of("timestamp").get_basic_info().logical_type_ref().cloned();
    assert_eq!(unit, Some(LogicalType::timestamp(true, TimeUnit::MICROS)));
    let rows = rows(&output.join(place));
    let column = |name: &str| {
        let of =
            |row: &Vec<(String, Field)>| row.iter().find(|(n, _)| n == name).unwrap().1.clone();
        rows.iter().map(of).collect::<Vec<_>>()
    };
    let sql = "SELECT wall FROM PoolInit ORDER BY time";
    let (text, ..) = run(&["query", log.to_str().unwrap(), sql, "--csv"]);
    let text = String::from_utf8(text).unwrap();
    let walls: Vec<i64> = text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert!(walls[0] > 0 && walls[0] < walls[1], "{walls:?}");
    assert_eq!(column("wall"), [walls[0], walls[1]].map(Field::Long));
    assert_eq!(
        column("timestamp"),
        [walls[0], walls[1]].map(|ns| Field::TimestampMicros(ns / 1000))
    );
}

/// `.cnv.parquet`
#[test]
fn rows_have_the_names_of_the_threads_that_recorded_them() {
    let directory = TempDir::new().unwrap();
    let heap = crate::support::golden_path("log/heap.log");
    let (heap, output) = (heap.to_str().unwrap(), directory.path().join("out"));
    run(&["parquet", heap, "-o", output.to_str().unwrap()]);
    let (text, ..) = run(&["query", heap, "SELECT thread, name FROM threads", "--csv"]);
    let text = String::from_utf8(text).unwrap();
    let names: BTreeMap<u32, &str> = text
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(thread, name)| (thread.parse().unwrap(), name))
        .collect();
    assert!(names.values().any(|name| !name.is_empty()), "{text}");
    let mut count = 0;
    for row in files(&output).iter().flat_map(|file| rows(file)) {
        let of = |name: &str| row.iter().find(|(found, _)| found == name).unwrap().1.clone();
        let Field::UInt(thread) = of("thread") else { panic!("{row:?}") };
        let expected = match names.get(&thread).filter(|name| !name.is_empty()) {
            Some(name) => Field::Str((*name).to_owned()),
            None => Field::Null,
        };
        assert_eq!(of("thread_name"), expected, "{row:?}");
        count += 1;
    }
    assert!(count > 1000, "{count}");
}

/// `.cnv.parquet`: no log of the MPS names its process.
#[test]
fn each_run_of_the_mps_has_its_own_partition() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let [one, two] = ["labels.log", "amcss-arena-pool-trace.log"].map(mps);
    let joined = path("joined.log");
    fs::write(&joined, [fs::read(&one).unwrap(), fs::read(&two).unwrap()].concat()).unwrap();
    for (index, (logs, expected)) in [
        (vec![&*one], vec!["process=labels.log"]),
        (vec![&*one, &two], vec!["process=amcss-arena-pool-trace.log", "process=labels.log"]),
        (vec![&*joined], vec!["process=joined.log-0", "process=joined.log-1"]),
    ]
    .into_iter()
    .enumerate()
    {
        let output = directory.path().join(index.to_string());
        run(&[&["parquet", "-o", output.to_str().unwrap()], &*logs].concat());
        let processes: BTreeSet<String> = files(&output)
            .iter()
            .map(|file| file.strip_prefix(&output).unwrap().iter().nth(2).unwrap())
            .map(|name| name.to_str().unwrap().to_owned())
            .collect();
        assert_eq!(processes.iter().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    }
}

#[test]
fn the_readable_events_of_a_damaged_log_become_rows() {
    let directory = TempDir::new().unwrap();
    let (log, output) = (directory.path().join("cut.log"), directory.path().join("out"));
    let bytes = fs::read(mps("labels.log")).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 10]).unwrap();
    let (text, code, errors) =
        run(&["parquet", log.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!(code, 1, "{errors}");
    assert!(String::from_utf8(text).unwrap().contains("150 events"));
    let is_of = |set: &str, file: &PathBuf| file.starts_with(output.join(set));
    let files = files(&output);
    let [slices, counters] =
        ["slices", "counters"].map(|set| files.iter().filter(|file| is_of(set, file)).count());
    assert_eq!((slices, counters), (1, 1));
    let events = files.iter().filter(|file| !is_of("slices", file) && !is_of("counters", file));
    assert_eq!(events.map(|file| rows(file).len()).sum::<usize>(), 150);
}

/// Encoders work side by side, and the writer takes their row groups in order.
#[test]
fn row_groups_of_a_file_have_the_order_of_the_events() {
    let directory = TempDir::new().unwrap();
    let (log, output) = (directory.path().join("long.log"), directory.path().join("sets"));
    // Two thirds are ends of jobs, the others are notes.
    let step = |at: u64| {
        let code = [7, 2, 2][at as usize % 3];
        Step { thread: 1 + at as u32 % 4, wait: 1 + at % 5, code, key: at * 7 % 1000 }
    };
    let steps: Vec<Step> = (0..450_000).map(step).collect();
    fs::write(&log, made(&steps)).unwrap();
    run(&["parquet", log.to_str().unwrap(), "--no-slices", "-o", output.to_str().unwrap()]);
    let file = files(&output.join("JobEnd")).pop_first().unwrap();
    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows());
    assert!(groups.clone().count() > 2 && groups.clone().all(|count| count <= 1 << 17));
    let (mut counts, mut ticks) = ([0; 5], 1 << 40);
    let mut expected = steps.iter().filter_map(|&Step { thread, wait, code, key }| {
        ticks += wait;
        let number = counts[thread as usize];
        counts[thread as usize] += 1;
        let values = [ticks, number, key, key + 70, thread.into()];
        (code == 2).then_some(values)
    });
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let value = |name: &str| {
            let (_, field) = row.get_column_iter().find(|(of, _)| *of == name).unwrap();
            match field {
                Field::ULong(value) => *value,
                Field::UInt(value) => u64::from(*value),
                _ => panic!("{name}: {field}"),
            }
        };
        let found = ["time", "number", "job", "result", "buffer"].map(value);
        assert_eq!(Some(found), expected.next());
    }
    assert_eq!(expected.next(), None);
}
