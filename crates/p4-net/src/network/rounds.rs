//! Parts of a network as partitions of a run.

use p4_time::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
        // A part that reaches a bound by itself stops at once: a window may be long.
        while network.exhausted().is_none() && network.step(last) {
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

/// Windows after which a run looks at what they had to do
const SPELL: u64 = 256;

/// A network that is run in parts.
pub(super) struct Run<'a, D: Device + Send> {
    pub(super) windows: TimeWindows<&'a mut Domain<D>>,
    end: Time,
    limits: Limits,
    /// The run ends if windows have fewer events than this on average
    enough: u64,
    progress: Mutex<Progress>,
}

struct Progress {
    ended: Ended,
    /// Windows of this spell
    windows: u64,
    /// Events before it
    events: u64,
}

/// Why a run is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Reached,
    Exhausted(Exhausted),
    /// Windows have too little to do.
    Thin,
}

impl<'a, D: Device + Send> Run<'a, D> {
    pub(super) fn new(
        windows: TimeWindows<&'a mut Domain<D>>,
        end: Time,
        limits: Limits,
        enough: u64,
    ) -> Run<'a, D> {
        Run {
            windows,
            end,
            limits,
            enough,
            progress: Mutex::new(Progress {
                ended: Ended::Reached,
                windows: 0,
                events: 0,
            }),
        }
    }

    pub(super) fn ended(&self) -> Ended {
        self.progress().ended
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why there is no further window, if there is none.
    fn over(&self, progress: &mut Progress) -> Option<Ended> {
        if self.windows.next() > self.end {
            return Some(Ended::Reached);
        }
        let events = self.windows.events();
        if events >= self.limits.events {
            return Some(Ended::Exhausted(Exhausted::Events));
        }
        let mut frames = 0;
        let many = self.windows.any(|domain| {
            frames += domain.network.pool.live();
            frames > self.limits.frames
        });
        if many {
            return Some(Ended::Exhausted(Exhausted::Frames));
        }
        if progress.windows == SPELL {
            let few = events - progress.events < self.enough * SPELL;
            (progress.windows, progress.events) = (0, events);
            return few.then_some(Ended::Thin);
        }
        None
    }
}

impl<D: Device + Send> Rounds for Run<'_, D> {
    fn partitions(&self) -> usize {
        self.windows.partitions()
    }

    fn begin(&self) -> bool {
        let mut progress = self.progress();
        match self.over(&mut progress) {
            Some(ended) => progress.ended = ended,
            None => {
                progress.windows += 1;
                self.windows.open(self.end);
                return true;
            }
        }
        false
    }

    fn carry_out(&self, partition: usize) -> u64 {
        self.windows.carry_out(partition)
    }
}
