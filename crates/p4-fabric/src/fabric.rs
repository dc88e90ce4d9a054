//! The fabric as a whole: building one, and letting its time pass.

use p4_net::{EventQueue, Rng, Time};

use crate::arbiter::Islip;
use crate::cache::Cache;
use crate::measure::{Measures, Sink};
use crate::parameters::Parameters;
use crate::policies::Policies;
use crate::qcn::Limiter;
use crate::scenario::{
    is_surrogate, levels, Flow, PortId, Refused, MOST_COPIES, MOST_LEAVES, PORTS,
};
use crate::slab::{List, Slab};
use crate::snapshot::LeafLoad;
use crate::state::{
    vl_of, Adapter, Cell, Frame, Header, Leaf, Link, Node, Port, Row, Source, Spine, Voq,
};

/// Something that happens at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// An adapter may send a frame. Void unless this is when it last wanted to.
    Look {
        port: PortId,
    },
    /// Messages, at the end of their way
    Request {
        voq: u32,
    },
    Grant {
        voq: u32,
    },
    Acknowledge {
        header: u32,
    },
    Pause {
        port: PortId,
        stop: bool,
    },
    Notify {
        flow: u32,
        feedback: u8,
    },
    /// A crossbar's next slot
    Slot {
        leaf: u16,
    },
    SpineSlot {
        spine: u16,
    },
    /// A cell has come to the far end of a link
    AtSpine {
        cell: u32,
    },
    AtLeaf {
        cell: u32,
    },
    /// The line to a server, or a loop, has taken a whole frame
    LineFree {
        port: PortId,
    },
    /// A suspended VOQ has waited for long enough
    Timeout {
        voq: u32,
        epoch: u32,
    },
    /// A frame was not acknowledged in time
    Retransmit {
        header: u32,
    },
    /// A rate limiter's timer
    Timer {
        flow: u32,
        epoch: u32,
    },
    Sample,
}

/// Why time stopped passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the moment that was asked for.
    Reached,
    /// So many events were carried out; going on is possible.
    Paused,
    /// Frames wait, and nothing has moved for longer than any round trip.
    Deadlock,
}

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

/// Leaves, spines and what is in them; see the crate's page.
#[derive(Clone)]
pub struct Fabric {
    pub(crate) parameters: Parameters,
    pub(crate) policies: Policies,
    pub(crate) now: u64,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) frames: Slab<Frame>,
    pub(crate) headers: Slab<Header>,
    pub(crate) cells: Slab<Cell>,
    /// By frame x cells of the largest frame + cell
    pub(crate) rows: Vec<Row>,
    pub(crate) stride: usize,
    pub(crate) voqs: Vec<Voq>,
    /// Of the VOQs at their arbiters
    pub(crate) deficits: Vec<u64>,
    pub(crate) ports: Vec<Port>,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) spines: Vec<Spine>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sources: Vec<Source>,
    pub(crate) adapters: Vec<Adapter>,
    pub(crate) measures: Measures,
    pub(crate) watched: usize,
    /// Of decisions at ports
    pub(crate) rng: Rng,
    seed: u64,
    pub(crate) moved: u64,
    pub(crate) plan: crate::plan::Plan,
}

/// Inputs of a leaf's crossbar as iSLIP sees them: lanes from the spines, then each port's payload
/// interface, then each port's cached cells, which may go to several outputs at once.
const INPUTS: usize = 3 * PORTS;
const CACHED: u128 = 0xFF << (2 * PORTS);

impl Fabric {
    /// A fabric without flows. Refuses sizes that there are not.
    pub fn new(setup: Setup) -> Result<Fabric, Refused> {
        let Setup {
            parameters,
            leaves,
            seed,
            ..
        } = setup;
        if !(1..=MOST_LEAVES).contains(&leaves) || setup.watched >= leaves {
            return Err(Refused(format!(
                "a fabric has 1 to {MOST_LEAVES} leaves, not {leaves}"
            )));
        }
        let links = || (0..parameters.links).map(|_| Link::new(parameters.hop_credits));
        let leaf = |number: usize| Leaf {
            cache: Cache::new(parameters.cache_lines, parameters.cache_spare),
            islip: Islip::new(INPUTS, PORTS, CACHED),
            up: links().collect(),
            came: [[List::EMPTY; PORTS]; PORTS],
            lanes: [0; PORTS],
            turn: 0,
            next_link: 0,
            awake: false,
            last: 0,
            rng: Rng::new(seed, number as u64 + 1_000_000),
            load: LeafLoad::default(),
        };
        let spine = |_| Spine {
            islip: Islip::new(leaves, leaves, 0),
            queues: vec![List::EMPTY; leaves * leaves],
            wants: vec![0; leaves],
            active: 0,
            down: (0..leaves)
                .map(|_| Link::new(parameters.hop_credits))
                .collect(),
            awake: false,
            last: 0,
            crossed: 0,
        };
        let mut fabric = Fabric {
            now: 0,
            queue: EventQueue::default(),
            frames: Slab::default(),
            headers: Slab::default(),
            cells: Slab::default(),
            rows: Vec::new(),
            stride: parameters.units(parameters.frame_most) as usize,
            voqs: Vec::new(),
            deficits: Vec::new(),
            ports: (0..leaves * PORTS)
                .map(|_| Port::new(&parameters))
                .collect(),
            leaves: (0..leaves).map(leaf).collect(),
            spines: (0..parameters.links).map(spine).collect(),
            nodes: Vec::new(),
            sources: Vec::new(),
            adapters: vec![Adapter::default(); leaves * PORTS],
            measures: Measures::new(setup.warm, setup.interval),
            watched: setup.watched,
            rng: Rng::new(seed, 999_999),
            seed,
            moved: 0,
            plan: crate::plan::Plan::default(),
            policies: Policies::default(),
            parameters,
        };
        fabric.queue.arrange(Time::ZERO, Event::Sample);
        Ok(fabric)
    }

    /// Adds a flow; its number. Each receiver becomes a sink, in the order of the tree.
    pub fn add(&mut self, flow: Flow) -> Result<u32, Refused> {
        let levels = levels(&flow, self.leaves.len(), &self.parameters)?;
        let number = self.sources.len() as u32;
        let first = self.nodes.len();
        let increment = self.parameters.increment;
        let lane = |level: usize| if increment { level } else { 0 };
        for ((port, children), level) in flow.tree.iter().zip(&levels) {
            let mut node = Node {
                port: *port,
                vl: vl_of(flow.class, lane(*level)),
                voqs: Vec::with_capacity(MOST_COPIES),
                targets: Vec::with_capacity(MOST_COPIES),
            };
            for child in children {
                let (vl, target) = match is_surrogate(*child) {
                    true => {
                        let place = flow.tree.iter().position(|(port, _)| port == child);
                        let place = place.unwrap_or_default(); // `levels` has seen that there is one
                        (vl_of(flow.class, lane(level + 1)), (first + place) as u32)
                    }
                    // The last hop is on the sender's lane again.
                    false => (
                        vl_of(flow.class, 0),
                        self.sink(number, *child, *level as u8),
                    ),
                };
                node.voqs.push(self.voq(*port, *child, vl));
                node.targets.push(target);
            }
            self.nodes.push(node);
        }
        let mut rng = Rng::new(self.seed, u64::from(number));
        let sender = self.nodes[first].port;
        let phase = rng.up_to(flow.bytes * 8_000_000 / flow.mbps);
        let start = (flow.start + Time::from_picos(phase)).picos();
        self.sources.push(Source {
            root: first as u32,
            next: start,
            allowed: 0,
            number: 0,
            limiter: Limiter::new(&self.parameters),
            rng,
            flow,
        });
        self.adapters[sender as usize].flows.push(number);
        self.look_at(sender, start);
        Ok(number)
    }

    fn sink(&mut self, flow: u32, port: PortId, level: u8) -> u32 {
        self.measures.sinks.push(Sink::new(flow, port, level));
        (self.measures.sinks.len() - 1) as u32
    }

    fn voq(&mut self, from: PortId, to: PortId, vl: u8) -> u32 {
        let same = |one: &Voq| (one.from, one.to, one.vl) == (from, to, vl);
        if let Some(at) = self.voqs.iter().position(same) {
            return at as u32;
        }
        self.voqs.push(Voq::new(from, to, vl));
        self.deficits.push(0);
        (self.voqs.len() - 1) as u32
    }

    /// Puts tables in the place of what the parameters say.
    pub fn decide_by(&mut self, policies: Policies) {
        self.policies = policies;
    }

    pub fn now(&self) -> Time {
        Time::from_picos(self.now)
    }

    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.sources.iter().map(|source| &source.flow)
    }

    /// The most payload that a port has held at a time, in buffer units.
    pub fn most_payload(&self, port: PortId) -> u32 {
        self.ports[port as usize].most_payload
    }

    /// One number for all deliveries so far: equal runs have equal ones.
    pub fn fingerprint(&self) -> u64 {
        self.measures.fingerprint
    }

    /// Lets time pass until `end`, or for so many events.
    pub fn run_until(&mut self, end: Time, events: u64) -> Outcome {
        for _ in 0..events {
            let Some((time, event)) = self.queue.pop(end) else {
                self.now = end.picos().max(self.now);
                return Outcome::Reached;
            };
            self.now = time.picos();
            if self.now - self.moved > self.parameters.quiet {
                if self.headers.live() > 0 {
                    // The clock stays where nothing has moved for so long.
                    self.queue.arrange(time, event);
                    return Outcome::Deadlock;
                }
                self.moved = self.now;
            }
            self.measures.totals.events += 1;
            self.handle(event);
        }
        Outcome::Paused
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Look { port } => self.look(port),
            Event::Request { voq } => self.requested(voq),
            Event::Grant { voq } => self.granted(voq),
            Event::Acknowledge { header } => self.acknowledged(header),
            Event::Pause { port, stop } => self.paused(port, stop),
            Event::Notify { flow, feedback } => self.notified(flow, feedback),
            Event::Slot { leaf } => self.slot(usize::from(leaf)),
            Event::SpineSlot { spine } => self.spine_slot(usize::from(spine)),
            Event::AtSpine { cell } => self.at_spine(cell),
            Event::AtLeaf { cell } => self.at_leaf(cell),
            Event::LineFree { port } => self.line_free(port),
            Event::Timeout { voq, epoch } => self.timeout(voq, epoch),
            Event::Retransmit { header } => self.retransmit(header),
            Event::Timer { flow, epoch } => self.timer(flow, epoch),
            Event::Sample => {
                let occupied = self.leaves[self.watched].cache.occupied() as u32;
                self.measures.cache.push(occupied);
                self.after(self.measures.interval, Event::Sample);
            }
        }
    }

    #[inline]
    pub(crate) fn after(&mut self, picos: u64, event: Event) {
        self.queue
            .arrange(Time::from_picos(self.now + picos), event);
    }

    /// Picoseconds that a message takes between the two ends of a VOQ.
    #[inline]
    pub(crate) fn message(&self, voq: u32) -> u64 {
        match self.voqs[voq as usize].remote {
            true => self.parameters.request_remote,
            false => self.parameters.request_local,
        }
    }

    /// A header's frame is needed by one header less.
    pub(crate) fn forget(&mut self, header: u32) {
        let frame = self.headers[header].frame;
        self.headers.remove(header);
        let own = &mut self.frames[frame];
        own.uses -= 1;
        if own.uses == 0 {
            self.frames.remove(frame);
        }
    }
}
