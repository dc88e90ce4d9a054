//! Hosts: what their cards take, what they send, and what they measure.

use p4_time::Time;

use crate::agenda::Happening;
use crate::error::NetError;
use crate::host::{Flow, FlowReport, Host, Mac, Verdict};
use crate::link::{End, ETHERNET_OVERHEAD};
use crate::probe::{Probe, MIN_FRAME};
use crate::reading::Reads;
use crate::replay::Recording;
use crate::rng::Rng;
use crate::sink::{Measured, Sink};
use crate::traffic::{Generated, Source, Traffic};

use super::{Device, Event, Kind, Network, NodeId, Stream};

/// Sources draw apart from wires, whose numbers have 32 bits.
const SOURCES: u64 = 1 << 32;

impl<D: Device> Network<D> {
    /// Lets a host's card accept frames to a multicast address.
    pub fn join(&mut self, host: NodeId, mac: Mac) -> Result<(), NetError> {
        self.host_mut(host)?.0.join(mac);
        Ok(())
    }

    pub fn leave(&mut self, host: NodeId, mac: Mac) -> Result<(), NetError> {
        self.host_mut(host)?.0.leave(mac);
        Ok(())
    }

    /// Lets a host's card accept every frame.
    pub fn set_promiscuous(&mut self, host: NodeId, promiscuous: bool) -> Result<(), NetError> {
        self.host_mut(host)?.0.set_promiscuous(promiscuous);
        Ok(())
    }

    /// From now on frames that the host accepts and that are not probes end the run with
    /// [`Event::HostFrame`], so that the caller can answer for the host (IGMP queries, say).
    pub fn notify(&mut self, host: NodeId) -> Result<(), NetError> {
        *self.host_mut(host)?.1 = true;
        Ok(())
    }

    /// From now on a probe counts only if the host's kernel would read its headers: Ethernet and an
    /// IP packet of the right version and length, with a right checksum.
    pub fn read_ip(&mut self, host: NodeId, reads: Reads) -> Result<(), NetError> {
        self.host_mut(host)?.0.reads = Some(reads);
        Ok(())
    }

    /// Something is attached between a host and its card: every frame that the card accepts ends
    /// the run with [`Event::HostFrame`], and what is in it for the host comes by
    /// [`Network::deliver`].
    pub fn attach(&mut self, host: NodeId) -> Result<(), NetError> {
        let (host, notify) = self.host_mut(host)?;
        host.attached = true;
        *notify = true;
        Ok(())
    }

    /// A frame reaches the host itself, now. Whether it ends in a probe, which is then counted.
    pub fn deliver(&mut self, host: NodeId, frame: &[u8]) -> Result<bool, NetError> {
        self.host_mut(host)?;
        let (now, flows) = (self.now, &self.flows);
        let Kind::Host { host, .. } = &mut self.nodes[host.0 as usize].kind else {
            return Ok(false);
        };
        Ok(host.take(now, frame, flows) != Verdict::Other)
    }

    /// Lets a host send one frame at a moment not yet past.
    pub fn send_at(&mut self, host: NodeId, time: Time, frame: &[u8]) -> Result<(), NetError> {
        self.host_mut(host)?;
        if time < self.now {
            return Err(NetError::Past);
        }
        let frame = self.pool.insert(frame);
        self.agenda.arrange(
            time,
            Happening::Single {
                node: host.0,
                frame,
            },
        );
        Ok(())
    }

    /// Lets a host send a numbered stream. Streams of one flow go on numbering where the last ended.
    pub fn start_stream(&mut self, host: NodeId, stream: Stream) -> Result<(), NetError> {
        self.host_mut(host)?;
        if stream.template.len() < MIN_FRAME {
            return Err(NetError::ShortProbe(stream.template.len()));
        }
        if stream.start < self.now {
            return Err(NetError::Past);
        }
        if stream.count > 1 && stream.interval == Time::ZERO {
            return Err(NetError::NoInterval);
        }
        let flow = self.flows.number(stream.flow);
        let at = End {
            node: host,
            port: 0,
        };
        let source = Source::every(at, flow, stream.template, stream.interval, stream.count);
        self.start_source(source, stream.start);
        Ok(())
    }

    /// Starts a traffic source: at a host, which sends on its cable, or at a port of a switch, which
    /// receives as if from a cable. Gives its number for [`Network::generated`].
    pub fn generate(&mut self, at: End, traffic: Traffic) -> Result<u32, NetError> {
        self.check_place(at)?;
        traffic.check()?;
        if traffic.start < self.now {
            return Err(NetError::Past);
        }
        let overhead = traffic.overhead.unwrap_or(self.overhead(at));
        let flow = self.flows.number(traffic.flow);
        let number = self.sources.len() as u64;
        let rng = match traffic.seed {
            Some(seed) => Rng::new(seed, SOURCES),
            None => Rng::new(self.seed, SOURCES + number),
        };
        let start = traffic.start;
        let source = Source::of(traffic, at, flow, overhead, rng);
        Ok(self.start_source(source, start))
    }

    /// Sends the frames of a recording from `start` on, where [`Network::generate`] would; as they
    /// are, or with a flow each numbered in its last 24 bytes.
    pub fn replay(
        &mut self,
        at: End,
        recording: Recording,
        start: Time,
        flow: Option<Flow>,
    ) -> Result<u32, NetError> {
        self.check_place(at)?;
        if start < self.now {
            return Err(NetError::Past);
        }
        match recording.shortest() {
            Some(length) if flow.is_some() && length < MIN_FRAME => {
                return Err(NetError::ShortProbe(length));
            }
            Some(_) => {}
            None => return Err(NetError::NoFrames),
        }
        let flow = flow.map(|flow| self.flows.number(flow));
        let overhead = self.overhead(at);
        Ok(self.start_source(Source::replay(recording, at, flow, overhead), start))
    }

    /// What a source has sent so far.
    pub fn generated(&self, source: u32) -> Result<Generated, NetError> {
        let known = self.sources.get(source as usize);
        Ok(known.ok_or(NetError::UnknownSource(source))?.sent)
    }

    fn start_source(&mut self, mut source: Source, start: Time) -> u32 {
        let number = self.sources.len() as u32;
        if let Some(first) = source.first(start) {
            let event = Happening::Emission { source: number };
            self.agenda.arrange(first, event);
        }
        self.sources.push(source);
        number
    }

    /// A source is at a host or at a port of a switch other than the CPU's.
    fn check_place(&self, at: End) -> Result<(), NetError> {
        let node = self.node(at.node)?;
        let (name, port) = (node.name.clone(), at.port);
        match node.kind {
            Kind::Host { .. } if port != 0 => Err(NetError::HostPort { name, port }),
            Kind::Switch { .. } if node.cpu_port == Some(port) => {
                Err(NetError::PortIsCpu { name, port })
            }
            _ => Ok(()),
        }
    }

    /// Bytes on the wire per frame besides its own, at the cable of a port or without one.
    pub(super) fn overhead(&self, at: End) -> u32 {
        self.wire_at(at).map_or(ETHERNET_OVERHEAD, |wire| {
            self.wires[wire as usize].overhead()
        })
    }

    // ---- measuring

    /// From now on a host measures what its card takes: rates in windows of `window` (zero: none),
    /// latencies, order. What it has measured before is forgotten.
    pub fn measure(&mut self, host: NodeId, window: Time) -> Result<(), NetError> {
        let now = self.now;
        self.host_mut(host)?.0.sink = Some(Box::new(Sink::new(now, window)));
        self.flows.timed = true;
        Ok(())
    }

    /// What a host has measured since [`Network::measure`]; `None` if it does not.
    pub fn measured(&self, host: NodeId) -> Result<Option<Measured>, NetError> {
        let overhead = self.overhead(End {
            node: host,
            port: 0,
        });
        let sink = self.host(host)?.sink.as_deref();
        Ok(sink.map(|sink| sink.result(overhead)))
    }

    /// Frames that a flow's sender has sent so far.
    pub fn sent(&self, flow: Flow) -> u64 {
        self.flows.sent(flow)
    }

    /// What a host got of every stream of this network and of every other flow that reached it.
    pub fn report(&self, host: NodeId) -> Result<Vec<FlowReport>, NetError> {
        let host = self.host(host)?;
        let mut flows: Vec<Flow> = self.flows.all().chain(host.flows()).collect();
        flows.sort_unstable();
        flows.dedup();
        Ok(self.reports(host, &flows))
    }

    /// What a host got of these flows, in their order: the others cost nothing.
    pub fn report_of(&self, host: NodeId, flows: &[Flow]) -> Result<Vec<FlowReport>, NetError> {
        Ok(self.reports(self.host(host)?, flows))
    }

    fn reports(&self, host: &Host, flows: &[Flow]) -> Vec<FlowReport> {
        flows
            .iter()
            .map(|&flow| host.report(flow, self.sent(flow)))
            .collect()
    }

    pub(super) fn host_receive(&mut self, node_id: NodeId, data: &[u8]) {
        let node = &mut self.nodes[node_id.0 as usize];
        let Kind::Host { host, notify } = &mut node.kind else {
            return;
        };
        let verdict = host.receive(self.now, data, &self.flows);
        if let (Verdict::Other, Some(tcp)) = (verdict, &mut host.tcp) {
            if let Some(endpoint) = tcp.hear(self.now, data) {
                return self.settle((node_id, endpoint));
            }
        }
        match verdict {
            Verdict::Probe | Verdict::Unreadable => {}
            Verdict::Filtered => node.stats.filtered += 1,
            Verdict::Other if *notify => self.news.push_back(Event::HostFrame {
                node: node_id,
                data: data.to_vec(),
                time: self.now,
            }),
            Verdict::Other => {}
        }
    }

    /// A source sends its next frame.
    pub(super) fn emit(&mut self, number: u32) {
        let source = &mut self.sources[number as usize];
        let (at, flow, priority) = (source.at, source.flow, source.priority);
        let (index, mut frame) = source.take_frame();
        if let Some((flow, sequence)) = flow.and_then(|flow| self.flows.send(flow, self.now)) {
            let probe = Probe {
                flow: flow.flow,
                sequence,
                sender: flow.sender,
            };
            probe.write_at_end_of(&mut frame);
        }
        if let Some(next) = source.next(self.now, frame.len()) {
            let event = Happening::Emission { source: number };
            self.agenda.arrange(next, event);
        }
        match self.nodes[at.node.0 as usize].kind {
            Kind::Host { .. } => self.transmit(at.node, priority, &frame),
            Kind::Switch { .. } => self.switch_receive(at.node, at.port, &frame),
        }
        self.sources[number as usize].give_back(index, frame);
    }
}
