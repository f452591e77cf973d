//! Plans: they keep the condition, and cost what they should.

mod common;

use common::executions::{executions, twins};
use common::run::{run, structured};
use common::{Random, random_program, recorded};
use lens_paths::graph::{ElementId, Program, text};
use lens_paths::plan::{Kind, Options, PlanError, Strategy, plan, spare};
use lens_paths::{Profile, Weights, clashes};

/// Returns the weights of some random executions.
fn weights(random: &mut Random, program: &Program) -> Weights {
    let all: Vec<ElementId> =
        (0..20).filter_map(|_| run(random, program, 2000)).flatten().collect();
    Weights::counted(program, all)
}

#[test]
fn every_plan_tells_all_executions() {
    let mut planned = 0;
    for seed in 0..600 {
        let mut random = Random(seed);
        let program = random_program(&mut random, 3, 6);
        let weights = weights(&mut random, &program);
        let kind = if random.one_in(3) { Kind::Blocks } else { Kind::Edges };
        let options = Options { machines: 1 + random.below(3), kind, ..Options::default() };
        let plans = match plan(&program, &weights, &options) {
            Ok(plans) => plans,
            Err(PlanError::Open(_)) if kind == Kind::Blocks => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        for plan in &plans.all {
            let profiles = plan.profiles();
            assert_eq!(clashes(&program, &profiles).unwrap(), [], "seed {seed}");
            let all = executions(&program, 40, 300);
            assert_eq!(twins(&all, &profiles), None, "seed {seed}\n{}", text::write(&program));
        }
        assert!(plans.all.iter().all(|own| own.cost() >= plans.best().unwrap().cost()));
        planned += 1;
    }
    assert!(planned > 450, "{planned}");
}

/// Returns graphs with weights, and the cost of the cheapest blocks that tell all executions.
fn optima() -> Vec<(Program, Weights, u64)> {
    let read = |line: &String| {
        let (graph, best) = line.split_once('|').unwrap();
        let mut words = graph.split_whitespace();
        let count: usize = words.next().unwrap().parse().unwrap();
        let mut source = String::from("function main\n");
        (0..count).for_each(|block| source += &format!("block {block}\n"));
        for word in words {
            source += &format!("{} > {}\n", &word[..1], &word[1..]);
        }
        let program = text::read(&format!("{source}exit {}\n", count - 1)).unwrap();
        let weights = Weights::written(&program).unwrap();
        assert_eq!(weights.leaks(&program), [], "{line}");
        (program, weights, best.trim().parse().unwrap())
    };
    recorded(include_bytes!("recorded/optimum.txt.gz")).iter().map(read).collect()
}

#[test]
fn planned_blocks_cost_at_most_1_03_of_the_optimum() {
    let (mut planned, mut optimum) = (0, 0);
    for (program, weights, best) in optima() {
        let options = Options { kind: Kind::Blocks, ..Options::default() };
        let cost = plan(&program, &weights, &options).unwrap().best().unwrap().cost();
        assert!(cost >= best, "{}", text::write(&program));
        (planned, optimum) = (planned + cost, optimum + best);
    }
    println!("planned {planned}, optimum {optimum}");
    assert!(planned * 100 <= optimum * 103, "{planned}, optimum {optimum}");
}

#[test]
fn edges_cost_less_than_blocks_and_these_less_than_targets_and_all_blocks() {
    let (mut all, mut targets, mut blocks, mut edges) = (0, 0, 0, 0);
    for (program, weights, _) in optima() {
        let own = &program.functions()[0];
        let id = |block: u32| {
            let block = lens_paths::graph::BlockId(block);
            program.id(lens_paths::graph::Element::Block(program.main(), block)).unwrap()
        };
        let every: Vec<ElementId> = (0..own.blocks().len() as u32).map(id).collect();
        let mut after_forks: Vec<ElementId> = (0..own.blocks().len() as u32)
            .map(lens_paths::graph::BlockId)
            .filter(|block| own.way_count(*block) > 1)
            .flat_map(|block| own.leaving(block).iter().map(|edge| id(edge.to.0)))
            .collect();
        after_forks.sort();
        after_forks.dedup();
        for elements in [&every, &after_forks] {
            let profile = Profile::of(elements.iter().copied());
            assert_eq!(clashes(&program, &[profile]).unwrap(), []);
        }
        all += weights.cost(every);
        targets += weights.cost(after_forks);
        let cost = |kind| {
            let options = Options { kind, ..Options::default() };
            plan(&program, &weights, &options).unwrap().best().unwrap().cost()
        };
        blocks += cost(Kind::Blocks);
        edges += cost(Kind::Edges);
    }
    let ratio = |cost: u64| cost as f64 / blocks as f64;
    let ladder = [ratio(all), ratio(targets), ratio(edges)];
    println!("all, targets, edges of blocks: {ladder:?}");
    assert!(ladder[0] > ladder[1] && ladder[1] > 1.2 && ladder[2] < 0.7, "{ladder:?}");
}

#[test]
fn counted_weights_keep_the_law_of_flow() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let program = random_program(&mut random, 3, 6);
        assert_eq!(weights(&mut random, &program).leaks(&program), [], "seed {seed}");
    }
}

#[test]
fn two_machines_cost_at_most_0_85_of_one() {
    let (mut sum, mut count) = (0.0, 0);
    for seed in 0..206 {
        let mut random = Random(seed);
        let program = structured(&mut random, 1, 3 + (seed % 3) as u32);
        let weights = weights(&mut random, &program);
        let cost = |machines| {
            let options = Options { machines, ..Options::default() };
            plan(&program, &weights, &options).unwrap().best().unwrap().cost()
        };
        let (one, two) = (cost(1), cost(2));
        if one > 0 {
            (sum, count) = (sum + two as f64 / one as f64, count + 1);
        }
    }
    let mean = sum / f64::from(count);
    println!("two machines of one: {mean} of {count}");
    assert!(count > 180 && mean <= 0.85, "{mean} of {count}");
}

#[test]
fn two_machines_cost_less_than_one_for_blocks_too() {
    let (mut one, mut two) = (0, 0);
    for seed in 0..4 {
        let program = structured(&mut Random(seed), 60, 4);
        let cost = |machines| {
            let options = Options { machines, kind: Kind::Blocks, ..Options::default() };
            let plans = plan(&program, &Weights::basic(&program), &options).unwrap();
            plans.best().unwrap().cost()
        };
        (one, two) = (one + cost(1), two + cost(2));
    }
    println!("one machine {one}, two {two}");
    assert!(two * 100 <= one * 80, "{one}, two {two}");
}

/// Returns the least load of the dearest of some machines, over all ways to share jobs.
fn optimum(jobs: &[u64], loads: &mut [u64]) -> u64 {
    let Some((job, rest)) = jobs.split_first() else {
        return loads.iter().copied().max().unwrap_or(0);
    };
    let mut best = u64::MAX;
    for machine in 0..loads.len() {
        loads[machine] += job;
        best = best.min(optimum(rest, loads));
        loads[machine] -= job;
        if loads[machine] == 0 {
            // An idle machine is like the other idle ones.
            break;
        }
    }
    best
}

/// Returns a program whose forks cost these, each in a function of its own.
fn of_jobs(jobs: &[u64]) -> Program {
    let (mut main, mut all) = (String::from("function main\n"), String::new());
    for (at, cost) in jobs.iter().enumerate() {
        main += &format!("{at} > {}*1\ncall {at} f{at}\n", at + 1);
        all += &format!("function f{at}\n0 > 1*{cost} 2*100\n1 > 3*{cost}\n2 > 3*100\nexit 3\n");
    }
    text::read(&format!("{main}exit {}\n{all}", jobs.len())).unwrap()
}

/// Calls `each` with all lists of numbers from 1 to 5 in rising order, of at most this length.
fn lists(length: usize, list: &mut Vec<u64>, each: &mut dyn FnMut(&[u64])) {
    for number in list.last().copied().unwrap_or(1)..=5 {
        list.push(number);
        each(list);
        if list.len() < length {
            lists(length, list, each);
        }
        list.pop();
    }
}

#[test]
fn a_distribution_of_at_most_8_jobs_costs_at_most_4_thirds_of_the_optimum() {
    let (mut count, mut optimal) = (0, 0);
    lists(8, &mut Vec::new(), &mut |jobs| {
        let program = of_jobs(jobs);
        let weights = Weights::written(&program).unwrap();
        for machines in 2..=3 {
            let options = Options { machines, ..Options::default() };
            let plans = plan(&program, &weights, &options).unwrap();
            let cost = plans.all[1].cost();
            assert_eq!(plans.all[0].cost(), jobs.iter().sum::<u64>());
            assert_eq!(plans.all[1].strategy, Strategy::Fine);
            let best = optimum(jobs, &mut vec![0; machines]);
            assert!(best <= cost && cost * 3 <= best * 4, "{jobs:?}: {cost}, optimum {best}");
            (count, optimal) = (count + 1, optimal + u32::from(cost == best));
        }
    });
    println!("{optimal} of {count} distributions are optimal");
    assert_eq!(count, 2 * 1286);
}

#[test]
fn witnesses_without_which_a_profile_tells_as_much_are_spare() {
    let mut spared = 0;
    for seed in 0..60 {
        let program = structured(&mut Random(seed), 3, 3);
        let weights = Weights::basic(&program);
        let all = Profile::of((0..program.element_count() as u32).map(ElementId));
        let extra = spare(&program, &weights, &all).unwrap();
        let left = all.letters().iter().map(|own| own.0).filter(|own| !extra.contains(own));
        let left = Profile::of(left);
        assert_eq!(clashes(&program, std::slice::from_ref(&left)).unwrap(), [], "seed {seed}");
        spared += extra.len();
        let plans = plan(&program, &weights, &Options::default()).unwrap();
        let best = &plans.best().unwrap().runs[0].profile;
        assert_eq!(spare(&program, &weights, best).unwrap(), [], "seed {seed}");
    }
    assert!(spared > 1000, "{spared}");
}

#[test]
fn many_ways_that_nothing_tells_are_planned_in_seconds() {
    // Each function forks, and calls any of all.
    let count = 160;
    let all: String = (0..count).map(|at| format!(" f{at}")).collect();
    let own = "0 > 1 2\n1 > 3\n2 > 3 4\n3 > 5\n4 > 0 5\nexit 5\n";
    let mut source = format!("function main\n0 > 1\n1 > 0 2\ncall 0{all} ?\nexit 2\n");
    (0..count).for_each(|at| source += &format!("function f{at}\n{own}call 3{all} ?\n"));
    let program = text::read(&source).unwrap();
    let begin = std::time::Instant::now();
    let options = Options { machines: 2, ..Options::default() };
    let plans = plan(&program, &Weights::basic(&program), &options).unwrap();
    assert_eq!(plans.all.len(), 4);
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn no_profile_is_larger_than_its_limit() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let program = structured(&mut random, 3, 3);
        let weights = Weights::basic(&program);
        for limit in [1, 2, 3, 5, 9, 1000] {
            let options = Options { machines: 3, limit: Some(limit), ..Options::default() };
            match plan(&program, &weights, &options) {
                Ok(plans) => {
                    for plan in &plans.all {
                        let sizes = plan.runs.iter().map(|run| run.profile.size());
                        assert!(sizes.max().unwrap() <= limit, "seed {seed}, limit {limit}");
                        assert!(plan.runs.iter().all(|run| run.machine < 3));
                        assert_eq!(clashes(&program, &plan.profiles()).unwrap(), []);
                    }
                }
                Err(PlanError::Limit { needs, .. }) => assert!(limit == 1 && needs > limit),
                Err(error) => panic!("seed {seed}, limit {limit}: {error}"),
            }
        }
    }
}

#[test]
fn all_strategies_are_tried_and_the_cheapest_is_best() {
    let program = structured(&mut Random(7), 4, 3);
    let weights = Weights::basic(&program);
    let options = Options { machines: 2, ..Options::default() };
    let plans = plan(&program, &weights, &options).unwrap();
    let strategies: Vec<Strategy> = plans.all.iter().map(|plan| plan.strategy).collect();
    let all = [Strategy::Single, Strategy::Fine, Strategy::Functions, Strategy::Grouped];
    assert_eq!(strategies, all);
    assert_eq!(plans.best().unwrap().cost(), plans.all.iter().map(|own| own.cost()).min().unwrap());
    let none = Options { machines: 0, ..options };
    assert_eq!(plan(&program, &weights, &none).unwrap_err(), PlanError::Machines);
}
