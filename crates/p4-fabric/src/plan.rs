//! What could cross a leaf's crossbar in a slot: VOQs with their next cell in the cache, and without.

use crate::arbiter::Mask;
use crate::leaf::Leaf;
use crate::scenario::PORTS;
use crate::slab::NONE;
use crate::state::place_of;

/// What could cross in a slot. Numbers of ports are places in the leaf.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) wants: [Mask; PORTS],
    /// VOQs by port and local output: with the cell in the cache, and from the payload interface
    pub(crate) cached: [[u32; PORTS]; PORTS],
    pub(crate) direct: [[u32; PORTS]; PORTS],
    /// The same for other leaves: port, VOQ; one a port from its payload interface
    pub(crate) cached_away: Vec<(u8, u32)>,
    pub(crate) direct_away: [u32; PORTS],
    /// Cells that no line has, of the port at hand: VOQ and row
    pub(crate) missing: Vec<(u32, u32)>,
    pub(crate) matched: Vec<(u8, u8)>,
    /// Headers that each port has issued
    pub(crate) issued: [u8; PORTS],
    /// Ports whose payload interface is taken
    pub(crate) paid: u8,
    pub(crate) written: bool,
    pub(crate) waiting: bool,
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
    pub(crate) fn clear(&mut self) {
        self.cached = [[NONE; PORTS]; PORTS];
        self.direct = [[NONE; PORTS]; PORTS];
        self.cached_away.clear();
        self.direct_away = [NONE; PORTS];
        self.matched.clear();
        self.issued = [0; PORTS];
        (self.paid, self.written, self.waiting) = (0, false, false);
    }
}

impl Leaf {
    /// Sees what a port could send, and has the payload interface write a missing cell to the cache.
    pub(crate) fn survey(&mut self, place: usize, plan: &mut Plan) {
        plan.waiting = true;
        plan.missing.clear();
        if let Some(header) = self.ports[place].resend.front() {
            let voq = self.headers[*header].voq;
            self.plan_direct(place, voq, plan);
            plan.paid |= 1 << place;
        }
        let count = self.ports[place].sendable.len();
        let turn = self.ports[place].turn as usize;
        self.ports[place].turn = (turn + 1) as u32;
        let mut first_missing = usize::MAX;
        let mut first_direct = usize::MAX;
        for step in 0..count {
            let voq = self.ports[place].sendable[(turn + step) % count];
            let header = &self.headers[self.voqs[voq as usize].list.first];
            if self.frames[header.frame].ready > self.now {
                continue;
            }
            let at = header.frame as usize * self.stride + header.sent as usize;
            let row = self.rows[at];
            if row.line != NONE {
                self.plan_cached(place, voq, plan);
            } else if row.left > 1 && self.cache.is_on() {
                plan.missing.push((voq, at as u32));
                first_missing = first_missing.min(step);
            } else if plan.paid >> place & 1 == 0 {
                self.plan_direct(place, voq, plan);
                first_direct = first_direct.min(step);
            }
        }
        // One payload a slot and port; one port a slot writes to the cache.
        if plan.paid >> place & 1 == 0 && first_missing < first_direct && !plan.written {
            self.write_cell(place, plan);
        }
    }

    fn write_cell(&mut self, place: usize, plan: &mut Plan) {
        let row = plan.missing[0].1;
        let (line, gone) = self.cache.write(row);
        if let Some(gone) = gone {
            self.rows[gone as usize].line = NONE;
            self.measures.totals.evicted += 1;
            self.load.evicted += 1;
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
        let to = place_of(own.to);
        if plan.cached[place][to] == NONE {
            plan.cached[place][to] = voq;
            plan.wants[to] |= 1 << (2 * PORTS + place);
        }
    }

    fn plan_direct(&self, place: usize, voq: u32, plan: &mut Plan) {
        let own = &self.voqs[voq as usize];
        let to = place_of(own.to);
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
}
