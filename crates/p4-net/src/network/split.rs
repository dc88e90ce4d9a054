//! Moving a network into parts, and back.

use std::collections::{BTreeMap, BTreeSet};

use crate::agenda::Happening;
use crate::link::{End, Wire};
use crate::pool::{carry_over, Pool};
use crate::traffic::Source;

use super::rounds::Domain;
use super::{Device, Network, Node, NodeId, Workspace, NO_CABLE};

/// Where nodes, wires and sources of the whole network are: the part, and the number there.
#[derive(Default)]
pub(super) struct Homes {
    nodes: Vec<(u32, u32)>,
    wires: Vec<(u32, u32)>,
    sources: Vec<(u32, u32)>,
    /// The far ends of wires, in the whole network
    ends: Vec<End>,
}

/// The numbers in the whole network of what is in a part. Ghosts have none.
#[derive(Clone, Default)]
struct Names {
    nodes: Vec<u32>,
    wires: Vec<u32>,
    sources: Vec<u32>,
}

impl Homes {
    fn names(&self, domains: usize) -> Vec<Names> {
        let mut found = vec![Names::default(); domains];
        for (all, select) in [
            (
                &self.nodes,
                (|own| &mut own.nodes) as fn(&mut Names) -> &mut Vec<u32>,
            ),
            (&self.wires, |own| &mut own.wires),
            (&self.sources, |own| &mut own.sources),
        ] {
            for (number, (part, here)) in (0u32..).zip(all) {
                let names = select(&mut found[*part as usize]);
                if names.len() <= *here as usize {
                    names.resize(*here as usize + 1, NO_CABLE);
                }
                names[*here as usize] = number;
            }
        }
        found
    }

    /// The part in which an event happens, and its number there; none for one that concerns several.
    fn of(&self, what: Happening) -> Option<(u32, u32)> {
        Some(match what {
            Happening::Free { wire, .. } | Happening::Arrival { wire, .. } => {
                self.wires[wire as usize]
            }
            Happening::Emission { source } => self.sources[source as usize],
            Happening::Departure { node }
            | Happening::Single { node, .. }
            | Happening::Alarm { node, .. }
            | Happening::Card { node } => self.nodes[node as usize],
            Happening::Link { .. } => return None,
        })
    }
}

impl Names {
    /// The number of what an event is about; none for a ghost, whose wire has the same event.
    fn of(&self, what: Happening) -> Option<u32> {
        let found = match what {
            Happening::Free { wire, .. } | Happening::Arrival { wire, .. } => {
                *self.wires.get(wire as usize)?
            }
            Happening::Emission { source } => self.sources[source as usize],
            Happening::Departure { node }
            | Happening::Single { node, .. }
            | Happening::Alarm { node, .. }
            | Happening::Card { node } => self.nodes[node as usize],
            Happening::Link { link, .. } => link,
        };
        (found != NO_CABLE).then_some(found)
    }
}

/// The same event by another number, with its frame in another pool.
fn renamed(what: Happening, number: u32, from: &mut Pool, to: &mut Pool) -> Happening {
    match what {
        Happening::Free { epoch, .. } => Happening::Free {
            wire: number,
            epoch,
        },
        Happening::Arrival { epoch, .. } => Happening::Arrival {
            wire: number,
            epoch,
        },
        Happening::Emission { .. } => Happening::Emission { source: number },
        Happening::Departure { .. } => Happening::Departure { node: number },
        Happening::Link { up, .. } => Happening::Link { link: number, up },
        Happening::Single { frame, .. } => Happening::Single {
            node: number,
            frame: carry_over(frame, from, to),
        },
        Happening::Alarm { endpoint, .. } => Happening::Alarm {
            node: number,
            endpoint,
        },
        Happening::Card { .. } => Happening::Card { node: number },
    }
}

impl<D: Device> Network<D> {
    /// Moves nodes, wires, sources and events into parts.
    pub(super) fn split(&mut self, part_of: &[u32]) -> (Vec<Domain<D>>, Homes) {
        let count = part_of.iter().max().map_or(0, |most| most + 1);
        let mut domains: Vec<_> = (0..count).map(|number| self.domain(number)).collect();
        let missing = domains.len().saturating_sub(self.workspaces.len());
        self.workspaces
            .extend((0..missing).map(|_| Workspace::default()));
        self.swap_workspaces(&mut domains);
        let mut homes = Homes::default();
        for (node, part) in std::mem::take(&mut self.nodes).into_iter().zip(part_of) {
            let nodes = &mut domains[*part as usize].network.nodes;
            homes.nodes.push((*part, nodes.len() as u32));
            nodes.push(node);
        }
        for wire in std::mem::take(&mut self.wires) {
            self.give_wire(wire, &mut domains, &mut homes);
        }
        let nodes = domains.iter_mut().flat_map(|one| &mut one.network.nodes);
        let ports = nodes.flat_map(|node| {
            node.sent_on = NO_CABLE;
            &mut node.ports
        });
        for wire in ports {
            *wire = homes
                .wires
                .get(*wire as usize)
                .map_or(NO_CABLE, |home| home.1);
        }
        let mut moved = BTreeSet::new();
        for mut source in std::mem::take(&mut self.sources) {
            let (part, node) = homes.nodes[source.at.node.0 as usize];
            let own = &mut domains[part as usize].network;
            if let Some(flow) = source.flow.filter(|flow| moved.insert(*flow)) {
                own.flows.swap_row(flow, &mut self.flows);
            }
            source.at.node = NodeId(node);
            homes.sources.push((part, own.sources.len() as u32));
            own.sources.push(source);
        }
        self.give_events(&mut domains, &homes);
        (domains, homes)
    }

    /// Parts keep what their devices share from one run to the next.
    fn swap_workspaces(&mut self, domains: &mut [Domain<D>]) {
        for (own, domain) in self.workspaces.iter_mut().zip(domains) {
            std::mem::swap(own, &mut domain.network.workspaces[0]);
        }
    }

    fn domain(&self, number: u32) -> Domain<D> {
        let mut network = Network::new(self.seed);
        network.now = self.now;
        network.fingerprint = self.fingerprint.clone();
        network.flows = self.flows.without_rows();
        network.limits = self.limits;
        Domain {
            number,
            network,
            away: BTreeMap::new(),
            ghosts: BTreeMap::new(),
        }
    }

    /// Moves a wire to the part of its near end. In each part wires are in the order of the whole
    /// network, ghosts among them, since that is the order of their events.
    fn give_wire(&mut self, mut wire: Wire, domains: &mut [Domain<D>], homes: &mut Homes) {
        let number = homes.wires.len() as u32;
        let near = homes.nodes[wire.from().node.0 as usize].0;
        let (far, node) = homes.nodes[wire.to.node.0 as usize];
        homes.ends.push(wire.to);
        let to = End {
            node: NodeId(node),
            port: wire.to.port,
        };
        if near != far {
            let there = &mut domains[far as usize];
            let ghost = there.network.wires.len() as u32;
            there.ghosts.insert(number, ghost);
            there.network.wires.push(wire.ghost(ghost, to));
        }
        let own = &mut domains[near as usize];
        let here = own.network.wires.len() as u32;
        if near != far {
            own.away.insert(here, (number, far));
        }
        wire.settle(here, to, near != far);
        wire.carry_over(&mut self.pool, &mut own.network.pool);
        own.network.wires.push(wire);
        homes.wires.push((near, here));
    }

    fn give_events(&mut self, domains: &mut [Domain<D>], homes: &Homes) {
        for (time, what) in std::mem::take(&mut self.agenda).pending() {
            let Some((part, here)) = homes.of(what) else {
                self.agenda.arrange(time, what); // after the end
                continue;
            };
            let own = &mut domains[part as usize].network;
            let what = renamed(what, here, &mut self.pool, &mut own.pool);
            own.agenda.arrange(time, what);
        }
        let flying: Vec<_> = domains.iter().flat_map(Domain::in_flight).collect();
        for (part, time, shipped) in &flying {
            domains[*part as usize].expect(*time, shipped);
        }
    }

    /// Moves all back.
    pub(super) fn unite(&mut self, mut domains: Vec<Domain<D>>, homes: &Homes) {
        self.swap_workspaces(&mut domains);
        let mut nodes: Vec<Option<Node<D>>> = homes.nodes.iter().map(|_| None).collect();
        let mut wires: Vec<Option<Wire>> = homes.wires.iter().map(|_| None).collect();
        let mut sources: Vec<Option<Source>> = homes.sources.iter().map(|_| None).collect();
        let mut events = std::mem::take(&mut self.agenda).pending();
        let names = homes.names(domains.len());
        for (domain, names) in domains.into_iter().zip(names) {
            let Network {
                nodes: own_nodes,
                wires: own_wires,
                sources: own_sources,
                agenda,
                mut pool,
                mut flows,
                fingerprint,
                ..
            } = domain.network;
            for (time, what) in agenda.pending() {
                if let Some(number) = names.of(what) {
                    let what = renamed(what, number, &mut pool, &mut self.pool);
                    events.push((time, what));
                }
            }
            if let (Some(all), Some(own)) = (&mut self.fingerprint, fingerprint) {
                let here = own_wires.iter().filter(|wire| !wire.is_away());
                here.for_each(|wire| all.take(wire.number(), &own));
            }
            for (mut wire, number) in own_wires.into_iter().zip(&names.wires) {
                let Some(place) = wires.get_mut(*number as usize) else {
                    continue; // a ghost
                };
                wire.settle(*number, homes.ends[*number as usize], false);
                wire.carry_over(&mut pool, &mut self.pool);
                *place = Some(wire);
            }
            for (mut node, number) in own_nodes.into_iter().zip(&names.nodes) {
                node.sent_on = NO_CABLE;
                for wire in node.ports.iter_mut().filter(|wire| **wire != NO_CABLE) {
                    *wire = names.wires[*wire as usize];
                }
                nodes[*number as usize] = Some(node);
            }
            let mut moved = BTreeSet::new();
            for (mut source, number) in own_sources.into_iter().zip(&names.sources) {
                if let Some(flow) = source.flow.filter(|flow| moved.insert(*flow)) {
                    self.flows.swap_row(flow, &mut flows);
                }
                source.at.node = NodeId(names.nodes[source.at.node.0 as usize]);
                sources[*number as usize] = Some(source);
            }
        }
        self.nodes = nodes.into_iter().flatten().collect();
        self.wires = wires.into_iter().flatten().collect();
        self.sources = sources.into_iter().flatten().collect();
        events.sort_by_key(|(time, _)| *time); // stable: events of one node keep their order
        for (time, what) in events {
            self.agenda.arrange(time, what);
        }
    }
}
