//! Looking at what the next frames need before they arrive.
//!
//! A network of a thousand switches does not fit into the cache, so a frame finds nothing of its switch
//! there, and waits for memory again and again, as each place is known from the one before. The event queue
//! knows which frames come next. While one is under way, those behind it are looked at, one step each:
//! the wire of the fifth, the node of the fourth, and so on. Nothing depends on any of it.

use std::hint::black_box;

use crate::agenda::Happening;

use super::{Device, Kind, Network};

/// Networks with fewer nodes are in the cache anyway.
const MANY: usize = 64;
/// Steps from a frame's wire to what its switch will look up
const STEPS: usize = 5;

impl<D: Device> Network<D> {
    #[inline]
    pub(super) fn look_ahead(&self) {
        if self.nodes.len() < MANY {
            return;
        }
        for (step, what) in self.agenda.coming().take(STEPS).enumerate() {
            if let Happening::Arrival { wire, .. } = what {
                self.look_at(step, *wire);
            }
        }
    }

    /// At what a frame on this wire needs, so many frames before it comes.
    #[inline]
    fn look_at(&self, step: usize, wire: u32) {
        let Some(wire) = self.wires.get(wire as usize) else {
            return;
        };
        if step == 4 {
            return wire.look_ahead();
        }
        let Some(node) = self.nodes.get(wire.to.node.0 as usize) else {
            return;
        };
        if step == 3 {
            black_box(node.sent_on);
            black_box(node.ports.len());
            black_box(matches!(node.kind, Kind::Host { .. }));
            return wire.look_at_frame(&self.pool, false);
        }
        if step == 2 {
            wire.look_at_frame(&self.pool, true);
            black_box(node.ports.first());
        }
        if step == 1 {
            if let Some(next) = self.wires.get(node.sent_on as usize) {
                next.look_ahead();
            }
        }
        if let Kind::Switch { device, .. } = &node.kind {
            device.look_ahead(step);
        }
    }
}
