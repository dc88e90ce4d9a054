//! Windows of time: how far all partitions can go on, and what they hand over to each other.

use p4_time::Time;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Letter, Outbox, Partition};

/// A partition with what it sends in this window; `mail` is empty between windows.
struct Seat<P: Partition> {
    partition: P,
    out: Outbox<P::Message>,
    mail: Vec<Letter<P::Message>>,
}

/// Letters that wait for their receivers, by receiver
type Boxes<M> = Vec<Mutex<Vec<Letter<M>>>>;

/// Partitions that go on window by window.
pub struct TimeWindows<P: Partition> {
    seats: Vec<Mutex<Seat<P>>>,
    /// What was sent in this window and in the one before, by turns
    boxes: [Boxes<P::Message>; 2],
    lookahead: u64,
    /// The number of the window
    number: AtomicUsize,
    /// Its last moment
    last: AtomicU64,
    /// The first moment after it, as far as partitions have said
    next: AtomicU64,
    events: AtomicU64,
}

/// A partition that panicked ends the run; the others are as good as before.
fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Partition> TimeWindows<P> {
    /// `lookahead` is above zero, and nothing that one partition sends to another takes less.
    pub fn new(partitions: impl Iterator<Item = P>, lookahead: Time) -> TimeWindows<P> {
        let seat = |partition| {
            Mutex::new(Seat {
                partition,
                out: Outbox::default(),
                mail: Vec::new(),
            })
        };
        let mut seats: Vec<_> = partitions.map(seat).collect();
        let mut next = Time::MAX;
        for seat in &mut seats {
            let seat = seat.get_mut().unwrap_or_else(PoisonError::into_inner);
            next = next.min(seat.partition.next_time().unwrap_or(Time::MAX));
        }
        let boxes = || seats.iter().map(|_| Mutex::default()).collect();
        TimeWindows {
            boxes: [boxes(), boxes()],
            lookahead: lookahead.picos().max(1),
            number: AtomicUsize::new(0),
            last: AtomicU64::new(0),
            next: AtomicU64::new(next.picos()),
            events: AtomicU64::new(0),
            seats,
        }
    }

    pub fn partitions(&self) -> usize {
        self.seats.len()
    }

    /// When something happens next, between two windows; [`Time::MAX`] if nothing does.
    pub fn next(&self) -> Time {
        Time::from_picos(self.next.load(Ordering::Acquire))
    }

    /// The last moment of the window.
    pub fn last(&self) -> Time {
        Time::from_picos(self.last.load(Ordering::Acquire))
    }

    /// Events that were carried out so far.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Acquire)
    }

    /// Begins the next window, which ends at `most` at the latest. Nobody carries out a partition
    /// meanwhile.
    pub fn open(&self, most: Time) {
        let next = self.next.swap(u64::MAX, Ordering::AcqRel);
        let last = next.saturating_add(self.lookahead - 1).min(most.picos());
        self.last.store(last, Ordering::Release);
        self.number.fetch_add(1, Ordering::AcqRel);
    }

    /// Carries out one partition in this window; its events. Once for each window and partition.
    pub fn carry_out(&self, partition: usize) -> u64 {
        let mut seat = locked(&self.seats[partition]);
        let Seat {
            partition: own,
            out,
            mail,
        } = &mut *seat;
        let number = self.number.load(Ordering::Acquire);
        std::mem::swap(mail, &mut locked(&self.boxes[(number + 1) % 2][partition]));
        mail.drain(..).for_each(|letter| own.receive(letter));
        let last = self.last();
        let mut events = 0;
        let mut next = own.next_time().unwrap_or(Time::MAX);
        if next <= last {
            events = own.run(last, out);
            self.events.fetch_add(events, Ordering::AcqRel);
            let sent = out.empty(|to, letters| {
                locked(&self.boxes[number % 2][to]).append(letters);
            });
            debug_assert!(sent > last, "a message came sooner than the lookahead");
            next = own.next_time().unwrap_or(Time::MAX).min(sent);
        }
        self.next.fetch_min(next.picos(), Ordering::AcqRel);
        events
    }

    /// Whether any partition says so, between two windows.
    pub fn any(&self, mut test: impl FnMut(&P) -> bool) -> bool {
        self.seats.iter().any(|seat| test(&locked(seat).partition))
    }

    /// Hands over what is still on its way.
    pub fn close(self) {
        for (number, seat) in self.seats.into_iter().enumerate() {
            let seat = seat.into_inner().unwrap_or_else(PoisonError::into_inner);
            let mut own = seat.partition;
            for boxes in &self.boxes {
                let letters = std::mem::take(&mut *locked(&boxes[number]));
                letters.into_iter().for_each(|letter| own.receive(letter));
            }
        }
    }
}
