//! A slot of a leaf's crossbar: which cells cross it, from caches, payload interfaces and spines.

use crate::arbiter::Mask;
use crate::fabric::{Event, Fabric};
use crate::parameters::Spray;
use crate::scenario::PORTS;
use crate::slab::NONE;
use crate::state::Cell;

/// What could cross in a slot. Numbers of ports are places in the leaf.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    wants: [Mask; PORTS],
    /// VOQs by port and local output: with the cell in the cache, and from the payload interface
    cached: [[u32; PORTS]; PORTS],
    direct: [[u32; PORTS]; PORTS],
    /// The same for other leaves: port, VOQ; one a port from its payload interface
    cached_away: Vec<(u8, u32)>,
    direct_away: [u32; PORTS],
    /// Cells that no line has, of the port at hand: VOQ and row
    missing: Vec<(u32, u32)>,
    matched: Vec<(u8, u8)>,
    /// Headers that each port has issued
    issued: [u8; PORTS],
    /// Ports whose payload interface is taken
    paid: u8,
    written: bool,
    waiting: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            wants: [0; PORTS],
            cached: [[NONE; PORTS]; PORTS],
            direct: [[NONE; PORTS]; PORTS],
            cached_away: Vec::with_capacity(64),
            direct_away: [NONE; PORTS],
            missing: Vec::with_capacity(64),
            matched: Vec::with_capacity(16),
            issued: [0; PORTS],
            paid: 0,
            written: false,
            waiting: false,
        }
    }
}

impl Plan {
    fn clear(&mut self) {
        self.cached = [[NONE; PORTS]; PORTS];
        self.direct = [[NONE; PORTS]; PORTS];
        self.cached_away.clear();
        self.direct_away = [NONE; PORTS];
        self.matched.clear();
        self.issued = [0; PORTS];
        (self.paid, self.written, self.waiting) = (0, false, false);
    }
}

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

    /// Sees what a port could send, and has the payload interface write a missing cell to the cache.
    fn survey(&mut self, leaf: usize, place: usize, plan: &mut Plan) {
        let port = leaf * PORTS + place;
        plan.waiting = true;
        plan.missing.clear();
        if let Some(header) = self.ports[port].resend.front() {
            let voq = self.headers[*header].voq;
            self.plan_direct(place, voq, plan);
            plan.paid |= 1 << place;
        }
        let count = self.ports[port].sendable.len();
        let turn = self.ports[port].turn as usize;
        self.ports[port].turn = (turn + 1) as u32;
        let mut first_missing = usize::MAX;
        let mut first_direct = usize::MAX;
        for step in 0..count {
            let voq = self.ports[port].sendable[(turn + step) % count];
            let header = &self.headers[self.voqs[voq as usize].list.first];
            if self.frames[header.frame].ready > self.now {
                continue;
            }
            let at = header.frame as usize * self.stride + header.sent as usize;
            let row = self.rows[at];
            if row.line != NONE {
                self.plan_cached(place, voq, plan);
            } else if row.left > 1 && self.leaves[leaf].cache.is_on() {
                plan.missing.push((voq, at as u32));
                first_missing = first_missing.min(step);
            } else if plan.paid >> place & 1 == 0 {
                self.plan_direct(place, voq, plan);
                first_direct = first_direct.min(step);
            }
        }
        // One payload a slot and port; one port a slot writes to the cache.
        if plan.paid >> place & 1 == 0 && first_missing < first_direct && !plan.written {
            self.write_cell(leaf, place, plan);
        }
    }

    fn write_cell(&mut self, leaf: usize, place: usize, plan: &mut Plan) {
        let row = plan.missing[0].1;
        let (line, gone) = self.leaves[leaf].cache.write(row);
        if let Some(gone) = gone {
            self.rows[gone as usize].line = NONE;
            self.measures.totals.evicted += 1;
        }
        self.rows[row as usize].line = line;
        self.measures.totals.payloads += 1;
        let copies = self.frames[row / self.stride as u32].made;
        self.measures.totals.rewritten += u64::from(self.rows[row as usize].left < copies);
        plan.written = true;
        plan.paid |= 1 << place;
        plan.direct[place] = [NONE; PORTS];
        plan.direct_away[place] = NONE;
        for wants in &mut plan.wants {
            *wants &= !(1 << (PORTS + place));
        }
        for at in 0..plan.missing.len() {
            let (voq, own) = plan.missing[at];
            if own == row {
                self.plan_cached(place, voq, plan);
            }
        }
    }

    fn plan_cached(&self, place: usize, voq: u32, plan: &mut Plan) {
        let own = &self.voqs[voq as usize];
        if own.remote {
            return plan.cached_away.push((place as u8, voq));
        }
        let to = own.to as usize % PORTS;
        if plan.cached[place][to] == NONE {
            plan.cached[place][to] = voq;
            plan.wants[to] |= 1 << (2 * PORTS + place);
        }
    }

    fn plan_direct(&self, place: usize, voq: u32, plan: &mut Plan) {
        let own = &self.voqs[voq as usize];
        let to = own.to as usize % PORTS;
        let kept = match own.remote {
            true => &mut plan.direct_away[place],
            false => &mut plan.direct[place][to],
        };
        if *kept == NONE {
            *kept = voq;
            if !own.remote {
                plan.wants[to] |= 1 << (PORTS + place);
            }
        }
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
        self.cell_out(copy, self.now + self.parameters.slot);
    }

    fn send_within(&mut self, leaf: usize, voq: u32, direct: bool) {
        let header = self.send_cell(leaf, voq, direct);
        self.measures.totals.cells_local += 1;
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
        let header = self.voqs[voq as usize].list.first;
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
