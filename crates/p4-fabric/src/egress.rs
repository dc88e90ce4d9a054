//! The far end: credits by request and grant, reassembly in order, lines and loops.

use crate::arbiter::Drr;
use crate::fabric::{Event, Fabric};
use crate::parameters::CongestionPoints;
use crate::scenario::{is_surrogate, PortId, PORTS};
use crate::slab::NONE;
use crate::state::VLS;

impl Fabric {
    /// A request has come to the arbiter of its port.
    pub(crate) fn requested(&mut self, voq: u32) {
        let own = &mut self.voqs[voq as usize];
        if own.void > 0 {
            own.void -= 1;
            return;
        }
        own.waiting += 1;
        let (port, vl) = (own.to, own.vl);
        if !own.in_ring {
            own.in_ring = true;
            let arbiter = &mut self.ports[port as usize].egress[usize::from(vl)].arbiter;
            arbiter.add(voq);
        }
        self.grant_all(port, vl);
    }

    /// Grants frames in the order of the round robin while the buffer has room for the next one.
    pub(crate) fn grant_all(&mut self, port: PortId, vl: u8) {
        let place = (port as usize, usize::from(vl));
        if self.ports[place.0].egress[place.1].arbiter.is_empty() {
            return;
        }
        // Out of its place while the frames are looked at
        let mut arbiter = std::mem::take(&mut self.ports[place.0].egress[place.1].arbiter);
        let mut deficits = std::mem::take(&mut self.deficits);
        while let Some(voq) = self.next_grant(&mut arbiter, &mut deficits) {
            let header = self.voqs[voq as usize].first_open;
            let frame = &self.frames[self.headers[header].frame];
            let (units, bytes) = (frame.units, frame.bytes);
            let egress = &mut self.ports[place.0].egress[place.1];
            if egress.free < units {
                break; // it waits for its turn, and the others with it
            }
            egress.free -= units;
            self.headers[header].granted = true;
            let own = &mut self.voqs[voq as usize];
            own.first_open = self.headers[header].next;
            own.last_granted = header;
            own.waiting -= 1;
            own.in_ring = own.waiting > 0;
            arbiter.took(bytes, own.in_ring, &mut deficits);
            self.measures.totals.grants += 1;
            self.after(self.message(voq), Event::Grant { voq });
        }
        self.deficits = deficits;
        self.ports[place.0].egress[place.1].arbiter = arbiter;
    }

    /// The VOQ whose turn it is; those whose copies were dropped meanwhile leave the ring.
    fn next_grant(&mut self, arbiter: &mut Drr, deficits: &mut [u64]) -> Option<u32> {
        loop {
            let first = arbiter.first()?;
            if self.voqs[first as usize].waiting == 0 {
                self.voqs[first as usize].in_ring = false;
                arbiter.skip(deficits);
                continue;
            }
            let size = |voq: u32| {
                let own = &self.voqs[voq as usize];
                match own.waiting {
                    0 => 0,
                    _ => self.frames[self.headers[own.first_open].frame].bytes,
                }
            };
            let voq = arbiter.next(self.parameters.quantum, size, deficits)?;
            if self.voqs[voq as usize].waiting > 0 {
                return Some(voq);
            }
        }
    }

    /// A cell of a copy comes out of the crossbar at `time`, the end of a slot.
    pub(crate) fn cell_out(&mut self, header: u32, time: u64) {
        self.moved = self.now;
        let own = &mut self.headers[header];
        own.arrived += 1;
        let frame = &self.frames[own.frame];
        if own.arrived < frame.units {
            return;
        }
        let voq = own.voq;
        if self.rng.chance(self.parameters.frame_loss) {
            // Its credits are kept: the copy is sent again without a new request.
            own.arrived = 0;
            let wait = self.parameters.retransmit;
            return self.after(wait, Event::Retransmit { header });
        }
        own.done = true;
        let back = time - self.now + self.message(voq);
        self.after(back, Event::Acknowledge { header });
        self.in_order(voq, time);
    }

    /// Passes on what is whole and next in its VOQ's order.
    fn in_order(&mut self, voq: u32, time: u64) {
        let (port, vl) = (self.voqs[voq as usize].to, self.voqs[voq as usize].vl);
        loop {
            let first = self.voqs[voq as usize].flight.first;
            if first == NONE || !self.headers[first].done {
                break;
            }
            self.voqs[voq as usize].flight.take(&mut self.headers);
            let egress = &mut self.ports[port as usize].egress[usize::from(vl)];
            egress.queue.append(first, &mut self.headers);
            let frame = &self.frames[self.headers[first].frame];
            egress.bytes += frame.bytes;
            if self.parameters.qcn == CongestionPoints::Outputs && !is_surrogate(port) {
                let (bytes, flow) = (frame.bytes, frame.flow);
                let sample = self.parameters.qcn_sample;
                let queue = egress.bytes;
                if let Some(feedback) = egress.point.arrival(bytes, queue, sample, &mut self.rng) {
                    self.after(self.parameters.cnm, Event::Notify { flow, feedback });
                }
            }
        }
        self.start_line(port, time);
    }

    /// Sends the next frame to the server, or back into the surrogate, from `time` on.
    pub(crate) fn start_line(&mut self, port: PortId, time: u64) {
        let own = &self.ports[port as usize];
        if own.line != NONE {
            return;
        }
        let ready = |vl: u8| {
            let egress = &own.egress[usize::from(vl)];
            !egress.queue.is_empty() && !egress.stopped
        };
        let all = VLS as u8;
        let Some(vl) = (0..all)
            .map(|step| (own.line_turn + step) % all)
            .find(|vl| ready(*vl))
        else {
            return;
        };
        let own = &mut self.ports[port as usize];
        own.line_turn = (vl + 1) % all;
        let egress = &mut own.egress[usize::from(vl)];
        let Some(header) = egress.queue.take(&mut self.headers) else {
            return;
        };
        own.line = header;
        let frame = &self.frames[self.headers[header].frame];
        let (flow, number, born) = (frame.flow, frame.number, frame.born);
        let wait = time - self.now + self.parameters.on_line(frame.bytes);
        self.after(wait, Event::LineFree { port });
        if is_surrogate(port) {
            self.measures.totals.looped += 1;
            self.frame_in(self.headers[header].target, flow, number, born);
        }
    }

    /// The line has taken a whole frame: it is delivered, and its buffer is free.
    pub(crate) fn line_free(&mut self, port: PortId) {
        let header = std::mem::replace(&mut self.ports[port as usize].line, NONE);
        self.moved = self.now;
        let own = &self.headers[header];
        let vl = self.voqs[own.voq as usize].vl;
        let frame = &self.frames[own.frame];
        let (units, bytes) = (frame.units, frame.bytes);
        let load = &mut self.leaves[port as usize / PORTS].load;
        if is_surrogate(port) {
            load.looped += bytes;
        } else {
            load.delivered += bytes;
            let (target, number, born) = (own.target, frame.number, frame.born);
            self.measures.deliver(target, number, bytes, born, self.now);
        }
        self.headers[header].left = true;
        self.part(header);
        let egress = &mut self.ports[port as usize].egress[usize::from(vl)];
        egress.free += units;
        egress.bytes -= bytes;
        self.grant_all(port, vl);
        self.start_line(port, self.now);
    }
}
