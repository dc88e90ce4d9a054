//! Conservation: what came in is delivered, dropped or still there, and no credit is lost.

use std::collections::HashSet;

use crate::fabric::Fabric;
use crate::leaf::{Event, Leaf, Mail, Note};
use crate::scenario::{is_surrogate, PORTS};
use crate::state::{place_of, Arrival, Cell, LANES, VLS};

/// Something that does not add up: always a mistake of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imbalance {
    pub what: String,
    pub counted: u64,
    pub expected: u64,
}

/// Buffer units that are not where the books are kept, and what is on its way.
struct Elsewhere {
    /// Of the egress buffers, by port and lane: granted and not free again
    taken: Vec<[u32; VLS]>,
    /// Asked for, by leaf and VOQ
    asked: Vec<Vec<u32>>,
    /// Copies whose acknowledgement is on its way: leaf and header
    acknowledged: HashSet<(usize, u32)>,
    /// Whole copies at far ends
    there: u64,
}

impl Fabric {
    /// Counts everything that there is, and compares it with the books.
    pub fn audit(&self) -> Result<(), Imbalance> {
        let elsewhere = self.elsewhere();
        self.audit_headers(&elsewhere)?;
        for leaf in &self.leaves {
            self.audit_buffers(leaf, &elsewhere)?;
        }
        self.audit_cells()
    }

    fn elsewhere(&self) -> Elsewhere {
        let leaves = self.leaves.iter();
        let mut found = Elsewhere {
            taken: vec![[0; VLS]; self.leaves.len() * PORTS],
            asked: leaves.map(|leaf| vec![0; leaf.voqs.len()]).collect(),
            acknowledged: HashSet::new(),
            there: 0,
        };
        for (leaf, note) in self.notes() {
            self.on_its_way(leaf, note, &mut found);
        }
        for leaf in &self.leaves {
            self.near(leaf, &mut found);
            far(leaf, &mut found);
        }
        found
    }

    /// All notes on their way, with the leaf that they are for.
    fn notes(&self) -> Vec<(usize, Note)> {
        let mut found = Vec::new();
        for (number, leaf) in self.leaves.iter().enumerate() {
            for (_, event) in leaf.queue.pending() {
                if let Event::Told(note) = event {
                    found.push((number, note));
                }
            }
        }
        for (to, _, mail) in self.mail() {
            if let Mail::Note(note) = mail {
                found.push((to, note));
            }
        }
        found
    }

    fn on_its_way(&self, leaf: usize, note: Note, found: &mut Elsewhere) {
        match note {
            Note::Request { end, units, .. } => {
                let own = &self.leaves[leaf].ends[end as usize];
                found.asked[usize::from(own.leaf)][own.voq as usize] += units;
            }
            Note::Grant { voq, units } => {
                let own = &self.leaves[leaf].voqs[voq as usize];
                found.asked[leaf][voq as usize] += units;
                found.taken[own.to as usize][usize::from(own.vl)] += units;
            }
            Note::Return { end, units } => {
                let own = &self.leaves[leaf].ends[end as usize];
                found.taken[own.to as usize][usize::from(own.vl)] += units;
            }
            Note::Acknowledge { header } => {
                found.acknowledged.insert((leaf, header));
            }
            Note::Retransmit { .. } | Note::Notify { .. } => {}
        }
    }

    /// Credits at the near ends of VOQs, and those of copies that were sent.
    fn near(&self, leaf: &Leaf, found: &mut Elsewhere) {
        let mut waiting = HashSet::new();
        for voq in &leaf.voqs {
            found.taken[voq.to as usize][usize::from(voq.vl)] += voq.credits;
            waiting.extend(voq.list.each(&leaf.headers));
        }
        let number = usize::from(leaf.number);
        for (header, own) in leaf.headers.iter() {
            if !waiting.contains(&header) && !found.acknowledged.contains(&(number, header)) {
                let voq = &leaf.voqs[own.voq as usize];
                let units = leaf.frames[own.frame].units;
                found.taken[voq.to as usize][usize::from(voq.vl)] += units;
            }
        }
    }

    fn audit_headers(&self, elsewhere: &Elsewhere) -> Result<(), Imbalance> {
        let totals = self.totals();
        let held = self.headers() as u64;
        same(
            "headers made = acknowledged + dropped + held",
            totals.acknowledged + totals.head_dropped + held,
            totals.headers,
        )?;
        let ports = self.leaves.iter().flat_map(|leaf| &leaf.ports).enumerate();
        let looping = ports.filter(|(port, own)| is_surrogate(*port as u32) && own.line.is_some());
        let left = totals.delivered + totals.looped - looping.count() as u64;
        let not_there = held - elsewhere.acknowledged.len() as u64;
        same(
            "headers made = delivered + looped + dropped + at the far end + not there yet",
            left + totals.head_dropped + elsewhere.there + not_there,
            totals.headers,
        )?;
        same(
            "frames that came = emitted + looped",
            totals.emitted + totals.looped,
            totals.frames_in,
        )
    }

    fn audit_buffers(&self, leaf: &Leaf, elsewhere: &Elsewhere) -> Result<(), Imbalance> {
        let mut payload = [[0u32; VLS]; PORTS];
        let mut headers = payload;
        for (_, frame) in leaf.frames.iter() {
            payload[place_of(frame.port)][usize::from(frame.vl)] += frame.units;
        }
        for (_, header) in leaf.headers.iter() {
            let voq = &leaf.voqs[header.voq as usize];
            headers[place_of(voq.from)][usize::from(voq.vl)] += 1;
        }
        let number = usize::from(leaf.number);
        for (place, own) in leaf.ports.iter().enumerate() {
            for vl in 0..VLS {
                let pool = &own.pools[vl];
                let name = |what: &str| format!("{what} of port {number}.{place}, lane {vl}");
                let (counted, booked) = (payload[place][vl], pool.payload);
                same(&name("payload"), counted.into(), booked.into())?;
                let (counted, booked) = (headers[place][vl], pool.headers);
                same(&name("headers"), counted.into(), booked.into())?;
                let there = own.egress[vl].free + elsewhere.taken[number * PORTS + place][vl];
                let all = self.parameters.egress_buffer;
                same(&name("credits"), there.into(), all)?;
            }
            let lossy: u32 = own.pools[..LANES].iter().map(|pool| pool.payload).sum();
            let name = format!("lossy payload of port {number}.{place}");
            same(&name, lossy.into(), own.lossy.into())?;
        }
        for (voq, asked) in leaf.voqs.iter().zip(&elsewhere.asked[number]) {
            let name = |what: &str| format!("{what} of VOQ {}", voq.number);
            same(&name("requests"), (*asked).into(), voq.asked.into())?;
            let (had, needed) = (voq.credits + voq.asked, voq.covered_units + voq.spare);
            same(&name("credits"), had.into(), needed.into())?;
        }
        Ok(())
    }

    fn audit_cells(&self) -> Result<(), Imbalance> {
        let totals = self.totals();
        let leaves = self.leaves.len();
        let mut up = vec![0u64; leaves * self.spines.len()];
        let mut down = up.clone();
        let at_spines = self.spines.iter().flat_map(|spine| spine.cells.iter());
        let at_leaves = self.leaves.iter().flat_map(|leaf| leaf.cells.iter());
        let mut live = 0;
        let mut count = |cell: &Cell, below: bool| {
            live += 1;
            let link = usize::from(cell.link) * leaves;
            match below {
                false => up[link + usize::from(cell.from)] += 1,
                true => down[link + usize::from(cell.to)] += 1,
            }
        };
        at_spines.for_each(|(_, cell)| count(cell, false));
        at_leaves.for_each(|(_, cell)| count(cell, true));
        for (to, _, mail) in self.mail() {
            if let Mail::Cell(cell) = mail {
                count(&cell, to < leaves);
            }
        }
        same(
            "cells sent up = come down + on the way",
            totals.cells_down + live,
            totals.cells_up,
        )?;
        for (number, spine) in self.spines.iter().enumerate() {
            for leaf in 0..leaves {
                let at = number * leaves + leaf;
                for (link, used) in [
                    (&self.leaves[leaf].up[number], up[at]),
                    (&spine.down[leaf], down[at]),
                ] {
                    let there = u64::from(link.credits) + link.returns.len() as u64 + used;
                    let name = format!("credits between leaf {leaf} and spine {number}");
                    same(&name, there, self.parameters.hop_credits)?;
                }
            }
        }
        Ok(())
    }

    /// Ports with something in their buffers, for whoever is told of a deadlock: leaf and place.
    pub fn stuck(&self) -> Vec<(usize, usize)> {
        let ports = self.leaves.iter().flat_map(|leaf| &leaf.ports).enumerate();
        let held = ports.filter(|(_, own)| {
            own.pools.iter().any(|pool| pool.payload > 0)
                || own.egress.iter().any(|egress| !egress.queue.is_empty())
        });
        held.map(|(port, _)| (port / PORTS, port % PORTS)).collect()
    }
}

/// Requests at arbiters, and whole copies at the far ends of VOQs.
fn far(leaf: &Leaf, found: &mut Elsewhere) {
    for end in &leaf.ends {
        let asked = &mut found.asked[usize::from(end.leaf)][end.voq as usize];
        *asked += end.requests.iter().map(|one| one.0).sum::<u32>();
        let whole = end.coming.iter().filter(|arrival| arrival.done);
        count(
            whole,
            &mut found.taken[end.to as usize][usize::from(end.vl)],
            &mut found.there,
        );
    }
    let first = usize::from(leaf.number) * PORTS;
    for (place, port) in leaf.ports.iter().enumerate() {
        for vl in 0..VLS {
            let line = port.line.iter().filter(|line| usize::from(line.1) == vl);
            let all = port.egress[vl].queue.iter().chain(line.map(|line| &line.0));
            count(all, &mut found.taken[first + place][vl], &mut found.there);
        }
    }
}

fn count<'a>(arrivals: impl Iterator<Item = &'a Arrival>, units: &mut u32, copies: &mut u64) {
    for arrival in arrivals {
        *units += arrival.units;
        *copies += 1;
    }
}

fn same(what: &str, counted: u64, expected: u64) -> Result<(), Imbalance> {
    match counted == expected {
        true => Ok(()),
        false => Err(Imbalance {
            what: what.to_string(),
            counted,
            expected,
        }),
    }
}
