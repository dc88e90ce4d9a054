//! The far end: credits by request and grant, reassembly in order, lines and loops.

use crate::leaf::{Event, Leaf, Note};
use crate::parameters::CongestionPoints;
use crate::scenario::is_surrogate;
use crate::state::{place_of, Announced, Cell, VLS};

impl Leaf {
    /// A request has come to the arbiter of its port.
    pub(crate) fn requested(&mut self, end: u32, units: u32, bytes: u32) {
        let own = &mut self.ends[end as usize];
        own.requests.push_back((units, bytes));
        let (place, vl) = (place_of(own.to), own.vl);
        if !own.in_ring {
            own.in_ring = true;
            self.ports[place].egress[usize::from(vl)].arbiter.add(end);
        }
        self.grant_all(place, vl);
    }

    /// Credits have come back that a VOQ did not need.
    pub(crate) fn returned(&mut self, end: u32, units: u32) {
        let own = &self.ends[end as usize];
        let (place, vl) = (place_of(own.to), own.vl);
        self.ports[place].egress[usize::from(vl)].free += units;
        self.grant_all(place, vl);
    }

    /// Grants what was asked for in the order of the round robin while the buffer has room for the next
    /// one.
    fn grant_all(&mut self, place: usize, vl: u8) {
        let egress = &mut self.ports[place].egress[usize::from(vl)];
        if egress.arbiter.is_empty() {
            return;
        }
        // Out of its place while the requests are looked at
        let mut arbiter = std::mem::take(&mut egress.arbiter);
        loop {
            let size = |end: u32| {
                let first = self.ends[end as usize].requests.front();
                first.map_or(0, |first| u64::from(first.1))
            };
            let quantum = self.parameters.quantum;
            let Some(end) = arbiter.next(quantum, size, &mut self.deficits) else {
                break;
            };
            let own = &mut self.ends[end as usize];
            let Some(&(units, bytes)) = own.requests.front() else {
                break; // not in a ring that has only those with requests
            };
            let egress = &mut self.ports[place].egress[usize::from(vl)];
            if egress.free < units {
                break; // it waits for its turn, and the others with it
            }
            egress.free -= units;
            own.requests.pop_front();
            own.in_ring = !own.requests.is_empty();
            arbiter.took(bytes.into(), own.in_ring, &mut self.deficits);
            self.measures.totals.grants += 1;
            let (leaf, voq, remote) = (own.leaf, own.voq, own.remote);
            self.tell(leaf, self.message(remote), Note::Grant { voq, units });
        }
        self.ports[place].egress[usize::from(vl)].arbiter = arbiter;
    }

    /// A copy will come, after those of its VOQ that were announced before.
    pub(crate) fn announced(&mut self, announced: Announced) {
        let end = &mut self.ends[announced.end as usize];
        debug_assert_eq!(
            announced.sequence.wrapping_sub(end.first) as usize,
            end.coming.len()
        );
        end.coming.push_back(announced.arrival);
    }

    /// A cell comes out of the crossbar at `time`, the end of a slot.
    pub(crate) fn cell_out(&mut self, cell: &Cell, time: u64) {
        self.moved = self.now;
        let end = &mut self.ends[cell.end as usize];
        let (leaf, remote) = (end.leaf, end.remote);
        let Some(own) = end.copy(cell.sequence) else {
            return; // not before it was announced
        };
        own.arrived += 1;
        if own.arrived < own.units {
            return;
        }
        let header = own.header;
        if self.rng.chance(self.parameters.frame_loss) {
            // Its credits are kept: the copy is sent again without a new request.
            own.arrived = 0;
            let wait = self.parameters.retransmit;
            return self.tell(leaf, wait, Note::Retransmit { header });
        }
        own.done = true;
        let back = time - self.now + self.message(remote);
        self.tell(leaf, back, Note::Acknowledge { header });
        self.in_order(cell.end, time);
    }

    /// Passes on what is whole and next in its VOQ's order.
    fn in_order(&mut self, end: u32, time: u64) {
        let (port, vl) = (self.ends[end as usize].to, self.ends[end as usize].vl);
        while let Some(arrival) = self.ends[end as usize].next_whole() {
            let egress = &mut self.ports[place_of(port)].egress[usize::from(vl)];
            egress.queue.push_back(arrival);
            egress.bytes += u64::from(arrival.bytes);
            if self.parameters.qcn == CongestionPoints::Outputs && !is_surrogate(port) {
                let (sample, queue) = (self.parameters.qcn_sample, egress.bytes);
                let rng = &mut self.rng;
                let point = &mut egress.point;
                if let Some(feedback) = point.arrival(arrival.bytes.into(), queue, sample, rng) {
                    self.notify(arrival.target, feedback);
                }
            }
        }
        self.start_line(place_of(port), time);
    }

    /// The sender of a receiver's flow is to send less.
    fn notify(&mut self, sink: u32, feedback: u8) {
        let (leaf, source) = self.measures.sinks[sink as usize].sender;
        self.tell(leaf, self.parameters.cnm, Note::Notify { source, feedback });
    }

    /// Sends the next frame to the server, or back into the surrogate, from `time` on.
    pub(crate) fn start_line(&mut self, place: usize, time: u64) {
        let own = &mut self.ports[place];
        if own.line.is_some() {
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
        own.line_turn = (vl + 1) % all;
        let Some(arrival) = own.egress[usize::from(vl)].queue.pop_front() else {
            return;
        };
        own.line = Some((arrival, vl));
        let wait = time - self.now + self.parameters.on_line(arrival.bytes.into());
        self.after(wait, Event::LineFree { place: place as u8 });
        if is_surrogate(place as u32) {
            self.measures.totals.looped += 1;
            self.frame_in(arrival.target, arrival.number, arrival.born);
        }
    }

    /// The line has taken a whole frame: it is delivered, and its buffer is free.
    pub(crate) fn line_free(&mut self, place: usize) {
        let Some((arrival, vl)) = self.ports[place].line.take() else {
            return; // not without a frame on the line
        };
        self.moved = self.now;
        let bytes = u64::from(arrival.bytes);
        if is_surrogate(place as u32) {
            self.load.looped += bytes;
        } else {
            self.load.delivered += bytes;
            let (number, born) = (arrival.number, arrival.born);
            self.measures
                .deliver(arrival.target, number, bytes, born, self.now);
        }
        let egress = &mut self.ports[place].egress[usize::from(vl)];
        egress.free += arrival.units;
        egress.bytes -= bytes;
        self.grant_all(place, vl);
        self.start_line(place, self.now);
    }
}
