//! A slot of a leaf's crossbar: which cells cross it, from caches, payload interfaces and spines.

use crate::fabric::{Event, Fabric};
use crate::parameters::Spray;
use crate::plan::Plan;
use crate::scenario::PORTS;
use crate::slab::NONE;
use crate::state::Cell;

/// Rounds of iSLIP in a slot
const ROUNDS: usize = 2;

impl Fabric {
    /// Something can cross: slots begin, unless they have.
    pub(crate) fn wake(&mut self, leaf: usize) {
        let own = &mut self.leaves[leaf];
        if !own.awake {
            own.awake = true;
            let next = (own.last + self.parameters.slot).max(self.now);
            self.after(next - self.now, Event::Slot { leaf: leaf as u16 });
        }
    }

    pub(crate) fn slot(&mut self, leaf: usize) {
        self.leaves[leaf].last = self.now;
        let turn = self.leaves[leaf].turn;
        self.leaves[leaf].turn = (turn + 1) % PORTS as u32;
        let mut plan = std::mem::take(&mut self.plan);
        plan.clear();
        plan.wants = self.leaves[leaf].lanes;
        for step in 0..PORTS {
            let place = (turn as usize + step) % PORTS;
            let port = leaf * PORTS + place;
            if !self.ports[port].sendable.is_empty() || !self.ports[port].resend.is_empty() {
                self.survey(leaf, place, &mut plan);
            }
        }
        self.cross_within(leaf, &mut plan);
        self.cross_away(leaf, turn, &mut plan);
        let own = &mut self.leaves[leaf];
        own.awake = plan.waiting || own.lanes.iter().any(|lanes| *lanes != 0);
        if own.awake {
            self.after(self.parameters.slot, Event::Slot { leaf: leaf as u16 });
        }
        self.plan = plan;
    }

    /// Cells to ports of this leaf.
    fn cross_within(&mut self, leaf: usize, plan: &mut Plan) {
        let free = (1 << PORTS) - 1;
        let matched = &mut plan.matched;
        let islip = &mut self.leaves[leaf].islip;
        islip.run(&plan.wants, free, ROUNDS, |input, output| {
            matched.push((input, output))
        });
        for at in 0..plan.matched.len() {
            let (input, output) = plan.matched[at];
            let (kind, place) = (usize::from(input) / PORTS, usize::from(input) % PORTS);
            let output = usize::from(output);
            match kind {
                0 => self.cell_from_spine(leaf, place, output),
                1 => {
                    plan.paid |= 1 << place;
                    plan.direct_away[place] = NONE;
                    self.send_within(leaf, plan.direct[place][output], true);
                }
                _ => {
                    if u64::from(plan.issued[place]) < self.parameters.headers_a_slot {
                        plan.issued[place] += 1;
                        self.send_within(leaf, plan.cached[place][output], false);
                    }
                }
            }
        }
    }

    fn cell_from_spine(&mut self, leaf: usize, lane: usize, output: usize) {
        let own = &mut self.leaves[leaf];
        let list = &mut own.came[lane][output];
        let Some(cell) = list.take(&mut self.cells) else {
            return;
        };
        if list.is_empty() {
            own.lanes[output] &= !(1 << lane);
        }
        let Cell { copy, link, .. } = self.cells[cell];
        self.cells.remove(cell);
        let back = self.now + self.parameters.cable;
        self.spines[usize::from(link)].down[leaf]
            .returns
            .push_back(back);
        self.measures.totals.cells_down += 1;
        self.leaves[leaf].load.down += 1;
        self.cell_out(copy, self.now + self.parameters.slot);
    }

    fn send_within(&mut self, leaf: usize, voq: u32, direct: bool) {
        let header = self.send_cell(leaf, voq, direct);
        self.measures.totals.cells_local += 1;
        self.leaves[leaf].load.local += 1;
        self.cell_out(header, self.now + self.parameters.slot);
    }

    /// Cells to other leaves: each needs a crossbar input and a link. A port's own input is its own
    /// first; what is in the cache may use those that are left.
    fn cross_away(&mut self, leaf: usize, turn: u32, plan: &mut Plan) {
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
            let Some(link) = self.link_for(leaf, &mut lanes) else {
                return;
            };
            inputs |= 1 << place;
            let header = self.send_cell(leaf, voq, true);
            self.send_up(leaf, link, header);
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
                let Some(link) = self.link_for(leaf, &mut lanes) else {
                    return;
                };
                inputs |= match own {
                    true => 1 << place,
                    false => 1 << inputs.trailing_ones(),
                };
                plan.issued[place] += 1;
                plan.cached_away[at].1 = NONE;
                let header = self.send_cell(leaf, voq, false);
                self.send_up(leaf, link, header);
            }
        }
    }

    /// The next link, by the way of spraying, whose lane is free in this slot and that takes a cell.
    fn link_for(&mut self, leaf: usize, lanes: &mut u8) -> Option<usize> {
        let soon = self.now + (self.parameters.ahead - 1) * self.parameters.on_link();
        let own = &mut self.leaves[leaf];
        let count = own.up.len();
        let from = match self.parameters.spray {
            Spray::RoundRobin => own.next_link,
            Spray::Random => own.rng.up_to(count as u64 - 1) as usize,
        };
        for step in 0..count {
            let at = (from + step) % count;
            let lane = 1 << (at % PORTS);
            let link = &mut own.up[at];
            if *lanes & lane == 0 && link.busy <= soon && link.has_credit(self.now) {
                *lanes |= lane;
                own.next_link = (at + 1) % count;
                return Some(at);
            }
        }
        None
    }

    fn send_up(&mut self, leaf: usize, link: usize, header: u32) {
        let to = self.voqs[self.headers[header].voq as usize].to as usize / PORTS;
        let cell = self.cells.insert(Cell {
            copy: header,
            next: NONE,
            from: leaf as u16,
            to: to as u16,
            link: link as u8,
            down: false,
        });
        let length = self.parameters.on_link();
        let from = self.now + self.parameters.slot;
        let left = self.leaves[leaf].up[link].send(from, length);
        self.measures.totals.cells_up += 1;
        self.leaves[leaf].load.up += 1;
        let wait = left - self.now + self.parameters.cable + self.parameters.cell_remote / 2;
        self.after(wait, Event::AtSpine { cell });
    }

    /// A cell has come from a spine.
    pub(crate) fn at_leaf(&mut self, cell: u32) {
        let Cell { copy, to, link, .. } = self.cells[cell];
        let (leaf, lane) = (usize::from(to), usize::from(link) % PORTS);
        let port = self.voqs[self.headers[copy].voq as usize].to as usize % PORTS;
        let own = &mut self.leaves[leaf];
        own.came[lane][port].append(cell, &mut self.cells);
        own.lanes[port] |= 1 << lane;
        self.wake(leaf);
    }

    /// One cell of a VOQ's first copy crosses: its header.
    fn send_cell(&mut self, leaf: usize, voq: u32, direct: bool) -> u32 {
        self.moved = self.now;
        let port = self.voqs[voq as usize].from as usize;
        if direct {
            self.measures.totals.payloads += 1;
            if let Some(header) = self.resent_cell(port, voq) {
                return header;
            }
        }
        let queue = &mut self.voqs[voq as usize];
        queue.direct += u64::from(direct);
        queue.cached += u64::from(!direct);
        let header = queue.list.first;
        let own = &mut self.headers[header];
        let at = own.frame as usize * self.stride + own.sent as usize;
        own.sent += 1;
        let (first, last) = (own.sent == 1, own.sent == self.frames[own.frame].units);
        let row = &mut self.rows[at];
        row.left -= 1;
        if row.line != NONE {
            let cache = &mut self.leaves[leaf].cache;
            match row.left {
                0 => cache.release(std::mem::replace(&mut row.line, NONE)),
                _ => cache.touch(row.line),
            }
        }
        if first {
            self.begun(header);
        }
        if last {
            self.whole_copy_sent(voq);
        }
        header
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
