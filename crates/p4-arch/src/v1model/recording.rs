//! The paths of packets that were recorded, and of what was made from them.

use super::image::Image;
use super::stages::Event;
use crate::segments::{change_cells, Recorded, Recording};
use p4_ir::paths::Path;

impl Recording {
    /// The paths of all packets and their segments; where queues hold packets back, they end there.
    pub fn paths(&self, image: &Image, are_limited: bool) -> Vec<(usize, Path)> {
        let mut paths = Vec::new();
        for packet in &self.packets {
            let made = self.made(packet, image, are_limited);
            paths.extend(packet.begun(image, are_limited));
            paths.extend(made);
        }
        paths
    }

    /// The path of a packet that was made from another one, as part of that one's.
    fn made(&self, packet: &Recorded, image: &Image, are_limited: bool) -> Option<(usize, Path)> {
        let (event, path, origin) = match packet.met(Event::Queue).filter(|_| are_limited) {
            Some(at) => {
                let mut path = packet.whole()?;
                path.blocks.drain(..at.min(path.blocks.len()));
                let has_left = path.end != Event::Queue as u8;
                (Some(Event::Queue).filter(|_| has_left)?, path, packet)
            }
            None => {
                let event = image.stages(false).made_by(packet.segment?)?;
                let origin = self.packets.get(packet.parent? as usize)?;
                (event, packet.whole()?, origin)
            }
        };
        let (segment, mut begun) = origin.begun(image, are_limited)?;
        begun.made.push((event as u8, path));
        Some((segment, begun))
    }
}

impl Recorded {
    /// Blocks that it had met when this happened to it first
    fn met(&self, event: Event) -> Option<usize> {
        let mut events = self.events.iter();
        let met = events.find(|(own, _)| *own == event as u8)?;
        Some(met.1)
    }

    /// Its path from the parser on.
    fn begun(&self, image: &Image, are_limited: bool) -> Option<(usize, Path)> {
        let (stages, segment) = (image.stages(false), self.segment?);
        if stages.made_by(segment).is_some() {
            return None;
        }
        let mut path = self.whole()?;
        if let Some(at) = self.met(Event::Queue).filter(|_| are_limited) {
            path.blocks.truncate(at);
            path.end = Event::Queue as u8;
            return Some((segment, path));
        }
        // Its clones leave before it does.
        let ingress = stages.ingress_of(segment);
        let late = path.blocks.get(ingress.map_or(0, |at| at + 1)..);
        let is_cloned = self.met(Event::IngressClone).is_some();
        let in_order = !is_cloned || !change_cells(&image.prepared, late.unwrap_or_default());
        in_order.then_some((segment, path))
    }
}
