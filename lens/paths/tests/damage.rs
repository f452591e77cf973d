//! Damaged texts: each is read or refused, and what is read can be planned and walked.

mod common;

use common::{Random, random_program, recorded};
use lens_paths::Weights;
use lens_paths::graph;
use lens_paths::plan::{self, Options};
use lens_paths::walk::{self, Walker};

/// Returns a text with a few bytes changed, left out, doubled or cut off.
fn damaged(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(5) {
            _ if bytes.is_empty() => {}
            0 => bytes[at] = b"09 >*:\"?\n#"[random.below(10)],
            1 => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, bytes[at]),
            _ => bytes[at] ^= 1 << random.below(8),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_graphs_are_read_or_refused() {
    let mir = recorded(include_bytes!("recorded/words.mir.gz")).join("\n");
    let dot = recorded(include_bytes!("recorded/kind.dot.gz")).join("\n");
    let (mut read, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let source = match random.below(8) {
            0 => mir.clone(),
            1 => dot.clone(),
            _ => graph::text::write(&random_program(&mut random, 3, 6)),
        };
        match graph::read(&damaged(&mut random, &source)) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
            Ok(program) => {
                let written = graph::text::write(&program);
                let again = graph::text::read(&written).unwrap();
                assert_eq!(again.functions(), program.functions(), "seed {seed}");
                if program.element_count() < 200 {
                    let _ = plan::plan(&program, &Weights::basic(&program), &Options::default());
                }
                read += 1;
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}

#[test]
fn damaged_plans_and_collections_are_read_or_refused() {
    for seed in 0..2000 {
        let mut random = Random(seed);
        let program = random_program(&mut random, 2, 5);
        let weights = Weights::basic(&program);
        let Ok(plans) = plan::plan(&program, &weights, &Options::default()) else { continue };
        let best = plans.best().unwrap();
        let written = plan::text::write(&program, best);
        assert_eq!(plan::text::read(&program, &written).as_ref(), Ok(&best.runs), "seed {seed}");
        let Ok(runs) = plan::text::read(&program, &damaged(&mut random, &written)) else {
            continue;
        };
        let profiles: Vec<_> = runs.into_iter().map(|run| run.profile).collect();
        let Ok(walker) = Walker::new(&program, &profiles) else { continue };
        let letters = "run 0\ncut\n3 4 5 3 4 5 # a comment\nmidway\n7 8\n";
        let (_, collection) = match walk::text::read(&damaged(&mut random, letters)) {
            Ok(own) => own,
            Err(error) => {
                assert!(error.starts_with("line "), "{error}");
                continue;
            }
        };
        let _ = walker.walk(&vec![collection; profiles.len()], &mut |_| {});
    }
}
