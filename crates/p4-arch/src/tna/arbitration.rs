//! Who gets the places in the queues of looped ports when more packets come than leave.
//!
//! A packet that recirculates competes with packets that come in for the first time. Which of them
//! a full queue loses depends on the order in which they reach it, which in a simulation without
//! jitter is the same again and again. So the order is a parameter. What becomes of each is a limit
//! that can be computed (`p4lab.recirculation.limits`).

use super::queue::Copy;
use crate::random::Random;
use p4_time::Time;

/// How the packets for a looped port compete. "Fresh" are those that have not been through a port
/// with another arbitration than [`Arbitration::TailDrop`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arbitration {
    /// A packet that finds the queue full is dropped. This is what hardware has.
    #[default]
    TailDrop,
    /// When the queue is full, one of the packets in it and the new one is dropped, each with equal
    /// probability (Random Drop; Mankin, SIGCOMM 1990). Every packet has the same chance, whatever
    /// the timing.
    EqualDrop,
    /// Tail drop, and the packets of one service time come in random order.
    Random,
    /// The same, looped packets before fresh ones.
    LoopedFirst,
    /// The same, fresh packets before looped ones.
    FreshFirst,
}

impl Arbitration {
    pub const ALL: [Arbitration; 5] = [
        Arbitration::TailDrop,
        Arbitration::EqualDrop,
        Arbitration::Random,
        Arbitration::LoopedFirst,
        Arbitration::FreshFirst,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Arbitration::TailDrop => "tail-drop",
            Arbitration::EqualDrop => "equal-drop",
            Arbitration::Random => "random",
            Arbitration::LoopedFirst => "looped-first",
            Arbitration::FreshFirst => "fresh-first",
        }
    }

    /// The arbitration of this name; the error lists them all.
    pub fn named(name: &str) -> Result<Arbitration, String> {
        let found = Arbitration::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| {
            let names = Arbitration::ALL.map(Arbitration::name).join(", ");
            format!("there is no arbitration called {name:?}; there is {names}")
        })
    }

    /// Whether packets are collected for a service time before they reach their queues.
    pub(super) fn gathers(self) -> bool {
        !matches!(self, Arbitration::TailDrop | Arbitration::EqualDrop)
    }
}

/// The packets of one service time for all looped ports with the same arbitration.
///
/// Their ports stand in the order in which the packets came; only which packet is first changes. So
/// ports that take turns still do.
#[derive(Debug, Default)]
pub(super) struct Gate {
    copies: Vec<Copy>,
    closes: Time,
}

impl Gate {
    /// Takes a packet in. Service times of `service` picoseconds follow each other without gaps.
    pub fn gather(&mut self, now: Time, service: u64, copy: Copy) {
        if self.copies.is_empty() {
            let service = service.max(1);
            let next = (now.picos() / service).saturating_add(1);
            self.closes = Time::from_picos(next.saturating_mul(service));
        }
        self.copies.push(copy);
    }

    /// When the packets go to their queues; `None` while there are none.
    pub fn closes(&self) -> Option<Time> {
        (!self.copies.is_empty()).then_some(self.closes)
    }

    /// The packets in the order in which they reach their queues.
    pub fn release(&mut self, arbitration: Arbitration, random: &mut Random) -> Vec<Copy> {
        let ports: Vec<_> = self.copies.iter().map(|copy| copy.port).collect();
        let mut copies = std::mem::take(&mut self.copies);
        shuffle(&mut copies, random);
        match arbitration {
            Arbitration::LoopedFirst => copies.sort_by_key(|copy| !copy.origin.looped),
            Arbitration::FreshFirst => copies.sort_by_key(|copy| copy.origin.looped),
            _ => {}
        }
        for (copy, port) in copies.iter_mut().zip(ports) {
            copy.port = port;
        }
        copies
    }
}

/// Fisher and Yates.
fn shuffle(copies: &mut [Copy], random: &mut Random) {
    for last in (1..copies.len()).rev() {
        copies.swap(last, random.index(last + 1));
    }
}
