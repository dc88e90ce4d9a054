//! Messages of other partitions that have not happened yet.

use p4_time::Time;

use super::Letter;
use crate::agenda::{EventQueue, Ranked};

/// Messages by their moment. Those of one moment are ordered by sender, and those of one sender in the
/// order in which it sent them, whatever the order in which they came.
#[derive(Clone)]
pub struct Inbox<M> {
    queue: EventQueue<Sent<M>>,
    next: Option<Time>,
}

/// A message and its sender.
#[derive(Clone, Copy)]
struct Sent<M> {
    from: u32,
    message: M,
}

impl<M> Ranked for Sent<M> {
    #[inline]
    fn rank(&self) -> u32 {
        self.from
    }
}

impl<M> Default for Inbox<M> {
    fn default() -> Inbox<M> {
        Inbox {
            queue: EventQueue::default(),
            next: None,
        }
    }
}

impl<M: Copy> Inbox<M> {
    pub fn put(&mut self, letter: Letter<M>) {
        self.next = Some(self.next.map_or(letter.time, |next| next.min(letter.time)));
        let Letter {
            time,
            from,
            message,
        } = letter;
        self.queue.arrange(time, Sent { from, message });
    }

    /// When the next message is.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Moves all messages of the next moment to `due`, in their order, with their senders.
    pub fn take(&mut self, due: &mut Vec<(u32, M)>) {
        due.clear();
        let Some(next) = self.next else { return };
        while let Some((_, sent)) = self.queue.pop(next) {
            due.push((sent.from, sent.message));
        }
        self.next = self.queue.next_time();
    }

    /// All of them, by their moments and senders.
    pub fn pending(&self) -> Vec<(Time, u32, M)> {
        let all = self.queue.pending().into_iter();
        all.map(|(time, sent)| (time, sent.from, sent.message))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    // If this fails a run depends on which thread was faster.
    #[test]
    fn messages_come_by_time_sender_and_order_of_sending() {
        for seed in 1..20 {
            let mut rng = Rng::new(seed, 1);
            let mut all: Vec<(u64, u32, u32)> = Vec::new();
            for from in 0..5 {
                all.extend((0..30).map(|number| (rng.up_to(9), from, number)));
            }
            // Whole batches of senders, in a random order
            let mut senders: Vec<u32> = (0..5).collect();
            for last in (1..5).rev() {
                senders.swap(last, rng.up_to(last as u64) as usize);
            }
            let mut inbox = Inbox::default();
            for sender in senders {
                for &(time, from, message) in all.iter().filter(|one| one.1 == sender) {
                    let time = Time::from_picos(time);
                    inbox.put(Letter {
                        time,
                        from,
                        message,
                    });
                }
            }
            all.sort();
            let pending = inbox.pending().into_iter();
            let pending: Vec<_> = pending.map(|(at, from, n)| (at.picos(), from, n)).collect();
            assert_eq!(pending, all, "seed {seed}");
            let (mut found, mut due) = (Vec::new(), Vec::new());
            while let Some(now) = inbox.next() {
                inbox.take(&mut due);
                found.extend(due.iter().map(|(from, n)| (now.picos(), *from, *n)));
            }
            assert_eq!(found, all, "seed {seed}");
        }
    }
}
