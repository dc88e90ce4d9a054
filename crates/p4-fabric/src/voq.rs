//! VOQs between grant and crossbar: who may send, and who waits for siblings.

use crate::arbiter::bits;
use crate::leaf::{Event, Leaf};
use crate::slab::NONE;
use crate::state::place_of;

impl Leaf {
    /// Credits have come.
    pub(crate) fn granted(&mut self, voq: u32, units: u32) {
        let own = &mut self.voqs[voq as usize];
        own.credits += units;
        own.asked -= units;
        if own.spare > 0 {
            self.give_back(voq);
        }
        self.set_sendable(voq);
    }

    /// Buffer units of a VOQ's first copy; none if there is no copy.
    pub(crate) fn first_units(&self, voq: u32) -> Option<u32> {
        let first = self.voqs[voq as usize].list.first;
        (first != NONE).then(|| self.frames[self.headers[first].frame].units)
    }

    /// Puts a VOQ on its port's list of those that may send, or takes it off. A suspended VOQ ends the
    /// frame that it has begun.
    pub(crate) fn set_sendable(&mut self, voq: u32) {
        let own = &self.voqs[voq as usize];
        let fits = self
            .first_units(voq)
            .is_some_and(|units| units <= own.credits);
        let may = fits && (!own.suspended || self.headers[own.list.first].sent > 0);
        let (port, place) = (place_of(own.from), own.place);
        let list = &mut self.ports[port].sendable;
        if may && place == NONE {
            self.voqs[voq as usize].place = list.len() as u32;
            list.push(voq);
            self.wake();
        } else if !may && place != NONE {
            list.swap_remove(place as usize);
            if let Some(moved) = list.get(place as usize) {
                self.voqs[*moved as usize].place = place;
            }
            self.voqs[voq as usize].place = NONE;
        }
    }

    /// The last cell of a VOQ's first copy has crossed.
    pub(crate) fn whole_copy_sent(&mut self, voq: u32) {
        let own = &mut self.voqs[voq as usize];
        let Some(header) = own.list.take(&mut self.headers) else {
            return;
        };
        let units = self.frames[self.headers[header].frame].units;
        own.credits -= units;
        own.covered -= 1;
        own.covered_units -= units;
        own.queued -= 1;
        own.backlog -= units;
        self.ask(voq);
        self.set_sendable(voq);
    }

    /// A copy begins to be sent: section 3.1's bookkeeping of who is ahead.
    pub(crate) fn begun(&mut self, header: u32) {
        let own = &self.headers[header];
        let (frame, voq, place) = (own.frame, own.voq, own.place);
        self.frames[frame].unsent -= 1;
        if self.frames[frame].unsent == 0 {
            self.all_begun(frame);
        } else if self.parameters.sync {
            self.advance(voq, self.frames[frame].units);
        }
        self.frames[frame].begun |= 1 << place;
    }

    /// A copy was dropped, which counts as sent: those that have sent the frame need not wait for it.
    pub(crate) fn dropped(&mut self, header: u32) {
        let frame = self.headers[header].frame;
        self.frames[frame].unsent -= 1;
        if self.frames[frame].unsent == 0 {
            self.all_begun(frame);
        }
    }

    /// The last copy of a frame was begun: all others that have sent it are ahead by less.
    fn all_begun(&mut self, frame: u32) {
        if !self.parameters.sync {
            return;
        }
        let own = &self.frames[frame];
        let (node, cells, begun) = (own.node as usize, own.units, own.begun);
        for place in bits(begun.into()) {
            self.caught_up(self.nodes[node].voqs[usize::from(place)], cells);
        }
    }

    fn advance(&mut self, voq: u32, cells: u32) {
        let port = place_of(self.voqs[voq as usize].from);
        let found = self.ports[port].cam.advance(voq, cells);
        if let Some(other) = found.evicted {
            self.measures.totals.entries_evicted += 1;
            self.resume(other);
        }
        let own = &mut self.voqs[voq as usize];
        let decided = self.policies.suspends(own.suspended, found.cells);
        if decided.unwrap_or(u64::from(found.cells) > self.parameters.block) {
            own.suspended = true;
            own.epoch += 1;
            let epoch = own.epoch;
            self.measures.totals.suspended += 1;
            if self.parameters.sync_timeout > 0 {
                self.after(self.parameters.sync_timeout, Event::Timeout { voq, epoch });
            }
        }
    }

    /// A frame that a VOQ has sent was now sent by all.
    fn caught_up(&mut self, voq: u32, cells: u32) {
        let port = place_of(self.voqs[voq as usize].from);
        let left = self.ports[port].cam.caught_up(voq, cells);
        let Some(left) = left else {
            return;
        };
        let decided = self.policies.suspends(true, left);
        if !decided.unwrap_or(u64::from(left) > self.parameters.resume) {
            self.resume(voq);
        }
    }

    fn resume(&mut self, voq: u32) {
        if std::mem::take(&mut self.voqs[voq as usize].suspended) {
            self.set_sendable(voq);
            self.ask(voq);
        }
    }

    pub(crate) fn timeout(&mut self, voq: u32, epoch: u32) {
        let own = &self.voqs[voq as usize];
        if own.suspended && own.epoch == epoch {
            self.measures.totals.timeouts += 1;
            self.resume(voq);
        }
    }

    /// A copy was not acknowledged in time: its port sends it again, with the credits that it has.
    pub(crate) fn retransmit(&mut self, header: u32) {
        self.headers[header].sent = 0;
        let port = place_of(self.voqs[self.headers[header].voq as usize].from);
        self.ports[port].resend.push_back(header);
        self.measures.totals.retransmitted += 1;
        self.wake();
    }
}
