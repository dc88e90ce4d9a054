//! What a VOQ asks of the far end, and what happens to requests and credits when a copy is dropped.

use crate::fabric::{Event, Fabric};
use crate::slab::NONE;

impl Fabric {
    /// Requests for as many of a VOQ's copies as may be asked for at a time; none while it waits for
    /// its siblings, since credits that are not used are kept from others.
    pub(crate) fn ask(&mut self, voq: u32) {
        let most = self.parameters.window as u32;
        let length = self.message(voq);
        loop {
            let own = &mut self.voqs[voq as usize];
            let next = own.next_ask;
            if next == NONE || own.suspended {
                return;
            }
            let units = self.frames[self.headers[next].frame].units;
            if own.asked > 0 && own.asked_units + units > most {
                return;
            }
            own.asked += 1;
            own.asked_units += units;
            own.next_ask = self.headers[next].next;
            self.measures.totals.requests += 1;
            self.after(length, Event::Request { voq });
        }
    }

    /// Drops the next copy that a VOQ would begin, for a new one; it counts as sent. False if there is
    /// none, or no other copy that could use its credits: the new one is dropped then.
    pub(crate) fn drop_head(&mut self, voq: u32) -> bool {
        let queue = &self.voqs[voq as usize];
        let first = queue.list.first;
        let before = match first != NONE && self.headers[first].sent > 0 {
            true => first,
            false => NONE,
        };
        let header = match before {
            NONE => first,
            _ => self.headers[before].next,
        };
        if header == NONE || self.headers[header].granted && !self.has_heir(header) {
            self.measures.totals.tail_dropped += 1;
            return false;
        }
        let units = self.frames[self.headers[header].frame].units;
        match self.headers[header].granted {
            true => self.pass_credits_on(voq),
            false => self.pass_request_on(voq, header),
        }
        let queue = &mut self.voqs[voq as usize];
        if queue.first_open == header {
            queue.first_open = self.headers[header].next;
        }
        queue.list.take_after(before, &mut self.headers);
        queue.queued -= 1;
        queue.backlog -= units;
        self.measures.totals.head_dropped += 1;
        self.frames[self.headers[header].frame].made -= 1;
        self.leave_rows(header);
        self.dropped(header);
        self.release(header);
        self.forget(header);
        true
    }

    /// Whether the first copy without credits needs as many as this one has.
    fn has_heir(&self, header: u32) -> bool {
        let own = &self.headers[header];
        let heir = self.voqs[own.voq as usize].first_open;
        let units = |header: u32| self.frames[self.headers[header].frame].units;
        heir != NONE && units(heir) == units(header)
    }

    /// The credits of a granted copy go to the first one that has none, whose own request is for
    /// the next one.
    fn pass_credits_on(&mut self, voq: u32) {
        let queue = &mut self.voqs[voq as usize];
        let heir = queue.first_open;
        queue.first_open = self.headers[heir].next;
        queue.last_granted = heir;
        self.headers[heir].granted = true;
        self.pass_request_on(voq, heir);
    }

    /// A copy needs no request any more: the one that it made, if any, is for the first copy that has
    /// made none, or void.
    fn pass_request_on(&mut self, voq: u32, header: u32) {
        let queue = &mut self.voqs[voq as usize];
        if queue.next_ask == NONE {
            queue.asked -= 1;
            queue.asked_units -= self.frames[self.headers[header].frame].units;
            match queue.waiting {
                0 => queue.void += 1,
                _ => queue.waiting -= 1,
            }
            return;
        }
        let next = queue.next_ask;
        queue.next_ask = self.headers[next].next;
        let lost = self.frames[self.headers[header].frame].units;
        queue.asked_units += self.frames[self.headers[next].frame].units;
        queue.asked_units -= lost;
    }
}
