//! A frame comes to a port that makes copies of it: buffers, headers, drops, requests.

use crate::leaf::{Event, Leaf, Note};
use crate::parameters::{CongestionPoints, HeaderOrder, Marking, VoqDrop, VoqOrder};
use crate::scenario::{is_surrogate, PortId, MOST_COPIES};
use crate::slab::NONE;
use crate::state::{is_lossless, place_of, Frame, Header, Row};

impl Leaf {
    /// The first bit of a frame comes to a node's port. Requests need not wait for the last one: the
    /// paper's 0.143 us for 512 bytes within a leaf leave no time for that.
    pub(crate) fn frame_in(&mut self, node: u32, number: u64, born: u64) {
        self.measures.totals.frames_in += 1;
        let (flow, bytes, port, vl) = {
            let own = &self.nodes[node as usize];
            (own.flow, own.bytes, own.port, own.vl)
        };
        let units = self.parameters.units(bytes.into()) as u32;
        if !self.has_payload(port, vl, units) {
            return;
        }
        let frame = self.frames.insert(Frame {
            flow,
            node,
            number,
            born,
            ready: self.now + self.parameters.on_line(bytes.into()),
            bytes,
            units,
            vl,
            port,
            begun: 0,
            made: 0,
            unsent: 0,
            unacked: 0,
        });
        self.hold(port, vl, flow, units as i32);
        self.make_headers(frame);
        if self.frames[frame].unacked == 0 {
            self.hold(port, vl, flow, -(units as i32));
            self.frames.remove(frame);
        } else {
            self.fill_rows(frame);
        }
        self.sample_input(port, vl, flow, bytes.into());
    }

    fn has_payload(&mut self, port: PortId, vl: u8, units: u32) -> bool {
        let own = &self.ports[place_of(port)];
        let totals = &mut self.measures.totals;
        if !is_lossless(vl) {
            let fits = u64::from(own.lossy + units) <= self.parameters.lossy_payload;
            totals.no_payload += u64::from(!fits);
            return fits;
        }
        let pool = own.pools[usize::from(vl)].payload + units;
        let fits = u64::from(pool) <= self.parameters.lossless_payload;
        totals.overrun += u64::from(!fits);
        fits
    }

    /// Takes buffer units of a port, or gives them back, and says STOP or GO.
    pub(crate) fn hold(&mut self, port: PortId, vl: u8, flow: u32, units: i32) {
        let own = &mut self.ports[place_of(port)];
        let pool = &mut own.pools[usize::from(vl)];
        pool.payload = pool.payload.wrapping_add_signed(units);
        let payload = pool.payload;
        if self.parameters.qcn == CongestionPoints::Inputs {
            match own.held.iter_mut().find(|one| one.0 == flow) {
                Some(one) => one.1 = one.1.wrapping_add_signed(units),
                None => own.held.push((flow, units as u32)),
            }
        }
        if !is_lossless(vl) {
            own.lossy = own.lossy.wrapping_add_signed(units);
            own.most_payload = own.most_payload.max(own.lossy);
            return;
        }
        own.most_payload = own.most_payload.max(payload);
        let stop = match own.pools[usize::from(vl)].stopping {
            false => u64::from(payload) >= self.parameters.stop,
            true => u64::from(payload) > self.parameters.go,
        };
        if stop != own.pools[usize::from(vl)].stopping {
            own.pools[usize::from(vl)].stopping = stop;
            self.say_stop(port, vl, stop);
        }
    }

    /// To the server, over its cable; at a surrogate, to its own egress side.
    fn say_stop(&mut self, port: PortId, vl: u8, stop: bool) {
        self.measures.totals.pauses += u64::from(stop);
        if is_surrogate(port) {
            self.ports[place_of(port)].egress[usize::from(vl)].stopped = stop;
            if !stop {
                self.start_line(place_of(port), self.now);
            }
            return;
        }
        let place = place_of(port) as u8;
        self.after(self.parameters.server_cable, Event::Pause { place, stop });
    }

    fn make_headers(&mut self, frame: u32) {
        let node = self.frames[frame].node as usize;
        let count = self.nodes[node].voqs.len();
        let mut order: [u8; MOST_COPIES] = std::array::from_fn(|place| place as u8);
        if self.parameters.header_order == HeaderOrder::Random {
            for last in (1..count).rev() {
                order.swap(last, self.rng.up_to(last as u64) as usize);
            }
        }
        for place in &order[..count] {
            let voq = self.nodes[node].voqs[usize::from(*place)];
            if self.may_have_header(frame, voq) {
                self.make_header(frame, *place, voq);
            }
        }
    }

    /// Whether a copy gets a header, by its pool and its VOQ.
    fn may_have_header(&mut self, frame: u32, voq: u32) -> bool {
        let (port, vl, backlog) = {
            let own = &self.voqs[voq as usize];
            (place_of(own.from), own.vl, u64::from(own.backlog))
        };
        if is_lossless(vl) {
            return true; // its payload was admitted, and there are at most eight to a payload
        }
        let used = u64::from(self.ports[port].pools[usize::from(vl)].headers);
        let full = used >= self.parameters.headers_high;
        if full
            || used >= self.parameters.headers_low
                && self.rng.chance(self.parameters.header_probability)
        {
            self.measures.totals.no_header += 1;
            return false;
        }
        let units = u64::from(self.frames[frame].units);
        let full = backlog + units > self.parameters.voq_most;
        let rule = match full {
            true => self.parameters.voq_drop,
            false => VoqDrop::Off,
        };
        match self.policies.drops(units, backlog).unwrap_or(rule) {
            VoqDrop::Tail => {
                self.measures.totals.tail_dropped += 1;
                false
            }
            VoqDrop::Head => self.drop_head(voq),
            VoqDrop::Off => true,
        }
    }

    fn make_header(&mut self, frame: u32, place: u8, voq: u32) {
        let header = self.headers.insert(Header {
            frame,
            voq,
            next: NONE,
            place,
            sent: 0,
            sequence: 0,
        });
        let own = &mut self.frames[frame];
        own.made += 1;
        own.unsent += 1;
        own.unacked += 1;
        let units = own.units;
        let queue = &mut self.voqs[voq as usize];
        match self.parameters.voq_order {
            VoqOrder::Newest if queue.next_ask != NONE => {
                let before = queue.next_ask;
                queue.list.put_before(header, before, &mut self.headers);
                queue.next_ask = header;
            }
            _ => queue.list.append(header, &mut self.headers),
        }
        if queue.next_ask == NONE {
            queue.next_ask = header;
        }
        queue.queued += 1;
        queue.backlog += units;
        self.ports[place_of(queue.from)].pools[usize::from(queue.vl)].headers += 1;
        self.measures.totals.headers += 1;
        self.ask(voq);
    }

    /// Every cell of the payload is to be sent once for each copy.
    fn fill_rows(&mut self, frame: u32) {
        let wanted = self.frames.size() * self.stride;
        let blank = Row {
            line: NONE,
            left: 0,
        };
        if self.rows.len() < wanted {
            self.rows.resize(wanted, blank);
        }
        let own = &self.frames[frame];
        let first = frame as usize * self.stride;
        let left = own.unacked;
        self.rows[first..first + own.units as usize].fill(Row { left, ..blank });
    }

    /// A copy that will not be sent leaves its cells to the others.
    pub(crate) fn leave_rows(&mut self, header: u32) {
        let frame = self.headers[header].frame;
        let first = frame as usize * self.stride;
        for at in first..first + self.frames[frame].units as usize {
            let row = &mut self.rows[at];
            row.left -= 1;
            if row.left == 0 && row.line != NONE {
                self.cache.release(row.line);
                row.line = NONE;
            }
        }
    }

    /// The acknowledgement of a copy has come.
    pub(crate) fn acknowledged(&mut self, header: u32) {
        self.measures.totals.acknowledged += 1;
        self.release(header);
    }

    /// Gives a header back, and the payload if it was the last one.
    pub(crate) fn release(&mut self, header: u32) {
        let (number, voq) = (self.headers[header].frame, self.headers[header].voq);
        self.headers.remove(header);
        let own = &self.voqs[voq as usize];
        self.ports[place_of(own.from)].pools[usize::from(own.vl)].headers -= 1;
        let frame = &mut self.frames[number];
        frame.unacked -= 1;
        if frame.unacked == 0 {
            let (port, vl, flow, units) = (frame.port, frame.vl, frame.flow, frame.units);
            self.frames.remove(number);
            self.hold(port, vl, flow, -(units as i32));
        }
    }

    /// QCN's congestion point at an input: at most one notification a frame, however many copies.
    fn sample_input(&mut self, port: PortId, vl: u8, flow: u32, bytes: u64) {
        if self.parameters.qcn != CongestionPoints::Inputs || is_surrogate(port) {
            return;
        }
        let own = &mut self.ports[place_of(port)];
        let pool = &mut own.pools[usize::from(vl)];
        let queue = u64::from(pool.payload) * self.parameters.cell;
        let sample = self.parameters.qcn_sample;
        let Some(feedback) = pool.point.arrival(bytes, queue, sample, &mut self.rng) else {
            return;
        };
        let rng = &mut self.rng;
        let decided = self
            .policies
            .notifies(&own.held, flow, |most| rng.up_to(most));
        if decided == Some(None) {
            return;
        }
        let flow = match self.parameters.marking {
            _ if decided.is_some() => decided.flatten().unwrap_or(flow),
            Marking::Standard => flow,
            Marking::Random => {
                let all: u64 = own.held.iter().map(|one| u64::from(one.1)).sum();
                let mut unit = self.rng.up_to(all.saturating_sub(1));
                let owner = own.held.iter().find(|one| {
                    let here = unit < u64::from(one.1);
                    unit = unit.saturating_sub(u64::from(one.1));
                    here
                });
                owner.map_or(flow, |one| one.0)
            }
            Marking::Largest => {
                let most = own.held.iter().max_by_key(|one| one.1);
                most.map_or(flow, |one| one.0)
            }
        };
        // Only flows of the port's own server are held here. It is at the other end of the cable.
        let source = self.sources.iter().position(|one| one.number == flow);
        if let Some(source) = source {
            let note = Note::Notify {
                source: source as u32,
                feedback,
            };
            self.after(self.parameters.server_cable, Event::Told(note));
        }
    }
}
