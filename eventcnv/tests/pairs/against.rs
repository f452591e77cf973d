//! Two logs compared.
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

use super::*;

/// The calls and the polls of an async function have one name, and are two groups.
#[test]
fn a_log_does_not_differ_from_itself() {
    let log = golden_path("calls/shop.log").to_str().unwrap().to_owned();
    let (text, code, errors) = run(&["pairs", &log, "--against", &log, "--json"]);
    assert_eq!((code, &*errors), (0, ""));
    let found: Value = serde_json::from_slice(&text).unwrap();
    let groups = found["rows"].as_array().unwrap();
    let sold = groups.iter().filter(|group| group["slice"] == "shop::sell").count();
    assert_eq!(sold, 2, "{found}");
    for group in groups {
        for name in ["count", "p50_ns", "p99_ns", "runs"] {
            assert_eq!(group[&format!("old_{name}")], group[name], "{group}");
        }
    }
}

/// `.slice.against`
#[test]
fn logs_and_runs_compare_by_group() {
    let directory = TempDir::new().unwrap();
    let jobs = |wait: u64| -> Vec<Step> {
        let step = |n: u64| {
            let (code, wait) =
                if n.is_multiple_of(2) { (1, 100) } else { (2, wait + n * 7919 % 211) };
            Step { thread: 1, wait, code, key: 0 }
        };
        (0..600).map(step).collect()
    };
    // Runs of one program differ a little, which the many durations of each would show.
    let runs = |name: &str, waits: [u64; 3]| {
        let log = |wait: u64| {
            let path = directory.path().join(format!("{name}-{wait}.log"));
            fs::write(&path, made::run(wait as u8, &jobs(wait))).unwrap();
            path.to_str().unwrap().to_owned()
        };
        waits.map(log)
    };
    let [old, same, slow] =
        [("old", [300, 320, 340]), ("same", [305, 322, 330]), ("slow", [500, 521, 542])]
            .map(|(name, waits)| runs(name, waits));
    for (new, count, expected) in
        [(&same, 1, None), (&slow, 1, None), (&same, 3, Some(false)), (&slow, 3, Some(true))]
    {
        let mut words = vec!["pairs"];
        words.extend(new[..count].iter().map(|log| &**log));
        old[..count].iter().for_each(|log| words.extend(["--against", log]));
        let (text, code, errors) = run(&[&words[..], &["--json"]].concat());
        assert_eq!((code, &*errors), (0, ""));
        let found: Value = serde_json::from_slice(&text).unwrap();
        let group = &found["rows"][0];
        assert_eq!(group["significant"], serde_json::json!(expected), "{group}");
        assert_eq!(group["old_count"], 300 * count);
        assert_eq!(group["old_runs"], count);
        let (csv, ..) = run(&[&words[..], &["--csv"]].concat());
        let csv = String::from_utf8(csv).unwrap();
        let line = csv.lines().nth(1).unwrap();
        assert!(line.starts_with(&format!("Job,,{0},{0},", 300 * count)), "{csv}");
        let end = expected.map_or_else(String::new, |is_so| is_so.to_string());
        assert!(line.ends_with(&format!(",{end}")) && line.contains(",true,"), "{csv}");
        let (text, ..) = run(&words);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.contains("one run does not tell"), expected.is_none(), "{text}");
        assert_eq!(text.contains(" yes\n"), expected == Some(true), "{text}");
    }
    // Ticks of an unknown length do not compare with ns.
    let [ns, ticks] = [slow[0].clone(), mps("mpmss-1.116-cut.log")];
    let (text, code, errors) = run(&["pairs", &ns, "--against", &ticks]);
    let expected = format!("{ticks}: durations are in ticks and those of {ns} in ns; state ");
    assert!(text.is_empty() && code == 2 && errors.contains(&expected), "{errors}");
    let (text, ..) = run(&[&["pairs", &ns, "--against", &ticks], &RATE[..]].concat());
    assert!(!text.is_empty());
    let (_, code, errors) = run(&["pairs", &ns, "--against", "none.log"]);
    assert!(code == 2 && errors.contains("none.log"), "{errors}");
}

/// `.cnv.pairs`: the same thing has another address in each run.
#[test]
fn labelled_pointers_compare_by_their_labels() {
    let directory = TempDir::new().unwrap();
    let write = |name: &str, bytes: Vec<u8>| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let old = write("old.log", made::labelled(0xA0, "letters"));
    let new = write("new.log", made::labelled(0xB0, "letters"));
    let other = write("other.log", made::labelled(0xB0, "digits"));
    for (old, counts) in [(&old, &[(100, 100)][..]), (&other, &[(0, 100), (100, 0)])] {
        let (text, ..) = run(&["pairs", &new, "--against", old, "--by", "task", "--json"]);
        let found: Value = serde_json::from_slice(&text).unwrap();
        let groups = found["rows"].as_array().unwrap();
        let count = |group: &Value, of: &str| group[of].as_u64().unwrap();
        let both = groups.iter().map(|group| (count(group, "old_count"), count(group, "count")));
        assert_eq!(both.collect::<Vec<_>>(), counts, "{found}");
        assert_eq!(groups[0]["value"], "0xB0[\"letters\"]");
    }
}
