//! What a VOQ asks of the far end, and what happens to requests and credits when a copy is dropped.

use crate::leaf::{Leaf, Note};
use crate::slab::NONE;
use crate::state::leaf_of;

impl Leaf {
    /// Requests for as many of a VOQ's copies as may be asked for at a time; none while it waits for
    /// its siblings, since credits that are not used are kept from others. Those that a dropped copy
    /// has left come first.
    pub(crate) fn ask(&mut self, voq: u32) {
        let most = self.parameters.window as u32;
        let inherits = self.voqs[voq as usize].spare > 0;
        loop {
            let own = &mut self.voqs[voq as usize];
            if own.next_ask == NONE {
                break;
            }
            let header = &self.headers[own.next_ask];
            let (units, bytes) = {
                let frame = &self.frames[header.frame];
                (frame.units, frame.bytes)
            };
            let needed = units.saturating_sub(own.spare);
            let full = own.covered > 0 && own.covered_units + units > most;
            if needed > 0 && (own.suspended || full) {
                break;
            }
            own.spare -= units - needed;
            own.covered += 1;
            own.covered_units += units;
            own.next_ask = header.next;
            if needed > 0 {
                own.asked += needed;
                self.request(voq, needed, bytes);
            }
        }
        if inherits {
            self.give_back(voq);
            self.set_sendable(voq);
        }
    }

    fn request(&mut self, voq: u32, units: u32, bytes: u32) {
        let own = &self.voqs[voq as usize];
        let (leaf, end) = (leaf_of(own.to) as u16, own.end);
        let wait = self.message(own.remote);
        self.measures.totals.requests += 1;
        let request = Note::Request { end, units, bytes };
        self.tell(leaf, wait, request);
    }

    /// Credits that no copy of a VOQ needs go back, once those that are needed are here.
    pub(crate) fn give_back(&mut self, voq: u32) {
        let own = &mut self.voqs[voq as usize];
        let units = own.spare.min(own.credits.saturating_sub(own.covered_units));
        if own.next_ask != NONE || units == 0 {
            return;
        }
        own.spare -= units;
        own.credits -= units;
        let (leaf, end, remote) = (leaf_of(own.to) as u16, own.end, own.remote);
        let wait = self.message(remote);
        self.measures.totals.returned += 1;
        self.tell(leaf, wait, Note::Return { end, units });
    }

    /// Drops the next copy that a VOQ would begin, for a new one; it counts as sent, and its credits
    /// are for the next copies. False if there is none: the new one is dropped then.
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
        if header == NONE {
            self.measures.totals.tail_dropped += 1;
            return false;
        }
        let units = self.frames[self.headers[header].frame].units;
        let queue = &mut self.voqs[voq as usize];
        if queue.next_ask == header {
            queue.next_ask = self.headers[header].next;
        } else {
            queue.covered -= 1;
            queue.covered_units -= units;
            queue.spare += units;
        }
        queue.list.take_after(before, &mut self.headers);
        queue.queued -= 1;
        queue.backlog -= units;
        self.measures.totals.head_dropped += 1;
        self.frames[self.headers[header].frame].made -= 1;
        self.leave_rows(header);
        self.dropped(header);
        self.release(header);
        true
    }
}
