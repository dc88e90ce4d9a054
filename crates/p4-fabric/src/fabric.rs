//! The fabric as a whole: building one, and what is seen of it.

use p4_net::{Rng, Time};
use std::sync::Arc;

use crate::leaf::{Event, Leaf, Mail};
use crate::measure::{Measures, Sink, Totals};
use crate::parameters::{CongestionPoints, Parameters};
use crate::policies::Policies;
use crate::qcn::Limiter;
use crate::scenario::{is_surrogate, levels, Flow, PortId, Refused, MOST_COPIES, MOST_LEAVES};
use crate::spine::Spine;
use crate::state::{leaf_of, place_of, vl_of, End, Node, Source, Voq};

/// How a fabric is run.
#[derive(Clone, Debug)]
pub struct Setup {
    pub parameters: Parameters,
    pub leaves: usize,
    pub seed: u64,
    /// Throughput and delays count from here on
    pub warm: Time,
    /// Of the series
    pub interval: Time,
    /// The leaf whose cache is sampled
    pub watched: usize,
}

/// Something of a leaf: the leaf, and its number there
pub(crate) type Place = (u16, u32);

/// Leaves, spines and what is in them; see the crate's page.
#[derive(Clone)]
pub struct Fabric {
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) now: u64,
    /// The watchdog's patience, and since when it has been waiting at the earliest
    pub(crate) quiet: u64,
    pub(crate) since: u64,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) spines: Vec<Spine>,
    /// All sources, near ends of VOQs, and sinks, by their numbers
    pub(crate) sources: Vec<Place>,
    pub(crate) voqs: Vec<Place>,
    pub(crate) sinks: Vec<Place>,
    measures: Measures,
    seed: u64,
}

impl Fabric {
    /// A fabric without flows. Refuses sizes that there are not.
    pub fn new(setup: Setup) -> Result<Fabric, Refused> {
        let (count, seed) = (setup.leaves, setup.seed);
        if !(1..=MOST_LEAVES).contains(&count) || setup.watched >= count {
            return Err(Refused(format!(
                "a fabric has 1 to {MOST_LEAVES} leaves, not {count}"
            )));
        }
        let parameters = Arc::new(setup.parameters);
        let measures = Measures::new(setup.warm, setup.interval);
        let leaf = |number| Leaf::new(number, count, seed, &parameters, measures.clone());
        let mut leaves: Vec<Leaf> = (0..count as u16).map(leaf).collect();
        leaves[setup.watched].after(0, Event::Sample);
        let spine = |number| Spine::new(number as usize, count, &parameters);
        Ok(Fabric {
            now: 0,
            quiet: parameters.quiet,
            since: 0,
            leaves,
            spines: (0..parameters.links).map(spine).collect(),
            sources: Vec::new(),
            voqs: Vec::new(),
            sinks: Vec::new(),
            measures,
            seed,
            parameters,
        })
    }

    /// Adds a flow; its number. Each receiver becomes a sink, in the order of the tree.
    pub fn add(&mut self, flow: Flow) -> Result<u32, Refused> {
        let levels = levels(&flow, self.leaves.len(), &self.parameters)?;
        let number = self.sources.len() as u32;
        let port = flow.tree[0].0;
        let leaf = leaf_of(port);
        let sender = (leaf as u16, self.leaves[leaf].sources.len() as u32);
        // Nodes first, so that each can be a target
        let bytes = flow.bytes as u32;
        let increment = self.parameters.increment;
        let lane = |level: usize| if increment { level } else { 0 };
        let mut nodes = Vec::with_capacity(flow.tree.len());
        for ((port, _), level) in flow.tree.iter().zip(&levels) {
            let own = &mut self.leaves[leaf_of(*port)].nodes;
            nodes.push(own.len() as u32);
            own.push(Node {
                flow: number,
                bytes,
                port: *port,
                vl: vl_of(flow.class, lane(*level)),
                voqs: Vec::with_capacity(MOST_COPIES),
                targets: Vec::with_capacity(MOST_COPIES),
            });
        }
        for (at, (port, children)) in flow.tree.iter().enumerate() {
            for child in children {
                let (vl, target) = match is_surrogate(*child) {
                    true => {
                        let place = flow.tree.iter().position(|(port, _)| port == child);
                        let place = place.unwrap_or_default(); // `levels` has seen that there is one
                        (vl_of(flow.class, lane(levels[at] + 1)), nodes[place])
                    }
                    // The last hop is on the sender's lane again.
                    false => {
                        let sink = Sink::new(number, *child, levels[at] as u8, sender);
                        (vl_of(flow.class, 0), self.sink(sink))
                    }
                };
                let voq = self.voq((*port, *child, vl));
                let node = &mut self.leaves[leaf_of(*port)].nodes[nodes[at] as usize];
                node.voqs.push(voq);
                node.targets.push(target);
            }
        }
        let mut rng = Rng::new(self.seed, u64::from(number));
        let phase = rng.up_to(flow.bytes * 8_000_000 / flow.mbps);
        let start = (flow.start + Time::from_picos(phase)).picos();
        let own = &mut self.leaves[leaf];
        own.sources.push(Source {
            number,
            root: nodes[0],
            next: start,
            allowed: 0,
            sent: 0,
            limiter: Limiter::new(&self.parameters),
            rng,
            flow,
        });
        own.adapters[place_of(port)].sources.push(sender.1);
        own.look_at(place_of(port), start);
        self.sources.push(sender);
        Ok(number)
    }

    /// A receiver; its number in its leaf.
    fn sink(&mut self, sink: Sink) -> u32 {
        let leaf = leaf_of(sink.port);
        let own = &mut self.leaves[leaf].measures.sinks;
        own.push(sink);
        let number = own.len() as u32 - 1;
        self.sinks.push((leaf as u16, number));
        number
    }

    /// The VOQ from a port to another one on a lane; its number in its leaf.
    fn voq(&mut self, way: (PortId, PortId, u8)) -> u32 {
        let (from, to, vl) = way;
        let (near, far) = (leaf_of(from), leaf_of(to));
        let same = |one: &Voq| (one.from, one.to, one.vl) == way;
        if let Some(at) = self.leaves[near].voqs.iter().position(same) {
            return at as u32;
        }
        let number = self.leaves[near].voqs.len() as u32;
        let end = self.leaves[far].ends.len() as u32;
        let voq = Voq::new(self.voqs.len() as u32, end, way);
        self.leaves[far].ends.push(End {
            leaf: near as u16,
            voq: number,
            to,
            vl,
            remote: voq.remote,
            requests: Default::default(),
            in_ring: false,
            first: 0,
            coming: Default::default(),
        });
        self.leaves[far].deficits.push(0);
        self.leaves[near].voqs.push(voq);
        self.voqs.push((near as u16, number));
        number
    }

    /// Puts tables in the place of what the parameters say.
    pub fn decide_by(&mut self, policies: Policies) {
        let policies = Arc::new(policies);
        for leaf in &mut self.leaves {
            leaf.policies = Arc::clone(&policies);
        }
    }

    pub fn now(&self) -> Time {
        Time::from_picos(self.now)
    }

    /// The least time in which something that happens at a leaf or spine reaches another one.
    pub fn lookahead(&self) -> Time {
        let own = &self.parameters;
        let mut least = own.cable.min(own.request_remote);
        if own.qcn == CongestionPoints::Outputs {
            least = least.min(own.cnm);
        }
        if own.frame_loss > 0.0 {
            least = least.min(own.retransmit);
        }
        Time::from_picos(least)
    }

    /// All that was measured, of all leaves.
    pub fn measures(&self) -> Measures {
        let mut found = self.measures.clone();
        self.leaves
            .iter()
            .for_each(|leaf| found.add(&leaf.measures));
        let sinks = self.sinks.iter();
        found.sinks = sinks.map(|place| self.sink_at(*place).clone()).collect();
        found
    }

    fn sink_at(&self, (leaf, number): Place) -> &Sink {
        &self.leaves[usize::from(leaf)].measures.sinks[number as usize]
    }

    /// Only the counters of [`Fabric::measures`].
    pub fn totals(&self) -> Totals {
        let mut found = self.measures.totals.clone();
        let leaves = self.leaves.iter();
        leaves.for_each(|leaf| found.add(&leaf.measures.totals));
        found
    }

    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        let sources = self.sources.iter();
        sources.map(|place| &self.source(*place).flow)
    }

    pub(crate) fn source(&self, (leaf, number): Place) -> &Source {
        &self.leaves[usize::from(leaf)].sources[number as usize]
    }

    pub(crate) fn voq_at(&self, (leaf, number): Place) -> &Voq {
        &self.leaves[usize::from(leaf)].voqs[number as usize]
    }

    /// The most payload that a port has held at a time, in buffer units.
    pub fn most_payload(&self, port: PortId) -> u32 {
        self.leaves[leaf_of(port)].ports[place_of(port)].most_payload
    }

    /// One number for all deliveries so far: equal runs have equal ones.
    pub fn fingerprint(&self) -> u64 {
        self.measures().fingerprint
    }

    /// Headers of copies that are not acknowledged, in all leaves.
    pub(crate) fn headers(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.headers.live()).sum()
    }

    /// What is on its way, with its receiver and moment.
    pub(crate) fn mail(&self) -> impl Iterator<Item = (usize, Time, Mail)> + '_ {
        let leaves = self.leaves.iter().map(|leaf| &leaf.inbox);
        let boxes = leaves.chain(self.spines.iter().map(|spine| &spine.inbox));
        boxes.enumerate().flat_map(|(to, inbox)| {
            let all = inbox.pending().into_iter();
            all.map(move |(time, _, mail)| (to, time, mail))
        })
    }
}
