//! The network: nodes, the links between them, and the loop that makes time pass.

use std::collections::{BTreeMap, VecDeque};

use p4_time::{Clock, Time};

use crate::agenda::{Agenda, Happening};
use crate::error::NetError;
use crate::fingerprint::Fingerprint;
use crate::flows::Flows;
use crate::host::{Flow, Host, Mac};
use crate::link::{End, LinkId, Wire};
use crate::pcapng::PcapNg;
use crate::pool::Pool;
use crate::tcp::Content;
use crate::traffic::Source;

mod domains;
mod hosts;
mod links;
mod rounds;
mod sharing;
mod split;
mod tcp;
mod workspace;

pub use domains::Whole;
pub use workspace::Workspace;

/// Takes what a switch sends: the port, the priority (the larger goes first, see
/// [`crate::PortConfig`]) and the frame.
pub type Out<'a> = dyn FnMut(u16, u8, &[u8]) + 'a;

/// What the network needs of a switch.
pub trait Device {
    /// A frame has arrived on `port` at `now`. Frames to transmit go to `out`; what it gets for a
    /// port without a cable is counted and dropped.
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out);

    /// The same for a device that shares something with the others of its network.
    fn receive_in(
        &mut self,
        _shared: &mut Workspace,
        now: Time,
        port: u16,
        data: &[u8],
        out: &mut Out,
    ) {
        self.receive(now, port, data, out);
    }

    /// When a frame that waits inside leaves next, if one waits.
    fn next_departure(&self) -> Option<Time> {
        None
    }

    /// Lets the frames leave whose time has come.
    fn advance(&mut self, _now: Time, _out: &mut Out) {}

    /// The cable at `port` went down or came up, as the device sees at once.
    fn port_changed(&mut self, _now: Time, _port: u16, _up: bool) {}
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        (**self).receive(now, port, data, out);
    }

    fn receive_in(
        &mut self,
        shared: &mut Workspace,
        now: Time,
        port: u16,
        data: &[u8],
        out: &mut Out,
    ) {
        (**self).receive_in(shared, now, port, data, out);
    }

    fn next_departure(&self) -> Option<Time> {
        (**self).next_departure()
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        (**self).advance(now, out);
    }

    fn port_changed(&mut self, now: Time, port: u16, up: bool) {
        (**self).port_changed(now, port, up);
    }
}

/// Number of a node, in order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u32);

impl NodeId {
    pub fn from_index(index: u32) -> NodeId {
        NodeId(index)
    }

    pub fn index(self) -> u32 {
        self.0
    }
}

/// A numbered stream of probes from a host.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The frame to send, at least 64 bytes; its last 24 bytes become the probe trailer. A UDP
    /// checksum in it must be 0, since the payload changes from frame to frame.
    pub template: Vec<u8>,
    pub flow: Flow,
    /// When the first frame leaves.
    pub start: Time,
    pub interval: Time,
    pub count: u64,
}

/// Bounds on what a run may use, so that a forwarding loop ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events in all.
    pub events: u64,
    /// Frames under way at once.
    pub frames: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            events: 1_000_000_000,
            frames: 1 << 20,
        }
    }
}

/// Why [`Network::run_until`] came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The asked-for time has come.
    Reached,
    /// A switch has sent `data` to its CPU port; `port` is that port.
    PacketIn {
        node: NodeId,
        port: u16,
        data: Vec<u8>,
        time: Time,
    },
    /// A host with [`Network::notify`] has accepted a frame that is not a probe.
    HostFrame {
        node: NodeId,
        data: Vec<u8>,
        time: Time,
    },
    /// A bound of [`Limits`] is reached: very likely frames run in a loop.
    Exhausted(Exhausted),
}

/// Which bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    Events,
    Frames,
}

/// Frames that a node could not place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Sent to a port without a cable.
    pub no_cable: u64,
    /// Reached a host that does not listen to their address.
    pub filtered: u64,
}

/// What every frame needs comes first, since a large network does not fit into the cache.
#[repr(C, align(64))]
struct Node<D> {
    /// The wire that it last sent on, and the port that this is at
    sent_on: u32,
    sent_at: u16,
    /// Of a switch
    cpu_port: Option<u16>,
    kind: Kind<D>,
    /// The outgoing wire of each port, or [`NO_CABLE`]
    ports: Vec<u32>,
    /// When the switch was last arranged to run by itself
    wake: Option<Time>,
    stats: NodeStats,
    name: String,
}

/// Not the number of a wire
const NO_CABLE: u32 = u32::MAX;

impl<D> Node<D> {
    fn wire(&self, port: u16) -> Option<u32> {
        let wire = self.ports.get(usize::from(port)).copied();
        wire.filter(|wire| *wire != NO_CABLE)
    }
}

enum Kind<D> {
    Switch { device: D },
    Host { host: Box<Host>, notify: bool },
}

/// Switches and hosts, joined by links, in virtual time.
///
/// Nothing here depends on anything but what was called and the seed: the same calls give the same
/// run, picosecond for picosecond.
pub struct Network<D> {
    now: Time,
    seed: u64,
    limits: Limits,
    agenda: Agenda,
    pool: Pool,
    nodes: Vec<Node<D>>,
    wires: Vec<Wire>,
    sources: Vec<Source>,
    flows: Flows,
    /// Of all devices; that of each part when the network is run in parts
    workspaces: Vec<Workspace>,
    /// The ends of each transfer: sender and receiver
    transfers: Vec<[tcp::Place; 2]>,
    /// What transfers carry, once there is one
    content: Option<Content>,
    captures: BTreeMap<LinkId, PcapNg>,
    fingerprint: Option<Fingerprint>,
    /// What the caller has still to be told.
    news: VecDeque<Event>,
}

impl<D> Clock for Network<D> {
    fn now(&self) -> Time {
        self.now
    }
}

impl<D: Device> Network<D> {
    pub fn new(seed: u64) -> Network<D> {
        Network {
            now: Time::ZERO,
            seed,
            limits: Limits::default(),
            agenda: Agenda::default(),
            pool: Pool::default(),
            nodes: Vec::new(),
            wires: Vec::new(),
            sources: Vec::new(),
            flows: Flows::default(),
            workspaces: vec![Workspace::default()],
            transfers: Vec::new(),
            content: None,
            captures: BTreeMap::new(),
            fingerprint: None,
            news: VecDeque::new(),
        }
    }

    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    // ---- building

    /// Adds a switch. What it sends to `cpu_port` stops the run and is handed to the caller.
    pub fn add_switch(&mut self, name: &str, device: D, cpu_port: Option<u16>) -> NodeId {
        let id = self.add_node(name, Kind::Switch { device });
        self.nodes[id.0 as usize].cpu_port = cpu_port;
        id
    }

    /// Adds a host with one port, number 0.
    pub fn add_host(&mut self, name: &str, mac: Mac) -> NodeId {
        self.add_node(
            name,
            Kind::Host {
                host: Box::new(Host::new(mac)),
                notify: false,
            },
        )
    }

    fn add_node(&mut self, name: &str, kind: Kind<D>) -> NodeId {
        let stats = NodeStats::default();
        self.nodes.push(Node {
            name: name.to_string(),
            kind,
            ports: Vec::new(),
            stats,
            wake: None,
            sent_on: NO_CABLE,
            sent_at: 0,
            cpu_port: None,
        });
        NodeId((self.nodes.len() - 1) as u32)
    }

    // ---- switches

    /// The device of a switch, to look into it or to write its tables between two events.
    pub fn device_mut(&mut self, switch: NodeId) -> Result<&mut D, NetError> {
        self.switch_mut(switch)
    }

    /// Hands a frame to a switch as if it came from its CPU port, now.
    pub fn send_from_cpu(&mut self, switch: NodeId, data: &[u8]) -> Result<(), NetError> {
        self.switch_mut(switch)?;
        let node = self.node(switch)?;
        let port = node.cpu_port.ok_or_else(|| NetError::NoCpuPort {
            name: node.name.clone(),
        })?;
        self.switch_receive(switch, port, data);
        Ok(())
    }

    /// Asks a switch anew when something in it happens by itself: for callers that have changed its
    /// device between two events.
    pub fn wake_switch(&mut self, switch: NodeId) -> Result<(), NetError> {
        self.switch_mut(switch)?;
        self.wake(switch);
        Ok(())
    }

    pub fn node_stats(&self, node: NodeId) -> Result<NodeStats, NetError> {
        Ok(self.node(node)?.stats)
    }

    pub fn name(&self, node: NodeId) -> Result<&str, NetError> {
        Ok(&self.node(node)?.name)
    }

    // ---- time

    /// Begins to condense everything that links deliver into one number.
    pub fn fingerprint_on(&mut self) {
        self.fingerprint = Some(Fingerprint::default());
    }

    /// One number for all deliveries (when, where, which bytes) since [`Network::fingerprint_on`];
    /// equal runs have equal numbers.
    pub fn fingerprint(&self) -> Option<u64> {
        self.fingerprint.as_ref().map(Fingerprint::value)
    }

    /// When the next event is due; `None` if nothing will happen any more by itself.
    pub fn next_event_time(&self) -> Option<Time> {
        if self.news.is_empty() {
            self.agenda.next_time()
        } else {
            Some(self.now)
        }
    }

    /// Lets time pass up to and including `end`, or until something happens that the caller must
    /// know. Call again to go on. An `end` in the past is the present.
    pub fn run_until(&mut self, end: Time) -> Event {
        loop {
            if let Some(event) = self.news.pop_front() {
                return event;
            }
            if let Some(bound) = self.exhausted() {
                if self.agenda.next_time().is_some_and(|time| time <= end) {
                    return Event::Exhausted(bound);
                }
            }
            if !self.step(end) {
                self.now = self.now.max(end);
                return Event::Reached;
            }
        }
    }

    /// Carries out the next event, if it happens until `end`.
    #[inline]
    fn step(&mut self, end: Time) -> bool {
        let Some((time, what)) = self.agenda.pop(end) else {
            return false;
        };
        self.limits.events -= 1;
        self.now = time;
        self.happen(what);
        true
    }

    /// The bound that is reached, if one is.
    fn exhausted(&self) -> Option<Exhausted> {
        if self.limits.events == 0 {
            return Some(Exhausted::Events);
        }
        (self.pool.live() > self.limits.frames).then_some(Exhausted::Frames)
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Free { wire, epoch } => {
                let wire = &mut self.wires[wire as usize];
                if wire.epoch() == epoch {
                    wire.transmit_next(self.now, &mut self.pool, &mut self.agenda);
                }
            }
            Happening::Arrival { wire, epoch } => {
                if self.wires[wire as usize].epoch() == epoch {
                    self.arrive(wire);
                }
            }
            Happening::Emission { source } => self.emit(source),
            Happening::Single { node, frame } => {
                let data = self.pool.take(frame);
                self.transmit(NodeId(node), 0, &data);
                self.pool.put_back(frame, data);
            }
            Happening::Alarm { node, endpoint } => self.alarm((NodeId(node), endpoint)),
            Happening::Card { node } => self.card(NodeId(node)),
            Happening::Link { link, up } => {
                // That there is such a link was seen to when this was arranged.
                let _ = self.set_link(LinkId(link), up);
            }
            Happening::Departure { node } => {
                self.switch_runs(NodeId(node), |device, _, now, out| device.advance(now, out));
            }
        }
    }

    fn arrive(&mut self, wire_index: u32) {
        let wire = &mut self.wires[wire_index as usize];
        let to = wire.to;
        let Some(frame) = wire.arrive(&mut self.pool) else {
            return;
        };
        if wire.is_away() {
            return self.pool.free(frame); // its ghost delivers it
        }
        let data = self.pool.take(frame);
        if let Some(fingerprint) = &mut self.fingerprint {
            let wire = self.wires[wire_index as usize].number();
            fingerprint.add(self.now, wire, &data);
        }
        if let Some(file) = self.captures.get_mut(&LinkId(wire_index / 2)) {
            file.packet(wire_index % 2, self.now, &data);
        }
        match &mut self.nodes[to.node.0 as usize].kind {
            Kind::Switch { .. } => self.switch_receive(to.node, to.port, &data),
            Kind::Host { .. } => self.host_receive(to.node, &data),
        }
        self.pool.put_back(frame, data);
    }

    #[inline]
    fn switch_receive(&mut self, node_id: NodeId, port: u16, data: &[u8]) {
        self.switch_runs(node_id, |device, shared, now, out| {
            device.receive_in(shared, now, port, data, out)
        });
    }

    /// Lets a switch run at this moment, puts what it sends on its cables, and wakes it again when
    /// something that waits in it leaves.
    #[inline]
    fn switch_runs(
        &mut self,
        node_id: NodeId,
        run: impl FnOnce(&mut D, &mut Workspace, Time, &mut Out),
    ) {
        let Network {
            nodes,
            wires,
            pool,
            agenda,
            news,
            now,
            workspaces,
            ..
        } = self;
        let (now, shared) = (*now, &mut workspaces[0]);
        let node = &mut nodes[node_id.0 as usize];
        let Kind::Switch { device } = &mut node.kind else {
            return;
        };
        let (ports, stats, cpu_port) = (&node.ports, &mut node.stats, node.cpu_port);
        let (sent_on, sent_at) = (&mut node.sent_on, &mut node.sent_at);
        run(device, shared, now, &mut |port, priority, data| {
            if cpu_port == Some(port) {
                let data = data.to_vec();
                news.push_back(Event::PacketIn {
                    node: node_id,
                    port,
                    data,
                    time: now,
                });
                return;
            }
            if *sent_at != port || *sent_on == NO_CABLE {
                *sent_on = ports.get(usize::from(port)).copied().unwrap_or(NO_CABLE);
                *sent_at = port;
            }
            match wires.get_mut(*sent_on as usize) {
                Some(wire) => {
                    wire.offer(now, data, priority, pool, agenda);
                }
                None => stats.no_cable += 1,
            }
        });
        self.wake(node_id);
    }

    #[inline]
    fn wake(&mut self, node_id: NodeId) {
        let node = &mut self.nodes[node_id.0 as usize];
        let Kind::Switch { device, .. } = &node.kind else {
            return;
        };
        let Some(due) = device.next_departure() else {
            return;
        };
        let is_arranged = node.wake.is_some_and(|wake| self.now < wake && wake <= due);
        if !is_arranged {
            node.wake = Some(due.max(self.now));
            let node = node_id.0;
            self.agenda
                .arrange(due.max(self.now), Happening::Departure { node });
        }
    }

    /// A host sends a frame.
    fn transmit(&mut self, host: NodeId, priority: u8, data: &[u8]) {
        let node = &mut self.nodes[host.0 as usize];
        let Some(wire) = node.wire(0) else {
            node.stats.no_cable += 1;
            return;
        };
        let wire = &mut self.wires[wire as usize];
        wire.offer(self.now, data, priority, &mut self.pool, &mut self.agenda);
    }

    // ---- looking up

    fn node(&self, node: NodeId) -> Result<&Node<D>, NetError> {
        self.nodes
            .get(node.0 as usize)
            .ok_or(NetError::UnknownNode(node))
    }

    fn node_mut(&mut self, node: NodeId) -> Result<&mut Node<D>, NetError> {
        self.nodes
            .get_mut(node.0 as usize)
            .ok_or(NetError::UnknownNode(node))
    }

    fn switch_mut(&mut self, id: NodeId) -> Result<&mut D, NetError> {
        let node = self.node_mut(id)?;
        match &mut node.kind {
            Kind::Switch { device } => Ok(device),
            Kind::Host { .. } => Err(NetError::NotASwitch {
                name: node.name.clone(),
            }),
        }
    }

    /// The wire that leads away from a port with a cable.
    fn wire_at(&self, at: End) -> Option<u32> {
        self.nodes.get(at.node.0 as usize)?.wire(at.port)
    }

    fn host(&self, id: NodeId) -> Result<&Host, NetError> {
        let node = self.node(id)?;
        match &node.kind {
            Kind::Host { host, .. } => Ok(host),
            Kind::Switch { .. } => Err(NetError::NotAHost {
                name: node.name.clone(),
            }),
        }
    }

    fn host_mut(&mut self, id: NodeId) -> Result<(&mut Host, &mut bool), NetError> {
        let node = self.node_mut(id)?;
        match &mut node.kind {
            Kind::Host { host, notify } => Ok((host, notify)),
            Kind::Switch { .. } => Err(NetError::NotAHost {
                name: node.name.clone(),
            }),
        }
    }

    fn check_link(&self, link: LinkId) -> Result<(), NetError> {
        let known = (link.0 as usize) < self.wires.len() / 2;
        known.then_some(()).ok_or(NetError::UnknownLink(link))
    }

    fn label(&self, end: End) -> Result<String, NetError> {
        Ok(format!("{}:{}", self.name(end.node)?, end.port))
    }
}
