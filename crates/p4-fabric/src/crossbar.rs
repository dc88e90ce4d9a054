//! A slot of a leaf's crossbar: which cells cross it, from caches, payload interfaces and spines.

use crate::leaf::{Event, Leaf, Mail, Message};
use crate::parameters::Spray;
use crate::plan::Plan;
use crate::scenario::PORTS;
use crate::slab::NONE;
use crate::state::{leaf_of, place_of, Announced, Arrival, Cell};

/// Rounds of iSLIP in a slot
const ROUNDS: usize = 2;

impl Leaf {
    /// Something can cross: slots begin, unless they have.
    pub(crate) fn wake(&mut self) {
        if !self.awake {
            self.awake = true;
            let next = (self.last + self.parameters.slot).max(self.now);
            self.after(next - self.now, Event::Slot);
        }
    }

    pub(crate) fn slot(&mut self) {
        self.last = self.now;
        let turn = self.turn;
        self.turn = (turn + 1) % PORTS as u32;
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        plan.wants = self.lanes;
        for step in 0..PORTS {
            let place = (turn as usize + step) % PORTS;
            let port = &self.ports[place];
            if !port.sendable.is_empty() || !port.resend.is_empty() {
                self.survey(place, &mut plan);
            }
        }
        self.cross_within(&mut plan);
        self.cross_away(turn, &mut plan);
        self.awake = plan.waiting || self.lanes.iter().any(|lanes| *lanes != 0);
        if self.awake {
            self.after(self.parameters.slot, Event::Slot);
        }
        self.plan = plan;
    }

    /// Cells to ports of this leaf.
    fn cross_within(&mut self, plan: &mut Plan) {
        let free = (1 << PORTS) - 1;
        let matched = &mut plan.matched;
        self.islip.run(&plan.wants, free, ROUNDS, |input, output| {
            matched.push((input, output))
        });
        for at in 0..plan.matched.len() {
            let (input, output) = plan.matched[at];
            let (kind, place) = (usize::from(input) / PORTS, usize::from(input) % PORTS);
            let output = usize::from(output);
            match kind {
                0 => self.cell_from_spine(place, output),
                1 => {
                    plan.paid |= 1 << place;
                    plan.direct_away[place] = NONE;
                    self.send_within(plan.direct[place][output], true);
                }
                _ => {
                    if u64::from(plan.issued[place]) < self.parameters.headers_a_slot {
                        plan.issued[place] += 1;
                        self.send_within(plan.cached[place][output], false);
                    }
                }
            }
        }
    }

    fn cell_from_spine(&mut self, lane: usize, output: usize) {
        let list = &mut self.came[lane][output];
        let Some(number) = list.take(&mut self.cells) else {
            return;
        };
        if list.is_empty() {
            self.lanes[output] &= !(1 << lane);
        }
        let cell = self.cells[number];
        self.cells.remove(number);
        let back = self.now + self.parameters.cable;
        let credit = Message::Credit {
            of: self.number as u8,
        };
        self.send(self.spines + u32::from(cell.link), back, credit);
        self.measures.totals.cells_down += 1;
        self.load.down += 1;
        self.cell_out(&cell, self.now + self.parameters.slot);
    }

    fn send_within(&mut self, voq: u32, direct: bool) {
        let cell = self.send_cell(voq, direct);
        self.measures.totals.cells_local += 1;
        self.load.local += 1;
        self.cell_out(&cell, self.now + self.parameters.slot);
    }

    /// Cells to other leaves: each needs a crossbar input and a link. A port's own input is its own
    /// first; what is in the cache may use those that are left.
    fn cross_away(&mut self, turn: u32, plan: &mut Plan) {
        let mut lanes: u8 = 0;
        let mut inputs: u8 = 0;
        for (input, _) in &plan.matched {
            if usize::from(*input) / PORTS == 1 {
                inputs |= 1 << (usize::from(*input) % PORTS);
            }
        }
        for step in 0..PORTS {
            let place = (turn as usize + step) % PORTS;
            let voq = plan.direct_away[place];
            if voq == NONE {
                continue;
            }
            let Some(link) = self.link_for(&mut lanes) else {
                return;
            };
            inputs |= 1 << place;
            let cell = self.send_cell(voq, true);
            self.send_up(link, cell);
        }
        for own in [true, false] {
            for at in 0..plan.cached_away.len() {
                let (place, voq) = plan.cached_away[at];
                let place = usize::from(place);
                let input = match own {
                    true => inputs >> place & 1 == 0,
                    false => inputs != u8::MAX,
                };
                let issued = u64::from(plan.issued[place]) < self.parameters.headers_a_slot;
                if voq == NONE || !input || !issued {
                    continue;
                }
                let Some(link) = self.link_for(&mut lanes) else {
                    return;
                };
                inputs |= match own {
                    true => 1 << place,
                    false => 1 << inputs.trailing_ones(),
                };
                plan.issued[place] += 1;
                plan.cached_away[at].1 = NONE;
                let cell = self.send_cell(voq, false);
                self.send_up(link, cell);
            }
        }
    }

    /// The next link, by the way of spraying, whose lane is free in this slot and that takes a cell.
    fn link_for(&mut self, lanes: &mut u8) -> Option<usize> {
        let soon = self.now + (self.parameters.ahead - 1) * self.parameters.on_link();
        let count = self.up.len();
        let from = match self.parameters.spray {
            Spray::RoundRobin => self.next_link,
            Spray::Random => self.spray_rng.up_to(count as u64 - 1) as usize,
        };
        for step in 0..count {
            let at = (from + step) % count;
            let lane = 1 << (at % PORTS);
            let link = &mut self.up[at];
            if *lanes & lane == 0 && link.busy <= soon && link.has_credit(self.now) {
                *lanes |= lane;
                self.next_link = (at + 1) % count;
                return Some(at);
            }
        }
        None
    }

    fn send_up(&mut self, link: usize, mut cell: Cell) {
        cell.link = link as u8;
        let length = self.parameters.on_link();
        let from = self.now + self.parameters.slot;
        let left = self.up[link].send(from, length);
        self.measures.totals.cells_up += 1;
        self.load.up += 1;
        let there = left + self.parameters.cable + self.parameters.cell_remote / 2;
        self.send(
            self.spines + link as u32,
            there,
            Message::Mail(Mail::Cell(cell)),
        );
    }

    /// A cell has come from a spine.
    pub(crate) fn cell_came(&mut self, cell: Cell) {
        let lane = usize::from(cell.link) % PORTS;
        let port = place_of(self.ends[cell.end as usize].to);
        let number = self.cells.insert(cell);
        self.came[lane][port].append(number, &mut self.cells);
        self.lanes[port] |= 1 << lane;
        self.wake();
    }

    /// One cell of a VOQ's first copy crosses.
    fn send_cell(&mut self, voq: u32, direct: bool) -> Cell {
        self.moved = self.now;
        let port = place_of(self.voqs[voq as usize].from);
        if direct {
            self.measures.totals.payloads += 1;
            if let Some(header) = self.resent_cell(port, voq) {
                return self.cell_of(header);
            }
        }
        let queue = &mut self.voqs[voq as usize];
        queue.direct += u64::from(direct);
        queue.cached += u64::from(!direct);
        let header = queue.list.first;
        let own = &mut self.headers[header];
        if own.sent == 0 {
            own.sequence = queue.sequence;
            queue.sequence = queue.sequence.wrapping_add(1);
            self.announce(header);
        }
        let own = &mut self.headers[header];
        let at = own.frame as usize * self.stride + own.sent as usize;
        own.sent += 1;
        let (first, last) = (own.sent == 1, own.sent == self.frames[own.frame].units);
        let row = &mut self.rows[at];
        row.left -= 1;
        if row.line != NONE {
            match row.left {
                0 => self.cache.release(std::mem::replace(&mut row.line, NONE)),
                _ => self.cache.touch(row.line),
            }
        }
        if first {
            self.begun(header);
        }
        if last {
            self.whole_copy_sent(voq);
        }
        self.cell_of(header)
    }

    fn cell_of(&self, header: u32) -> Cell {
        let own = &self.headers[header];
        let voq = &self.voqs[own.voq as usize];
        Cell {
            next: NONE,
            end: voq.end,
            sequence: own.sequence,
            from: self.number as u8,
            to: leaf_of(voq.to) as u8,
            link: 0,
        }
    }

    /// Tells the far end what a copy is whose cells will come. They take longer.
    fn announce(&mut self, header: u32) {
        let own = &self.headers[header];
        let frame = &self.frames[own.frame];
        let voq = &self.voqs[own.voq as usize];
        let announced = Announced {
            end: voq.end,
            sequence: own.sequence,
            arrival: Arrival {
                header,
                target: self.nodes[frame.node as usize].targets[usize::from(own.place)],
                bytes: frame.bytes,
                units: frame.units,
                arrived: 0,
                done: false,
                number: frame.number,
                born: frame.born,
            },
        };
        if voq.remote {
            let to = leaf_of(voq.to) as u32;
            let message = Message::Announced(Box::new(announced));
            self.send(to, self.now + self.parameters.cable, message);
        } else {
            self.announced(announced);
        }
    }

    /// The next cell of a copy that is sent again, if it is that VOQ's turn for it.
    fn resent_cell(&mut self, port: usize, voq: u32) -> Option<u32> {
        let header = *self.ports[port].resend.front()?;
        let own = &mut self.headers[header];
        if own.voq != voq {
            return None;
        }
        own.sent += 1;
        if own.sent == self.frames[own.frame].units {
            self.ports[port].resend.pop_front();
        }
        Some(header)
    }
}
