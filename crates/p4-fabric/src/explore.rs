//! A search for states without progress: a small fabric, and every way in which frames can come.
//!
//! Time goes by in steps. At each one, every server that can either sends a frame or does not. A state
//! that was seen before is not followed again. If time passes, nothing comes, and the fabric is back
//! in a state that it was in, its frames will wait for ever.

use p4_net::{Rng, Time};
use std::collections::HashSet;

use crate::fabric::Fabric;
use crate::parameters::{CongestionPoints, HeaderOrder, Spray};
use crate::scenario::{Class, PortId, Refused};
use crate::state::{leaf_of, place_of};

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Of all flows together
    pub frames: u32,
    /// Servers decide once in this time
    pub step: Time,
    /// It stops after so many states
    pub states: u64,
}

/// What a search has found. A schedule has an item for each step: the flows of which a frame comes, as
/// bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    pub states: u64,
    /// Ways that ended with an empty fabric
    pub ends: u64,
    /// Nothing was left out
    pub complete: bool,
    /// The schedule after which nothing moves any more
    pub stuck: Option<Vec<u32>>,
    /// Cells that a cache lost before all of their copies had crossed: the most on a way, and its
    /// schedule
    pub evicted: u64,
    pub thrashing: Vec<u32>,
    /// Suspensions that ended only by their timeout: the most on a way
    pub timeouts: u64,
}

/// Flows of a search: their sets are bits, all of which are tried
const MOST_FLOWS: usize = 8;

/// Steps between two questions whether a search is to stop
const ASKED: u64 = 256;

struct Search<'a> {
    reach: Reach,
    seen: HashSet<(u64, u32)>,
    found: Explored,
    schedule: Vec<u32>,
    stops: &'a mut dyn FnMut() -> bool,
    is_stopped: bool,
}

/// What has become of a step.
enum Next {
    Going,
    Empty,
    Stuck,
}

impl Fabric {
    /// The server of a flow sends a frame now. False if it is still sending, or was told to stop.
    pub fn offer(&mut self, flow: u32) -> bool {
        let can = self.can_offer(flow);
        if can {
            let (leaf, source) = self.sources[flow as usize];
            let leaf = usize::from(leaf);
            let place = place_of(self.sender(flow));
            self.leaves[leaf].emit(place, source);
            self.since = self.now;
            self.post(leaf);
        }
        can
    }

    fn sender(&self, flow: u32) -> PortId {
        self.source(self.sources[flow as usize]).flow.tree[0].0
    }

    fn can_offer(&self, flow: u32) -> bool {
        let sender = self.sender(flow);
        let adapter = &self.leaves[leaf_of(sender)].adapters[place_of(sender)];
        let lossless = self.source(self.sources[flow as usize]).flow.class == Class::Lossless;
        adapter.busy <= self.now && !(adapter.paused && lossless)
    }

    /// Tries every schedule of up to so many frames, from here until the fabric is empty. Its flows
    /// have to send nothing by themselves: their `stop` is zero. Refuses parameters that draw. `stops`
    /// is asked now and then, and ends the search.
    pub fn explore(
        &self,
        reach: Reach,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Explored, Refused> {
        let start = self.for_search()?;
        let mut search = Search::new(reach, stops);
        search.found.complete = true;
        search.visit(&start, reach.frames, &[]);
        Ok(search.found)
    }

    /// Tries so many random schedules instead, each until the fabric is empty or stuck.
    pub fn wander(
        &self,
        reach: Reach,
        runs: u64,
        seed: u64,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Explored, Refused> {
        let start = self.for_search()?;
        let mut search = Search::new(reach, stops);
        let mut rng = Rng::new(seed, 7);
        for _ in 0..runs {
            if search.found.stuck.is_some() || search.is_over() {
                break;
            }
            search.walk(start.clone(), &mut rng);
        }
        Ok(search.found)
    }

    /// A copy without a watchdog: the search finds for itself that nothing moves.
    fn for_search(&self) -> Result<Fabric, Refused> {
        let own = &self.parameters;
        let draws = own.header_order == HeaderOrder::Random
            || own.spray == Spray::Random
            || own.header_probability > 0.0
            || own.frame_loss > 0.0
            || own.qcn != CongestionPoints::Off;
        let flows = self.sources.len();
        if draws {
            let text = "a search needs parameters without chance: headers.order = \"fixed\", link.spray = \
                        \"round-robin\", headers.probability = 0, errors.frame_loss = 0, qcn.points = \"off\"";
            return Err(Refused(text.into()));
        }
        if flows == 0 || flows > MOST_FLOWS {
            return Err(Refused(format!(
                "{flows} flows: a search takes 1 to {MOST_FLOWS}"
            )));
        }
        if self.flows().any(|flow| flow.stop > Time::ZERO) {
            let text = "a flow that sends by itself: in a search its stop has to be zero";
            return Err(Refused(text.into()));
        }
        let mut start = self.clone();
        start.quiet = u64::MAX;
        Ok(start)
    }

    /// Sets of flows that can send at this moment, from the largest number down to 0, which is none.
    fn choices(&self, left: u32) -> Vec<u32> {
        let free = (0..self.sources.len() as u32).filter(|flow| self.can_offer(*flow));
        let free: Vec<u32> = free.collect();
        let all = (0..1u32 << self.sources.len()).rev();
        all.filter(|set| set.count_ones() <= left && self.is_possible(*set, &free))
            .collect()
    }

    /// Whether all of a set can send, and no two of them are of one server.
    fn is_possible(&self, set: u32, free: &[u32]) -> bool {
        let mut senders = HashSet::new();
        (0..self.sources.len() as u32)
            .filter(|flow| set >> flow & 1 == 1)
            .all(|flow| free.contains(&flow) && senders.insert(self.sender(flow)))
    }
}

impl<'a> Search<'a> {
    fn new(reach: Reach, stops: &'a mut dyn FnMut() -> bool) -> Search<'a> {
        Search {
            reach,
            seen: HashSet::new(),
            found: Explored::default(),
            schedule: Vec::new(),
            stops,
            is_stopped: false,
        }
    }

    fn is_over(&self) -> bool {
        self.is_stopped || self.found.states >= self.reach.states
    }

    /// One step: these frames come, and time passes. `waits` are the states since the last frame.
    fn step(&mut self, fabric: &mut Fabric, set: u32, waits: &mut Vec<u64>) -> Next {
        if set != 0 {
            waits.clear();
        }
        for flow in 0..32 {
            if set >> flow & 1 == 1 {
                fabric.offer(flow);
            }
        }
        let end = fabric.now + self.reach.step.picos();
        fabric.run_until(Time::from_picos(end), u64::MAX);
        self.found.states += 1;
        if self.found.states.is_multiple_of(ASKED) {
            self.is_stopped |= (self.stops)();
        }
        let totals = fabric.totals();
        self.found.timeouts = self.found.timeouts.max(totals.timeouts);
        if totals.evicted > self.found.evicted {
            self.found.evicted = totals.evicted;
            self.found.thrashing = self.schedule.clone();
        }
        if fabric.headers() == 0 {
            self.found.ends += 1;
            return Next::Empty;
        }
        let digest = fabric.digest();
        if waits.contains(&digest) {
            self.found.stuck = Some(self.schedule.clone());
            return Next::Stuck;
        }
        waits.push(digest);
        Next::Going
    }

    /// All that can come after a state; depth first.
    fn visit(&mut self, fabric: &Fabric, left: u32, waits: &[u64]) {
        let begun = !self.schedule.is_empty();
        for set in fabric.choices(left) {
            if self.found.stuck.is_some() || set == 0 && !begun {
                return;
            }
            if self.is_over() {
                self.found.complete = false;
                return;
            }
            let mut next = fabric.clone();
            let mut chain = waits.to_vec();
            self.schedule.push(set);
            if matches!(self.step(&mut next, set, &mut chain), Next::Going) {
                let left = left - set.count_ones();
                let digest = chain.last().copied().unwrap_or_default();
                if self.seen.insert((digest, left)) {
                    self.visit(&next, left, &chain);
                }
            }
            self.schedule.pop();
        }
    }

    /// One random schedule.
    fn walk(&mut self, mut fabric: Fabric, rng: &mut Rng) {
        let mut left = self.reach.frames;
        let mut waits = Vec::new();
        let dense = 0.2 + 0.1 * rng.up_to(7) as f64;
        self.schedule.clear();
        while !self.is_over() {
            let sets = fabric.choices(left);
            let chosen = match rng.chance(dense) {
                true => rng.up_to(sets.len() as u64 - 1) as usize,
                false => sets.len() - 1,
            };
            let set = match self.schedule.is_empty() {
                true => sets[0],
                false => sets[chosen],
            };
            self.schedule.push(set);
            left -= set.count_ones();
            if !matches!(self.step(&mut fabric, set, &mut waits), Next::Going) {
                return;
            }
        }
    }
}
