//! A network in parts, so that several threads can carry it out.
//!
//! Nodes that a cable without delay joins stay together; all others may be in different parts, which
//! hear of each other after the delay of a cable at the earliest. A part is a network of its own, with
//! the nodes, the cables that lead away from them, and the frames there. A cable to another part ends
//! at a *ghost* there, which gets a copy of every frame as soon as it is sent, and delivers it when it
//! arrives. Events of one moment are ordered by wire (`agenda.rs`), so that parts see what the whole
//! network would have seen.

use p4_time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::agenda::Happening;
use crate::link::{End, Wire};
use crate::partition::{Rounds, TimeWindows};

use super::rounds::{Ended, Run};
use super::{Device, Event, Kind, Network, Node, NO_CABLE};

/// Why a network is run as a whole, whatever is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// A switch with a CPU port or a host that notifies the caller may end the run at any moment.
    Talks,
    /// A link is captured, whose two directions are in one file.
    Captures,
    /// A host measures latencies: it has to know when other hosts have sent.
    Measures,
    /// A link is to go down or up, for both of its ends at once.
    LinkEvents,
    /// Hosts in different parts send frames of one flow.
    SharedFlow,
    /// Cables without delay join all nodes.
    NoParts,
}

/// How a network is to be run in parts.
pub(super) struct Cut {
    part_of: Vec<u32>,
    /// How far a part can go on without hearing of the others
    pub(super) lookahead: Time,
}

impl<D: Device + Send> Network<D> {
    /// As [`Network::run_until`], in up to so many parts, which `crew` carries out. What happens is the
    /// same, except that a bound of [`Limits`](super::Limits) is looked at between windows. If the
    /// network cannot be run in parts ([`Network::whole`]) it is run as a whole.
    pub fn run_by(&mut self, end: Time, parts: usize, crew: impl FnOnce(&dyn Rounds)) -> Event {
        let event = match self.cut(end, parts) {
            Some(cut) => self.run_cut(&cut, end, 0, crew),
            None => None,
        };
        event.unwrap_or_else(|| self.run_until(end))
    }

    /// Up to so many parts in which it can be run until `end`, if it can.
    pub(super) fn cut(&self, end: Time, parts: usize) -> Option<Cut> {
        if self.whole(end).is_some() {
            return None;
        }
        let part_of = self.parts(parts);
        let lookahead = self.lookahead(&part_of)?;
        self.flows_fit(&part_of)
            .then_some(Cut { part_of, lookahead })
    }

    /// Runs it in parts as long as windows have `enough` events on average; none once they have fewer.
    pub(super) fn run_cut(
        &mut self,
        cut: &Cut,
        end: Time,
        enough: u64,
        crew: impl FnOnce(&dyn Rounds),
    ) -> Option<Event> {
        let (mut domains, homes) = self.split(&cut.part_of);
        let windows = TimeWindows::new(domains.iter_mut(), cut.lookahead);
        let run = Run::new(windows, end, self.limits, enough);
        crew(&run);
        let (events, last, why) = (run.windows.events(), run.windows.last(), run.ended());
        run.windows.close();
        self.unite(domains, &homes);
        self.limits.events = self.limits.events.saturating_sub(events);
        let reached = match why {
            Ended::Reached => end,
            _ => self.agenda.next_time().map_or(last, |next| last.min(next)),
        };
        self.now = self.now.max(reached);
        match why {
            Ended::Reached => Some(Event::Reached),
            Ended::Exhausted(bound) => Some(Event::Exhausted(bound)),
            Ended::Thin => None,
        }
    }

    /// Why this network would be run as a whole until `end`, if it would, as far as that can be said
    /// without parts.
    pub fn whole(&self, end: Time) -> Option<Whole> {
        let talks = |node: &Node<D>| match &node.kind {
            Kind::Switch { .. } => node.cpu_port.is_some(),
            Kind::Host { notify, .. } => *notify,
        };
        if !self.news.is_empty() || self.nodes.iter().any(talks) {
            return Some(Whole::Talks);
        }
        if !self.captures.is_empty() {
            return Some(Whole::Captures);
        }
        if self.flows.timed {
            return Some(Whole::Measures);
        }
        let events = self.agenda.pending().into_iter();
        let mut soon = events.take_while(|(time, _)| *time <= end);
        let link = soon.any(|(_, what)| matches!(what, Happening::Link { .. }));
        let parts = self.joined();
        match self.lookahead(&parts) {
            _ if link => Some(Whole::LinkEvents),
            None => Some(Whole::NoParts),
            Some(_) if !self.flows_fit(&parts) => Some(Whole::SharedFlow),
            Some(_) => None,
        }
    }

    /// The part of each node, of about as many cables each: a part grows by the node that has the
    /// largest share of its cables there already, so that most frames stay in their part.
    fn parts(&self, most: usize) -> Vec<u32> {
        let group = self.joined();
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); group.len()];
        for wire in &self.wires {
            let [from, to] = [wire.from(), wire.to].map(|end| group[end.node.0 as usize]);
            near[from as usize].push(to);
        }
        let mut weights = vec![0; group.len()];
        for (node, own) in self.nodes.iter().zip(&group) {
            weights[*own as usize] += 1 + node.ports.len();
        }
        let share = (weights.iter().sum::<usize>() / most.max(1)).max(1);
        let mut parts = vec![NO_CABLE; group.len()];
        let mut growth = Growth::default();
        let (mut part, mut filled) = (0u32, 0);
        let mut rest = (0..group.len()).filter(|own| weights[*own] > 0);
        loop {
            if filled >= share && (part as usize) < most - 1 {
                (part, filled, growth) = (part + 1, 0, Growth::default());
            }
            let free = |own: &u32| parts[*own as usize] == NO_CABLE;
            let anew = || rest.by_ref().map(|own| own as u32).find(free);
            let Some(own) = growth.next(free).or_else(anew) else {
                break;
            };
            parts[own as usize] = part;
            filled += weights[own as usize];
            for other in &near[own as usize] {
                if parts[*other as usize] == NO_CABLE {
                    growth.touch(*other, near[*other as usize].len());
                }
            }
        }
        group.iter().map(|own| parts[*own as usize]).collect()
    }

    /// By node the first of those that cables without delay join with it.
    fn joined(&self) -> Vec<u32> {
        let mut root: Vec<u32> = (0..self.nodes.len() as u32).collect();
        for wire in self.wires.iter().filter(|wire| wire.delay() == Time::ZERO) {
            let (a, b) = (
                find(&mut root, wire.from().node.0),
                find(&mut root, wire.to.node.0),
            );
            root[a.max(b) as usize] = a.min(b);
        }
        (0..root.len() as u32)
            .map(|node| find(&mut root, node))
            .collect()
    }

    /// The least delay between two parts, or all of time if no cable joins any two. None if there is
    /// one part only.
    fn lookahead(&self, part_of: &[u32]) -> Option<Time> {
        let first = part_of.first()?;
        part_of.iter().find(|part| *part != first)?;
        let part = |end: End| part_of[end.node.0 as usize];
        let wires = self.wires.iter();
        let between = wires.filter(|wire| part(wire.from()) != part(wire.to));
        Some(between.map(Wire::delay).min().unwrap_or(Time::MAX))
    }

    /// Whether each flow is sent in one part only.
    fn flows_fit(&self, part_of: &[u32]) -> bool {
        let mut senders: BTreeMap<u32, u32> = BTreeMap::new();
        self.sources.iter().all(|source| {
            let part = part_of[source.at.node.0 as usize];
            source
                .flow
                .is_none_or(|flow| *senders.entry(flow).or_insert(part) == part)
        })
    }
}

/// What a part may grow by.
#[derive(Default)]
struct Growth {
    /// Cables into the part, of nodes that are not in it
    inside: BTreeMap<u32, usize>,
    /// Shares of cables; of equal ones the lowest node is first. A node is there with smaller ones, too.
    best: BinaryHeap<(u64, Reverse<u32>)>,
}

impl Growth {
    /// One more of a node's `cables` leads into the part.
    fn touch(&mut self, node: u32, cables: usize) {
        let inside = self.inside.entry(node).or_insert(0);
        *inside += 1;
        let share = ((*inside as u64) << 32) / cables as u64;
        self.best.push((share, Reverse(node)));
    }

    /// The node that has the largest share of its cables in the part.
    fn next(&mut self, is_free: impl Fn(&u32) -> bool) -> Option<u32> {
        let nodes = std::iter::from_fn(|| self.best.pop());
        nodes.map(|(_, Reverse(node))| node).find(is_free)
    }
}

fn find(root: &mut [u32], node: u32) -> u32 {
    let mut at = node;
    while root[at as usize] != at {
        root[at as usize] = root[root[at as usize] as usize];
        at = root[at as usize];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkConfig, Out};

    struct Deaf;

    impl Device for Deaf {
        fn receive(&mut self, _: Time, _: u16, _: &[u8], _: &mut Out) {}
    }

    // If this fails, threads spend their time on telling each other of frames.
    #[test]
    fn rings_that_one_cable_joins_are_a_part_each_whoever_was_there_first() {
        const AROUND: usize = 6;
        let mut network = Network::new(1);
        let nodes: Vec<_> = (0..2 * AROUND)
            .map(|number| network.add_switch(&format!("s{number}"), Deaf, None))
            .collect();
        let cables = (0..AROUND).flat_map(|place| {
            let next = (place + 1) % AROUND;
            [(2 * place, 2 * next), (2 * place + 1, 2 * next + 1)]
        });
        let mut ports = vec![0; nodes.len()];
        for (a, b) in cables.chain([(0, 1)]) {
            let ends = [a, b].map(|place| {
                ports[place] += 1;
                End {
                    node: nodes[place],
                    port: ports[place],
                }
            });
            let delay = Time::from_nanos(5);
            let link = LinkConfig {
                delay,
                ..LinkConfig::default()
            };
            network.connect(ends[0], ends[1], link).expect("free ports");
        }
        let alternating: Vec<u32> = (0..2 * AROUND as u32).map(|node| node % 2).collect();
        assert_eq!(network.parts(2), alternating);
        assert_eq!(network.parts(1), vec![0; 2 * AROUND]);
    }
}
