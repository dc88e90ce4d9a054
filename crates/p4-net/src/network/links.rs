//! Cables: laying them, their properties, failures, statistics and captures.

use p4_time::Time;

use crate::agenda::Happening;
use crate::error::NetError;
use crate::failures::RandomFailures;
use crate::link::{End, LinkConfig, LinkId, Wire, WireStats};
use crate::pcapng::PcapNg;
use crate::queue::{PortConfig, QueueStats};

use super::{Device, Kind, Network, NO_CABLE};

impl<D: Device> Network<D> {
    /// Lays a cable between two free ports. Both directions get the same properties.
    pub fn connect(&mut self, a: End, b: End, config: LinkConfig) -> Result<LinkId, NetError> {
        config.check()?;
        self.check_free(a)?;
        self.check_free(b)?;
        if a == b {
            let name = self.name(a.node)?.to_string();
            return Err(NetError::SelfLoop { name, port: a.port });
        }
        let link = LinkId((self.wires.len() / 2) as u32);
        for (index, (from, to)) in link.wires().into_iter().zip([(a, b), (b, a)]) {
            self.wires
                .push(Wire::new(index, from, to, config.clone(), self.seed));
            let ports = &mut self.nodes[from.node.0 as usize].ports;
            let port = usize::from(from.port);
            if ports.len() <= port {
                ports.resize(port + 1, NO_CABLE);
            }
            ports[port] = index;
        }
        Ok(link)
    }

    fn check_free(&self, end: End) -> Result<(), NetError> {
        let node = self.node(end.node)?;
        let (name, port) = (node.name.clone(), end.port);
        match node.kind {
            Kind::Host { .. } if port != 0 => return Err(NetError::HostPort { name, port }),
            Kind::Switch { .. } if node.cpu_port == Some(port) => {
                return Err(NetError::PortIsCpu { name, port })
            }
            _ => {}
        }
        if let Some(wire) = node.wire(port) {
            let peer = self.nodes[self.wires[wire as usize].to.node.0 as usize]
                .name
                .clone();
            return Err(NetError::PortInUse { name, port, peer });
        }
        Ok(())
    }

    /// Takes a link down or up, both directions at once. What waits for it or flies on it when it
    /// goes down is lost, and counted. Switches at its ends are told if it was not so before.
    pub fn set_link(&mut self, link: LinkId, up: bool) -> Result<(), NetError> {
        let changes = self.link_is_up(link)? != up;
        for wire in link.wires() {
            self.wires[wire as usize].set_up(self.now, up, &mut self.pool);
        }
        let (a, b) = self.ends(link)?;
        for end in [a, b].into_iter().filter(|_| changes) {
            self.switch_runs(end.node, |device, _, now, _| {
                device.port_changed(now, end.port, up)
            });
        }
        Ok(())
    }

    /// Gives both directions of a link new properties. Frames already on the wire keep the old ones.
    pub fn configure(&mut self, link: LinkId, config: LinkConfig) -> Result<(), NetError> {
        self.check_link(link)?;
        config.check()?;
        for wire in link.wires() {
            self.wires[wire as usize].configure(config.clone());
        }
        Ok(())
    }

    /// Gives a port with a cable its queues and shapers; statistics of queues that stay go on.
    pub fn set_port(&mut self, port: End, config: &PortConfig) -> Result<(), NetError> {
        config.check()?;
        let wire = self.cabled(port)?;
        if !self.wires[wire].set_port(self.now, config, &mut self.agenda) {
            let name = self.name(port.node)?.to_string();
            return Err(NetError::FramesWait {
                name,
                port: port.port,
            });
        }
        Ok(())
    }

    /// What has happened in each queue of a port with a cable.
    pub fn queue_stats(&self, port: End) -> Result<Vec<QueueStats>, NetError> {
        Ok(self.wires[self.cabled(port)?].queue_stats(self.now))
    }

    fn cabled(&self, port: End) -> Result<usize, NetError> {
        let name = self.name(port.node)?;
        let wire = self.wire_at(port).ok_or_else(|| NetError::NoCable {
            name: name.to_string(),
            port: port.port,
        })?;
        Ok(wire as usize)
    }

    /// Takes a link down or up at a moment not yet past.
    pub fn set_link_at(&mut self, link: LinkId, time: Time, up: bool) -> Result<(), NetError> {
        self.check_link(link)?;
        if time < self.now {
            return Err(NetError::Past);
        }
        let link = link.index();
        self.agenda.arrange(time, Happening::Link { link, up });
        Ok(())
    }

    /// Lets a link fail and come back at random within a time: it is up and down in turn, for times
    /// with exponential distributions and the given means, and up at the end. Gives the moments of
    /// all changes, the first of which takes it down.
    pub fn fail_at_random(
        &mut self,
        link: LinkId,
        plan: RandomFailures,
    ) -> Result<Vec<Time>, NetError> {
        self.check_link(link)?;
        let moments = plan.moments(self.now)?;
        for (number, &time) in moments.iter().enumerate() {
            self.set_link_at(link, time, number % 2 == 1)?;
        }
        Ok(moments)
    }

    pub fn link_is_up(&self, link: LinkId) -> Result<bool, NetError> {
        self.check_link(link)?;
        Ok(self.wires[link.wires()[0] as usize].is_up())
    }

    /// The two ends of a link, in the order given to [`Network::connect`].
    pub fn ends(&self, link: LinkId) -> Result<(End, End), NetError> {
        self.check_link(link)?;
        let wire = &self.wires[link.wires()[0] as usize];
        Ok((wire.from(), wire.to))
    }

    /// What has happened on a link: first end to second, then second to first.
    pub fn link_stats(&self, link: LinkId) -> Result<[WireStats; 2], NetError> {
        self.check_link(link)?;
        let stats = |wire| self.wires[wire as usize].stats(&self.pool);
        Ok(link.wires().map(stats))
    }

    /// All links, in order of creation.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        (0..(self.wires.len() / 2) as u32).map(LinkId)
    }

    /// Starts to keep every frame that a link delivers, as pcapng with one interface for each
    /// direction, named `from:port > to:port`.
    pub fn capture(&mut self, link: LinkId) -> Result<(), NetError> {
        let (a, b) = self.ends(link)?;
        let mut file = PcapNg::new();
        for (from, to) in [(a, b), (b, a)] {
            file.interface(&format!("{} > {}", self.label(from)?, self.label(to)?));
        }
        self.captures.insert(link, file);
        Ok(())
    }

    /// The capture of a link since the start or since the last call (append it to a file); empty
    /// if [`Network::capture`] was not called for it.
    pub fn drain_capture(&mut self, link: LinkId) -> Vec<u8> {
        self.captures
            .get_mut(&link)
            .map(PcapNg::drain)
            .unwrap_or_default()
    }
}
