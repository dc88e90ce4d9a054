//! A spine: cells wait at inputs by output, cross, and leave when the leaf below has room. It shares
//! nothing with other spines and leaves.

use std::sync::Arc;

use p4_net::partition::{Inbox, Letter, Outbox};
use p4_net::Time;

use crate::arbiter::{bits, Islip, Mask};
use crate::leaf::{Mail, Message};
use crate::parameters::Parameters;
use crate::slab::{List, Slab};
use crate::state::{Cell, Link};

/// An input-queued cell switch; its ports are leaves.
#[derive(Clone)]
pub(crate) struct Spine {
    /// Among the partitions, after the leaves
    pub(crate) number: u32,
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) leaves: usize,
    pub(crate) now: u64,
    pub(crate) inbox: Inbox<Mail>,
    due: Vec<(u32, Mail)>,
    pub(crate) out: Outbox<Message>,
    pub(crate) cells: Slab<Cell>,
    pub(crate) islip: Islip,
    /// By input x leaves + output
    pub(crate) queues: Vec<List>,
    pub(crate) wants: Vec<Mask>,
    /// Outputs that some input wants
    pub(crate) active: Mask,
    pub(crate) down: Vec<Link>,
    /// When the next slot begins, if there is something to cross
    pub(crate) slot: Option<Time>,
    /// When the last one began
    pub(crate) last: u64,
    /// Cells that have crossed so far
    pub(crate) crossed: u64,
}

impl Spine {
    pub(crate) fn new(number: usize, leaves: usize, parameters: &Arc<Parameters>) -> Spine {
        let links = (0..leaves).map(|_| Link::new(parameters.hop_credits));
        Spine {
            number: (leaves + number) as u32,
            leaves,
            now: 0,
            inbox: Inbox::default(),
            due: Vec::new(),
            out: Outbox::default(),
            cells: Slab::default(),
            islip: Islip::new(leaves, leaves, 0),
            queues: vec![List::EMPTY; leaves * leaves],
            wants: vec![0; leaves],
            active: 0,
            down: links.collect(),
            slot: None,
            last: 0,
            crossed: 0,
            parameters: Arc::clone(parameters),
        }
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.slot.into_iter().chain(self.inbox.next()).min()
    }

    pub(crate) fn receive(&mut self, letter: Letter<Message>) {
        match letter.message {
            Message::Credit { of } => {
                let link = &mut self.down[usize::from(of)];
                link.returns.push_back(letter.time.picos());
            }
            Message::Mail(message) => self.inbox.put(Letter {
                time: letter.time,
                from: letter.from,
                message,
            }),
            Message::Announced(_) => {} // which is for leaves
        }
    }

    /// Carries out all that happens until `last`; the number of events.
    pub(crate) fn run(&mut self, last: Time) -> u64 {
        let mut events = 0;
        while let Some(time) = self.next_time().filter(|time| *time <= last) {
            self.now = time.picos();
            if self.inbox.next() == Some(time) {
                let mut due = std::mem::take(&mut self.due);
                self.inbox.take(&mut due);
                events += due.len() as u64;
                for (_, message) in &due {
                    if let Mail::Cell(cell) = message {
                        self.cell_came(*cell);
                    }
                }
                self.due = due;
            } else {
                events += 1;
                self.cross();
            }
        }
        events
    }

    /// A cell has come from a leaf.
    fn cell_came(&mut self, cell: Cell) {
        let (from, to) = (usize::from(cell.from), usize::from(cell.to));
        let number = self.cells.insert(cell);
        self.queues[from * self.leaves + to].append(number, &mut self.cells);
        self.wants[to] |= 1 << from;
        self.active |= 1 << to;
        if self.slot.is_none() {
            let next = (self.last + self.period()).max(self.now);
            self.slot = Some(Time::from_picos(next));
        }
    }

    /// Picoseconds of a slot: a cell on a link, by the speed-up.
    pub(crate) fn period(&self) -> u64 {
        self.parameters.on_link() / self.parameters.speedup
    }

    fn cross(&mut self) {
        let (now, leaves, length) = (self.now, self.leaves, self.parameters.on_link());
        let full = now + (self.parameters.spine_output - 1) * length;
        let wait = self.parameters.cable + self.parameters.cell_remote / 2;
        let back = Time::from_picos(now + self.parameters.cable);
        self.last = now;
        let mut free = 0;
        for output in bits(self.active) {
            let link = &mut self.down[usize::from(output)];
            if link.busy <= full && link.has_credit(now) {
                free |= 1 << output;
            }
        }
        let (queues, cells, down) = (&mut self.queues, &mut self.cells, &mut self.down);
        let (out, from) = (&mut self.out, self.number);
        let of = (self.number as usize - leaves) as u8;
        let mut send = |to: u8, time, message| {
            let letter = Letter {
                time,
                from,
                message,
            };
            out.send(u32::from(to), letter);
        };
        let mut emptied = [(0u8, 0u8); 128];
        let (mut count, mut crossed) = (0, 0);
        self.islip.run(&self.wants, free, 1, |input, output| {
            let list = &mut queues[usize::from(input) * leaves + usize::from(output)];
            let Some(number) = list.take(cells) else {
                return;
            };
            let cell = cells[number];
            cells.remove(number);
            crossed += 1;
            if list.is_empty() {
                emptied[count] = (input, output);
                count += 1;
            }
            let left = down[usize::from(output)].send(now, length);
            send(
                output,
                Time::from_picos(left + wait),
                Message::Mail(Mail::Cell(cell)),
            );
            send(input, back, Message::Credit { of });
        });
        self.crossed += crossed;
        for (input, output) in &emptied[..count] {
            self.wants[usize::from(*output)] &= !(1 << input);
            if self.wants[usize::from(*output)] == 0 {
                self.active &= !(1 << output);
            }
        }
        let next = Time::from_picos(now + self.period());
        self.slot = (self.active != 0).then_some(next);
    }
}
