//! Conservation: what came in is delivered, dropped or still there, and no credit is lost.

use crate::fabric::Fabric;
use crate::scenario::{is_surrogate, PORTS};
use crate::slab::NONE;
use crate::state::{Header, LANES, VLS};

/// Something that does not add up: always a mistake of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imbalance {
    pub what: String,
    pub counted: u64,
    pub expected: u64,
}

impl Fabric {
    /// Counts everything that there is, and compares it with the books.
    pub fn audit(&self) -> Result<(), Imbalance> {
        self.audit_headers()?;
        self.audit_buffers()?;
        self.audit_cells()
    }

    fn audit_headers(&self) -> Result<(), Imbalance> {
        let totals = &self.measures.totals;
        let count = |test: fn(&Header) -> bool| {
            self.headers
                .iter()
                .filter(|(_, header)| test(header))
                .count() as u64
        };
        same(
            "headers made = acknowledged + dropped + held",
            totals.acknowledged + totals.head_dropped + count(|header| !header.acknowledged),
            totals.headers,
        )?;
        let lines = self.ports.iter().enumerate();
        let looping = lines.filter(|(port, own)| is_surrogate(*port as u32) && own.line != NONE);
        let left = totals.delivered + totals.looped - looping.count() as u64;
        same(
            "headers made = delivered + looped + dropped + not there yet",
            left + totals.head_dropped + count(|header| !header.left),
            totals.headers,
        )?;
        same(
            "frames that came = emitted + looped",
            totals.emitted + totals.looped,
            totals.frames_in,
        )
    }

    fn audit_buffers(&self) -> Result<(), Imbalance> {
        let none = vec![[0u32; VLS]; self.ports.len()];
        let (mut payload, mut headers, mut egress) = (none.clone(), none.clone(), none);
        for (_, frame) in self.frames.iter().filter(|(_, frame)| frame.unacked > 0) {
            payload[frame.port as usize][usize::from(frame.vl)] += frame.units;
        }
        for (_, header) in self.headers.iter() {
            let voq = &self.voqs[header.voq as usize];
            let units = self.frames[header.frame].units;
            headers[voq.from as usize][usize::from(voq.vl)] += u32::from(!header.acknowledged);
            if header.granted && !header.left {
                egress[voq.to as usize][usize::from(voq.vl)] += units;
            }
        }
        for (port, own) in self.ports.iter().enumerate() {
            for vl in 0..VLS {
                let pool = &own.pools[vl];
                let name = |what: &str| format!("{what} of port {port}, lane {vl}");
                same(
                    &name("payload"),
                    payload[port][vl].into(),
                    pool.payload.into(),
                )?;
                same(
                    &name("headers"),
                    headers[port][vl].into(),
                    pool.headers.into(),
                )?;
                let there = own.egress[vl].free + egress[port][vl];
                same(
                    &name("credits"),
                    there.into(),
                    self.parameters.egress_buffer,
                )?;
            }
            let lossy: u32 = own.pools[..LANES].iter().map(|pool| pool.payload).sum();
            same(
                &format!("lossy payload of port {port}"),
                lossy.into(),
                own.lossy.into(),
            )?;
        }
        Ok(())
    }

    fn audit_cells(&self) -> Result<(), Imbalance> {
        let totals = &self.measures.totals;
        let live = self.cells.live() as u64;
        same(
            "cells sent up = come down + on the way",
            totals.cells_down + live,
            totals.cells_up,
        )?;
        let leaves = self.leaves.len();
        let mut up = vec![0u64; leaves * self.spines.len()];
        let mut down = up.clone();
        for (_, cell) in self.cells.iter() {
            let link = usize::from(cell.link);
            match cell.down {
                false => up[link * leaves + usize::from(cell.from)] += 1,
                true => down[link * leaves + usize::from(cell.to)] += 1,
            }
        }
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
        let held = self.ports.iter().enumerate().filter(|(_, own)| {
            own.pools.iter().any(|pool| pool.payload > 0)
                || own.egress.iter().any(|egress| !egress.queue.is_empty())
        });
        held.map(|(port, _)| (port / PORTS, port % PORTS)).collect()
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
