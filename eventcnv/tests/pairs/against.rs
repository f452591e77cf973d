//! Two logs compared.
//!
//! Design: `.cnv.pairs` in `design/eventcnv.md`.

use super::*;

/// `.slice.against`
#[test]
fn two_logs_compare_by_group() {
    let directory = TempDir::new().unwrap();
    let jobs = |wait: u64| -> Vec<Step> {
        let step = |n: u64| {
            let (code, wait) =
                if n.is_multiple_of(2) { (1, 100) } else { (2, wait + n * 7919 % 211) };
            Step { thread: 1, wait, code, key: 0 }
        };
        (0..600).map(step).collect()
    };
    let [old, same, slow] = [("old.log", 300), ("same.log", 301), ("slow.log", 500)]
        .map(|(name, wait)| write(&directory, name, &jobs(wait)));
    for (new, is_significant) in [(&old, false), (&same, false), (&slow, true)] {
        let (text, code, errors) = run(&["pairs", new, "--against", &old, "--json"]);
        assert_eq!((code, &*errors), (0, ""));
        let found: Value = serde_json::from_slice(&text).unwrap();
        let group = &found["groups"][0];
        assert_eq!(group["significant"], is_significant, "{group}");
        assert_eq!(group["old"]["count"], 300);
        let (old_p50, p50) = (group["old"]["p50"].as_u64().unwrap(), group["new"]["p50"].as_u64());
        assert_eq!(is_significant, p50.unwrap() > old_p50 + 100);
        let (csv, ..) = run(&["pairs", new, "--against", &old, "--csv"]);
        let csv = String::from_utf8(csv).unwrap();
        let line = csv.lines().nth(1).unwrap();
        assert!(line.starts_with(&format!("Job,ns,300,300,{old_p50},")), "{csv}");
        assert!(line.ends_with(&format!(",{is_significant},true")), "{csv}");
    }
    let (text, ..) = run(&["pairs", &slow, "--against", &old]);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("Kolmogorov") && text.contains(" yes\n"), "{text}");
    // Ticks of an unknown length do not compare with ns.
    let [ns, ticks] = [slow.clone(), mps("mpmss-1.116-cut.log")];
    let (text, code, errors) = run(&["pairs", &ns, "--against", &ticks]);
    let expected = format!("{ticks}: durations are in ticks and those of {ns} in ns; state ");
    assert!(text.is_empty() && code == 2 && errors.contains(&expected), "{errors}");
    let (text, ..) = run(&[&["pairs", &ns, "--against", &ticks], &RATE[..]].concat());
    assert!(!text.is_empty());
    let (_, code, errors) = run(&["pairs", &slow, "--against", "none.log"]);
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
        let groups = found["groups"].as_array().unwrap();
        let count = |group: &Value, of: &str| group[of]["count"].as_u64().unwrap();
        let both = groups.iter().map(|group| (count(group, "old"), count(group, "new")));
        assert_eq!(both.collect::<Vec<_>>(), counts, "{found}");
        assert_eq!(groups[0]["value"], "0xB0[\"letters\"]");
    }
}
