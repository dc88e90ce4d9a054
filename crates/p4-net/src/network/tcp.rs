//! Hosts with a TCP: transfers between them, and the events that make these go on.

use p4_time::Time;

use crate::agenda::Happening;
use crate::error::NetError;
use crate::host::Mac;
use crate::link::End;
use crate::rng::Rng;
use crate::tcp::{Content, Endpoint, Next, TcpConfig, TcpHost, Transfer, Transferred, MTUS};

use super::{Device, Kind, Network, NodeId};

/// Stacks draw apart from wires and traffic sources.
const STACKS: u64 = 1 << 48;

/// One end of a transfer: the host, and its endpoint there.
pub(super) type Place = (NodeId, u32);

impl<D: Device> Network<D> {
    /// Gives a host an IPv4 address and a TCP. It takes the frames that reach the host for one of its
    /// connections; all others, ICMP among them, are treated as before.
    pub fn set_tcp(&mut self, host: NodeId, config: TcpConfig) -> Result<(), NetError> {
        if !MTUS.contains(&config.mtu) {
            return Err(NetError::Mtu(config.mtu));
        }
        if config.rate == Some(0) {
            return Err(NetError::ZeroRate);
        }
        let name = self.name(host)?.to_string();
        let host = self.host_mut(host)?.0;
        if host.tcp.is_some() {
            return Err(NetError::HasTcp { name });
        }
        host.tcp = Some(Box::new(TcpHost::new(config)));
        Ok(())
    }

    /// Arranges a transfer between two hosts with a TCP; gives its number for
    /// [`Network::transferred`].
    pub fn transfer(&mut self, plan: &Transfer) -> Result<u32, NetError> {
        plan.check(self.now)?;
        if plan.sender == plan.receiver {
            let name = self.name(plan.sender)?.to_string();
            return Err(NetError::SameHost { name });
        }
        let name = self.name(plan.receiver)?.to_string();
        let (near, host) = self.tcp_mut(plan.sender)?;
        let local = host.service();
        let (far, host) = self.tcp_mut(plan.receiver)?;
        let remote = host.fresh().ok_or(NetError::NoPort { name })?;

        let number = self.transfers.len() as u32;
        let mut rng = Rng::new(self.seed, STACKS + u64::from(number));
        let content = self.content(number);
        let (_, host) = self.tcp_mut(plan.sender)?;
        let frames = host.frames(near, far);
        let end = Endpoint::sender(plan, local, frames, content.clone(), rng.next());
        let sender = (plan.sender, host.add(end, remote, local.port));
        let (_, host) = self.tcp_mut(plan.receiver)?;
        let frames = host.frames(far, near);
        let end = Endpoint::receiver(plan, [remote, local], frames, content, rng.next());
        let receiver = (plan.receiver, host.add(end, local, remote.port));

        self.transfers.push([sender, receiver]);
        self.settle(sender);
        self.settle(receiver);
        Ok(number)
    }

    /// What has become of a transfer so far.
    pub fn transferred(&self, number: u32) -> Result<Transferred, NetError> {
        let ends = self.transfers.get(number as usize);
        let mut report = Transferred::default();
        for (host, endpoint) in ends.ok_or(NetError::UnknownTransfer(number))? {
            if let Some(tcp) = &self.host(*host)?.tcp {
                tcp.endpoints[*endpoint as usize].report(&mut report);
            }
        }
        Ok(report)
    }

    /// Bytes for a transfer.
    fn content(&mut self, number: u32) -> Content {
        let seed = self.seed;
        let content = self
            .content
            .get_or_insert_with(|| Content::new(Rng::new(seed, STACKS - 1)));
        content.of_stream(number)
    }

    fn tcp_mut(&mut self, host: NodeId) -> Result<(Mac, &mut TcpHost), NetError> {
        let name = self.name(host)?.to_string();
        let host = self.host_mut(host)?.0;
        let mac = host.mac();
        let tcp = host.tcp.as_deref_mut().ok_or(NetError::NoTcp { name })?;
        Ok((mac, tcp))
    }

    fn tcp_of(&mut self, host: NodeId) -> Option<&mut TcpHost> {
        match &mut self.nodes[host.0 as usize].kind {
            Kind::Host { host, .. } => host.tcp.as_deref_mut(),
            Kind::Switch { .. } => None,
        }
    }

    /// The moment has come for which an endpoint wanted to be woken.
    pub(super) fn alarm(&mut self, (host, number): Place) {
        let now = self.now;
        let Some(tcp) = self.tcp_of(host) else {
            return;
        };
        let endpoint = &mut tcp.endpoints[number as usize];
        if endpoint.alarm == Some(now) {
            endpoint.alarm = None;
            endpoint.run(now);
            self.settle((host, number));
        }
    }

    /// An endpoint has heard something or run: sees what it wants next.
    pub(super) fn settle(&mut self, (host, number): Place) {
        let now = self.now;
        let Some(tcp) = self.tcp_of(host) else {
            return;
        };
        match tcp.endpoints[number as usize].next(now) {
            Next::Now => tcp.enqueue(number),
            Next::At(time) => self.wake_endpoint((host, number), time),
            Next::Never => {}
        }
        self.serve(host);
    }

    /// Arranges for an endpoint to run at `time`, unless it will do so before.
    fn wake_endpoint(&mut self, (host, number): Place, time: Time) {
        let Some(tcp) = self.tcp_of(host) else {
            return;
        };
        let endpoint = &mut tcp.endpoints[number as usize];
        if endpoint.alarm.is_none_or(|alarm| time < alarm) {
            endpoint.alarm = Some(time);
            let node = host.0;
            let what = Happening::Alarm {
                node,
                endpoint: number,
            };
            self.agenda.arrange(time, what);
        }
    }

    /// Lets the card serve those that want to send, as soon as it is free.
    fn serve(&mut self, host: NodeId) {
        let now = self.now;
        let Some(tcp) = self.tcp_of(host) else {
            return;
        };
        if tcp.is_anybody_ready() && !std::mem::replace(&mut tcp.is_arranged, true) {
            let (time, node) = (tcp.free.max(now), host.0);
            self.agenda.arrange(time, Happening::Card { node });
        }
    }

    /// The card is free: one of those that want to send sends a frame.
    pub(super) fn card(&mut self, host: NodeId) {
        let now = self.now;
        while let Some(tcp) = self.tcp_of(host) {
            tcp.is_arranged = false;
            let Some(number) = tcp.turn() else {
                return;
            };
            let endpoint = &mut tcp.endpoints[number as usize];
            if let Some(frame) = endpoint.frame(now) {
                self.send_segment((host, number), frame);
                return self.settle((host, number));
            }
            // A stack that has nothing after all is asked again when its clock has moved on.
            match endpoint.next(now) {
                Next::Now => self.wake_endpoint((host, number), now + Time::from_micros(1)),
                Next::At(time) => self.wake_endpoint((host, number), time),
                Next::Never => {}
            }
        }
    }

    /// A host sends a frame of one of its endpoints, and makes no other for as long as that takes.
    fn send_segment(&mut self, (host, number): Place, frame: Vec<u8>) {
        let at = End {
            node: host,
            port: 0,
        };
        let wire = self.wire_at(at).map(|wire| &self.wires[wire as usize]);
        let line = wire.map_or(Time::ZERO, |wire| wire.transmission(frame.len()));
        self.transmit(host, 0, &frame);
        let now = self.now;
        if let Some(tcp) = self.tcp_of(host) {
            tcp.free = now + tcp.making(frame.len()).max(line);
            tcp.endpoints[number as usize].give_back(frame);
        }
    }
}
