//! Distributes forks over machines, and finds the profile of each machine.
//!
//! ```text
//!  jobs, dearest first ─▶ the machine of least load ─▶ moves from the most loaded machine
//!  forks of a machine ─┬ the witnesses of one machine's plan that these forks need ─┐ the cheaper,
//!                      └ a forest of their own ways ────────────────────────────────┘ repaired
//! ```
//!
//! Design: `.paths.distribute` in `design/paths.md`.

use super::links::{Choices, Links};
use super::prune::{BUDGET, prune};
use super::repair::repair;
use super::{Kind, MACHINE_COUNT_MAX, Options, Plan, PlanError, Plans, Run, Strategy, jobs, nodes};
use crate::condition::clashes;
use crate::first::TooLarge;
use crate::graph::{ElementId, Program};
use crate::points::{Fork, Points, Way};
use crate::profile::Profile;
use crate::weights::Weights;
use core::cmp::Reverse;
use std::collections::BTreeSet;

/// Plans the witnesses of a program.
///
/// # Errors
///
/// Fails if no witnesses of the kind tell all ways apart; if a fork needs more witnesses than the
/// limit; if the number of machines is wrong; if the program is too large.
pub fn plan(program: &Program, weights: &Weights, options: &Options) -> Result<Plans, PlanError> {
    if options.machines == 0 || options.machines > MACHINE_COUNT_MAX {
        return Err(PlanError::Machines);
    }
    let points = Points::new(program);
    let forks = points.forks();
    let task = Task::new(&points, weights, options, &forks)?;
    let mut all = Vec::new();
    if options.limit.is_none_or(|limit| task.one.size() <= limit) {
        all.push(task.single());
    }
    if options.machines > 1 || all.is_empty() {
        for strategy in [Strategy::Fine, Strategy::Functions, Strategy::Grouped] {
            let jobs = jobs::jobs(&points, &forks, strategy);
            all.push(task.distributed(strategy, jobs)?);
        }
    }
    for own in &all {
        let open = clashes(program, &own.profiles())?;
        if !open.is_empty() {
            return Err(PlanError::Open(open));
        }
    }
    let best = (0..all.len()).min_by_key(|at| all.get(*at).map(Plan::cost)).unwrap_or(0);
    Ok(Plans { all, best })
}

/// Links that may be visited to balance the machines, for each strategy.
const BALANCE_BUDGET: usize = 4_000_000;
/// Points of a program times jobs for which each job is planned alone, at most.
const EXACT_BUDGET: usize = 200_000;
/// Jobs of the most loaded machine that are tried for a move, at most.
const TRIED_COUNT_MAX: usize = 16;

/// What all strategies share.
#[derive(Debug)]
pub(crate) struct Task<'t> {
    points: &'t Points<'t>,
    weights: &'t Weights,
    options: &'t Options,
    forks: &'t [Fork],
    links: Links,
    /// Two choices of links: the cheaper counts.
    choices: [Choices; 2],
    fork_costs: Vec<u64>,
    /// The witnesses of one machine.
    pub(crate) one: Witnesses,
}

/// The witnesses of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnesses(BTreeSet<ElementId>);

impl Witnesses {
    pub(crate) fn size(&self) -> usize {
        self.0.len()
    }
}

impl<'t> Task<'t> {
    pub(crate) fn new(
        points: &'t Points<'t>,
        weights: &'t Weights,
        options: &'t Options,
        forks: &'t [Fork],
    ) -> Result<Task<'t>, TooLarge> {
        let links = Links::new(points, weights, forks);
        let forest = links.forest();
        let fork_costs = links.fork_costs(weights, &forest, forks.len());
        let mut budget = BUDGET;
        let mut one: BTreeSet<ElementId> = match options.kind {
            Kind::Edges => links.elements(&forest).into_iter().collect(),
            Kind::Blocks => nodes::choose(points, weights, forks, &mut budget)?,
        };
        repair(points, weights, options.kind, &mut one, forks)?;
        prune(points, weights, &mut one, forks, &mut budget)?;
        let one = Witnesses(one);
        let choices = links.choices(&forest);
        Ok(Task { points, weights, options, forks, links, choices, fork_costs, one })
    }

    fn cost(&self, witnesses: &BTreeSet<ElementId>) -> u64 {
        self.weights.cost(witnesses.iter().copied())
    }

    fn run(&self, witnesses: &BTreeSet<ElementId>, machine: usize) -> Run {
        let profile = Profile::of(witnesses.iter().copied());
        Run { profile, machine, cost: self.cost(witnesses) }
    }

    /// Returns the plan of one profile.
    pub(crate) fn single(&self) -> Plan {
        Plan { strategy: Strategy::Single, runs: vec![self.run(&self.one.0, 0)] }
    }

    fn marked<'o>(&self, own: impl Iterator<Item = &'o u32>) -> Vec<bool> {
        let mut is_own = vec![false; self.forks.len()];
        for fork in own {
            if let Some(mark) = is_own.get_mut(*fork as usize) {
                *mark = true;
            }
        }
        is_own
    }

    /// Returns the cheaper choice of links for some forks, before it is repaired, and its cost.
    fn cheaper(&self, is_own: &[bool]) -> (&Choices, u64) {
        let [needed, fresh] = self.choices.each_ref().map(|own| {
            let mut cost = 0u64;
            own.witnesses(is_own, |own| cost = cost.saturating_add(self.weights.of(own)));
            (own, cost)
        });
        if fresh.1 < needed.1 { fresh } else { needed }
    }

    fn of_links(&self, own: &[u32]) -> BTreeSet<ElementId> {
        let is_own = self.marked(own.iter());
        let mut found = Vec::new();
        self.cheaper(&is_own).0.witnesses(&is_own, |own| found.push(own));
        found.into_iter().collect()
    }

    /// Returns the witnesses of a machine for some forks.
    fn witnesses(&self, own: &[u32], budget: &mut usize) -> Result<BTreeSet<ElementId>, TooLarge> {
        let forks: Vec<Fork> =
            own.iter().filter_map(|at| self.forks.get(*at as usize).copied()).collect();
        let mut found = match self.options.kind {
            Kind::Edges => self.of_links(own),
            Kind::Blocks => self.one.0.clone(),
        };
        repair(self.points, self.weights, self.options.kind, &mut found, &forks)?;
        prune(self.points, self.weights, &mut found, &forks, budget)?;
        // The one profile tells all forks.
        Ok(if self.cost(&found) <= self.cost(&self.one.0) { found } else { self.one.0.clone() })
    }

    /// Distributes jobs over the machines.
    pub(crate) fn distributed(
        &self,
        strategy: Strategy,
        jobs: Vec<Vec<u32>>,
    ) -> Result<Plan, PlanError> {
        let mut plan = self.plan_of(strategy, &self.balanced(&jobs))?;
        if jobs.len() * self.points.count() <= EXACT_BUDGET {
            let exact = self.plan_of(strategy, &self.exact(jobs)?)?;
            if exact.cost() < plan.cost() {
                plan = exact;
            }
        }
        Ok(plan)
    }

    /// Finds the profiles of jobs on their machines.
    fn plan_of(&self, strategy: Strategy, machines: &[Vec<Vec<u32>>]) -> Result<Plan, PlanError> {
        let mut budget = BUDGET;
        let mut runs = Vec::new();
        for (machine, jobs) in machines.iter().enumerate().filter(|(_, jobs)| !jobs.is_empty()) {
            let own: Vec<u32> = jobs.iter().flatten().copied().collect();
            for witnesses in self.limited(&own, &mut budget)? {
                runs.push(self.run(&witnesses, machine));
            }
        }
        if runs.is_empty() {
            runs.push(self.run(&self.one.0, 0));
        }
        Ok(Plan { strategy, runs })
    }

    /// Assigns jobs by what each costs alone: the dearest first, each to the machine of least load.
    fn exact(&self, jobs: Vec<Vec<u32>>) -> Result<Vec<Vec<Vec<u32>>>, TooLarge> {
        let mut budget = BUDGET;
        let cost = |job: Vec<u32>| Ok((self.cost(&self.witnesses(&job, &mut budget)?), job));
        let mut sorted = jobs.into_iter().map(cost).collect::<Result<Vec<_>, TooLarge>>()?;
        sorted.sort_by_key(|(cost, _)| Reverse(*cost));
        let mut machines = vec![Vec::new(); self.options.machines];
        let mut loads = vec![0u64; self.options.machines];
        for (cost, job) in sorted {
            let least = least(&loads);
            loads[least] = loads[least].saturating_add(cost);
            machines[least].push(job);
        }
        Ok(machines)
    }

    /// Assigns jobs to machines: the dearest first, each to the machine of least load; then moves
    /// jobs away from the most loaded machine as long as that helps.
    fn balanced(&self, jobs: &[Vec<u32>]) -> Vec<Vec<Vec<u32>>> {
        let cost_of = |job: &Vec<u32>| {
            let own = job.iter().filter_map(|fork| self.fork_costs.get(*fork as usize));
            own.fold(1u64, |sum, cost| sum.saturating_add(*cost))
        };
        let mut sorted: Vec<(u64, Vec<u32>)> =
            jobs.iter().map(|job| (cost_of(job), job.clone())).collect();
        sorted.sort_by_key(|job| Reverse(job.0));
        let mut machines: Vec<Vec<Vec<u32>>> = vec![Vec::new(); self.options.machines];
        let mut loads = vec![0u64; self.options.machines];
        let mut budget = BALANCE_BUDGET;
        let step = 1 + sorted.len() * self.links.size() / (BALANCE_BUDGET / 2);
        for (count, (cost, job)) in sorted.into_iter().enumerate() {
            let least = least(&loads);
            machines[least].push(job);
            loads[least] = loads[least].saturating_add(cost);
            if count % step == 0 {
                loads[least] = self.load(&machines[least], &mut budget);
            }
        }
        for (load, jobs) in loads.iter_mut().zip(&machines) {
            *load = self.load(jobs, &mut budget);
        }
        while self.moved(&mut machines, &mut loads, &mut budget) {}
        machines
    }

    /// Moves a job from the most loaded machine to the least loaded, if that helps.
    fn moved(&self, machines: &mut [Vec<Vec<u32>>], loads: &mut [u64], budget: &mut usize) -> bool {
        let most = (0..loads.len()).max_by_key(|at| loads[*at]).unwrap_or(0);
        let least = least(loads);
        for at in 0..machines[most].len().min(TRIED_COUNT_MAX) {
            if most == least || *budget < 2 * self.links.size() {
                return false;
            }
            let job = machines[most].remove(at);
            machines[least].push(job);
            let new = [most, least].map(|machine| self.load(&machines[machine], budget));
            if new.iter().all(|load| *load < loads[most]) {
                (loads[most], loads[least]) = (new[0], new[1]);
                return true;
            }
            if let Some(job) = machines[least].pop() {
                machines[most].insert(at, job);
            }
        }
        false
    }

    fn load(&self, jobs: &[Vec<u32>], budget: &mut usize) -> u64 {
        *budget = budget.saturating_sub(self.links.size());
        if jobs.is_empty() { 0 } else { self.cheaper(&self.marked(jobs.iter().flatten())).1 }
    }

    /// Returns profiles for some forks that keep the limit: one, or more of fewer forks each.
    fn limited(
        &self,
        own: &[u32],
        budget: &mut usize,
    ) -> Result<Vec<BTreeSet<ElementId>>, PlanError> {
        let limit = self.options.limit.unwrap_or(usize::MAX);
        let (mut found, mut open) = (Vec::new(), vec![own]);
        while let Some(own) = open.pop() {
            let witnesses = self.witnesses(own, budget)?;
            if witnesses.len() <= limit {
                found.push(witnesses);
            } else if own.len() > 1 {
                let (one, other) = own.split_at(own.len() / 2);
                open.extend([other, one]);
            } else {
                let fork = own.first().and_then(|at| self.forks.get(*at as usize));
                found.extend(fork.map_or(Ok(vec![]), |fork| self.by_pairs(*fork, limit))?);
            }
        }
        Ok(found)
    }

    /// Returns a profile for each pair of ways of a fork.
    fn by_pairs(&self, fork: Fork, limit: usize) -> Result<Vec<BTreeSet<ElementId>>, PlanError> {
        let mut ways: Vec<Way> = Vec::new();
        self.points.ways(fork, |way| ways.push(way));
        let mut found = Vec::new();
        for (at, one) in ways.iter().enumerate() {
            for other in ways.iter().skip(at + 1) {
                let kind = self.options.kind;
                let pair = super::repair::of_ways(self.points, kind, fork, &[*one, *other]);
                if pair.len() > limit {
                    return Err(PlanError::Limit { fork, needs: pair.len() });
                }
                found.push(pair);
            }
        }
        Ok(found)
    }
}

/// Returns the first machine of least load.
fn least(loads: &[u64]) -> usize {
    (0..loads.len()).min_by_key(|at| loads[*at]).unwrap_or(0)
}
