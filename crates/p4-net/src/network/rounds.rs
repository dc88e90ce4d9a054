//! Parts of a network as partitions of a run.

use p4_time::Time;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::agenda::Happening;
use crate::partition::{Letter, Outbox, Partition, Rounds, TimeWindows};

use super::{Device, Exhausted, Limits, Network};

/// A part of a network.
pub(super) struct Domain<D> {
    pub(super) number: u32,
    pub(super) network: Network<D>,
    /// Wires to other parts by their numbers here: those in the whole network, and the parts
    pub(super) away: BTreeMap<u32, (u32, u32)>,
    /// Ghosts by the numbers of their wires in the whole network
    pub(super) ghosts: BTreeMap<u32, u32>,
}

/// A frame that was sent to another part, and its wire in the whole network.
pub(super) struct Shipped {
    pub(super) wire: u32,
    pub(super) frame: Vec<u8>,
}

impl<D> Domain<D> {
    /// A frame will arrive at a ghost.
    pub(super) fn expect(&mut self, time: Time, shipped: &Shipped) {
        let Network {
            wires,
            pool,
            agenda,
            ..
        } = &mut self.network;
        if let Some(ghost) = self.ghosts.get(&shipped.wire) {
            wires[*ghost as usize].expect(time, &shipped.frame, pool, agenda);
        }
    }

    /// What flies to other parts: the part, when it arrives, and the frame.
    pub(super) fn in_flight(&self) -> Vec<(u32, Time, Shipped)> {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for (time, what) in self.network.agenda.pending() {
            let Happening::Arrival { wire, epoch } = what else {
                continue;
            };
            let own = &self.network.wires[wire as usize];
            let Some((number, part)) = self.away.get(&wire).filter(|_| own.epoch() == epoch) else {
                continue;
            };
            let place = seen.entry(wire).or_insert(0);
            if let Some(frame) = own.frames(&self.network.pool).nth(*place) {
                let (wire, frame) = (*number, frame.to_vec());
                found.push((*part, time, Shipped { wire, frame }));
            }
            *place += 1;
        }
        found
    }
}

impl<D: Device + Send> Partition for &mut Domain<D> {
    type Message = Shipped;

    fn next_time(&self) -> Option<Time> {
        self.network.agenda.next_time()
    }

    /// Frames of one moment are ordered by their wires, and those of one wire come in order.
    fn receive(&mut self, letter: Letter<Shipped>) {
        self.expect(letter.time, &letter.message);
    }

    fn run(&mut self, last: Time, out: &mut Outbox<Shipped>) -> u64 {
        let mut events = 0;
        let network = &mut self.network;
        while let Some((time, what)) = network.agenda.pop(last) {
            network.now = time;
            network.happen(what);
            events += 1;
        }
        for (here, (number, part)) in &self.away {
            let (pool, from) = (&network.pool, self.number);
            network.wires[*here as usize].ship(|time, frame| {
                let message = Shipped {
                    wire: *number,
                    frame: pool.get(frame).to_vec(),
                };
                let letter = Letter {
                    time,
                    from,
                    message,
                };
                out.send(*part, letter);
            });
        }
        events
    }
}

/// A call of [`Network::run_by`].
pub(super) struct Run<'a, D: Device + Send> {
    pub(super) windows: TimeWindows<&'a mut Domain<D>>,
    end: Time,
    limits: Limits,
    exhausted: AtomicU8,
}

const EVENTS: u8 = 1;
const FRAMES: u8 = 2;

impl<'a, D: Device + Send> Run<'a, D> {
    pub(super) fn new(
        windows: TimeWindows<&'a mut Domain<D>>,
        end: Time,
        limits: Limits,
    ) -> Run<'a, D> {
        Run {
            windows,
            end,
            limits,
            exhausted: AtomicU8::new(0),
        }
    }

    /// The bound that was reached, if one was.
    pub(super) fn exhausted(&self) -> Option<Exhausted> {
        match self.exhausted.load(Ordering::Acquire) {
            EVENTS => Some(Exhausted::Events),
            FRAMES => Some(Exhausted::Frames),
            _ => None,
        }
    }
}

impl<D: Device + Send> Rounds for Run<'_, D> {
    fn partitions(&self) -> usize {
        self.windows.partitions()
    }

    fn begin(&self) -> bool {
        if self.windows.next() > self.end {
            return false;
        }
        let mut frames = 0;
        self.windows.any(|domain| {
            frames += domain.network.pool.live();
            frames > self.limits.frames
        });
        let bound = match () {
            () if self.windows.events() >= self.limits.events => EVENTS,
            () if frames > self.limits.frames => FRAMES,
            () => {
                self.windows.open(self.end);
                return true;
            }
        };
        self.exhausted.store(bound, Ordering::Release);
        false
    }

    fn carry_out(&self, partition: usize) -> u64 {
        self.windows.carry_out(partition)
    }
}
