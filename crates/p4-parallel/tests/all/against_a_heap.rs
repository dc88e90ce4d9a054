//! Threads and windows against one heap of events, which knows nothing of either.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use p4_net::partition::{Inbox, Letter, Outbox, Partition, Rounds, TimeWindows};
use p4_net::{EventQueue, Ranked, Rng, Time};
use p4_parallel::carry_out;

/// Messages are numbers, and what a partition does with one depends on all that it has seen.
#[derive(Clone)]
struct Place {
    number: u32,
    places: u32,
    lookahead: u64,
    state: u64,
    rng: Rng,
}

/// What follows from something: in so many picoseconds, at a place.
type Next = Vec<(u64, u32, u64)>;

impl Place {
    fn new(number: u32, places: u32, lookahead: u64, seed: u64) -> Place {
        let rng = Rng::new(seed, u64::from(number));
        Place {
            number,
            places,
            lookahead,
            state: 1,
            rng,
        }
    }

    fn act(&mut self, now: u64, what: u64) -> Next {
        for word in [now, what] {
            self.state = (self.state ^ word).wrapping_mul(0x0000_0100_0000_01B3);
        }
        let mut next = Vec::new();
        for _ in 0..[0, 1, 1, 2][self.rng.up_to(3) as usize] {
            let to = self.rng.up_to(u64::from(self.places) - 1) as u32;
            let least = if to == self.number { 0 } else { self.lookahead };
            // Many at the same moments
            next.push((least + 5 * self.rng.up_to(3), to, self.rng.next()));
        }
        next
    }
}

/// An event of a place's own.
#[derive(Clone, Copy)]
struct What(u64);

impl Ranked for What {}

/// A partition with one place.
struct Alone<'a> {
    place: &'a mut Place,
    queue: &'a mut EventQueue<What>,
    inbox: &'a mut Inbox<u64>,
}

impl Alone<'_> {
    fn act(&mut self, now: Time, what: u64, out: &mut Outbox<u64>) {
        for (wait, to, message) in self.place.act(now.picos(), what) {
            let time = now + Time::from_picos(wait);
            if to == self.place.number {
                self.queue.arrange(time, What(message));
            } else {
                let from = self.place.number;
                out.send(
                    to,
                    Letter {
                        time,
                        from,
                        message,
                    },
                );
            }
        }
    }
}

impl Partition for Alone<'_> {
    type Message = u64;

    fn next_time(&self) -> Option<Time> {
        let own = self.queue.next_time().into_iter();
        own.chain(self.inbox.next()).min()
    }

    fn receive(&mut self, letter: Letter<u64>) {
        self.inbox.put(letter);
    }

    fn run(&mut self, last: Time, out: &mut Outbox<u64>) -> u64 {
        let mut events = 0;
        let mut due = Vec::new();
        while let Some(now) = self.next_time().filter(|time| *time <= last) {
            if self.inbox.next() == Some(now) {
                self.inbox.take(&mut due);
                events += due.len() as u64;
                for (_, what) in std::mem::take(&mut due) {
                    self.act(now, what, out);
                }
            } else if let Some((now, what)) = self.queue.pop(now) {
                events += 1;
                self.act(now, what.0, out);
            }
        }
        events
    }
}

struct Run<'a> {
    windows: TimeWindows<Alone<'a>>,
    end: Time,
}

impl Rounds for Run<'_> {
    fn partitions(&self) -> usize {
        self.windows.partitions()
    }

    fn begin(&self) -> bool {
        let goes_on = self.windows.next() <= self.end;
        if goes_on {
            self.windows.open(self.end);
        }
        goes_on
    }

    fn carry_out(&self, partition: usize) -> u64 {
        self.windows.carry_out(partition)
    }
}

fn places(count: u32, lookahead: u64, seed: u64) -> Vec<Place> {
    let place = |number| Place::new(number, count, lookahead, seed);
    (0..count).map(place).collect()
}

/// Each place begins with this many events of its own.
const FIRST: u64 = 3;

/// The states of all places at some moments, by threads.
fn by_threads(mut all: Vec<Place>, threads: usize, ends: &[u64]) -> Vec<Vec<u64>> {
    let mut queues = vec![EventQueue::default(); all.len()];
    let mut boxes = vec![Inbox::default(); all.len()];
    for queue in &mut queues {
        (0..FIRST).for_each(|what| queue.arrange(Time::from_picos(what), What(what)));
    }
    let lookahead = Time::from_picos(all[0].lookahead);
    let mut seen = Vec::new();
    for end in ends {
        let rest = queues.iter_mut().zip(&mut boxes);
        let parts = all.iter_mut().zip(rest);
        let parts = parts.map(|(place, (queue, inbox))| Alone {
            place,
            queue,
            inbox,
        });
        let run = Run {
            windows: TimeWindows::new(parts, lookahead),
            end: Time::from_picos(*end),
        };
        carry_out(&run, NonZeroUsize::new(threads).unwrap());
        run.windows.close();
        seen.push(all.iter().map(|place| place.state).collect());
    }
    seen
}

/// The same by one heap: by time; messages of others before a place's own; by sender; by order.
fn by_heap(mut all: Vec<Place>, ends: &[u64]) -> Vec<Vec<u64>> {
    let mut heap = BinaryHeap::new();
    let mut order = 0u64;
    for number in 0..all.len() as u32 {
        for what in 0..FIRST {
            heap.push(Reverse((what, true, number, order, number, what)));
            order += 1;
        }
    }
    let mut seen = Vec::new();
    for end in ends {
        while heap.peek().is_some_and(|Reverse(first)| first.0 <= *end) {
            let Some(Reverse((now, _, _, _, at, what))) = heap.pop() else {
                break;
            };
            for (wait, to, message) in all[at as usize].act(now, what) {
                heap.push(Reverse((now + wait, at == to, at, order, to, message)));
                order += 1;
            }
        }
        seen.push(all.iter().map(|place| place.state).collect());
    }
    seen
}

// If this fails a run depends on the number of threads, on windows, or on where it was stopped.
#[test]
fn any_number_of_threads_does_what_one_heap_does() {
    for seed in 1..=12 {
        let mut rng = Rng::new(seed, 9);
        let (count, lookahead) = (2 + rng.up_to(20) as u32, 1 + rng.up_to(40));
        let all = places(count, lookahead, seed);
        let ends: Vec<u64> = (1..=4).map(|part| part * 300 + rng.up_to(100)).collect();
        let known = by_heap(all.clone(), &ends);
        assert!(known[3].iter().any(|state| *state != 1), "nothing happened");
        for threads in [1, 2, 3, 7] {
            let found = by_threads(all.clone(), threads, &ends);
            assert_eq!(found, known, "seed {seed}, {threads} threads");
        }
        let whole = by_threads(all, 2, &ends[3..]);
        assert_eq!(whole[0], known[3], "seed {seed}, in one piece");
    }
}

/// Rounds whose partitions must each be carried out once, with very different work.
struct Counted {
    left: Mutex<u32>,
    done: Vec<Mutex<u32>>,
}

impl Rounds for Counted {
    fn partitions(&self) -> usize {
        self.done.len()
    }

    fn begin(&self) -> bool {
        let mut left = self.left.lock().unwrap();
        let rounds = 300 - *left;
        for done in &self.done {
            assert_eq!(*done.lock().unwrap(), rounds, "left out, or done twice");
        }
        *left = left.saturating_sub(1);
        rounds < 300
    }

    fn carry_out(&self, partition: usize) -> u64 {
        *self.done[partition].lock().unwrap() += 1;
        (partition as u64).pow(3)
    }
}

// If this fails a partition is left out in some window, or carried out twice, when shares change.
#[test]
fn every_partition_is_carried_out_once_a_round() {
    for threads in [1, 2, 3, 7, 50] {
        let rounds = Counted {
            left: Mutex::new(300),
            done: (0..11).map(|_| Mutex::new(0)).collect(),
        };
        carry_out(&rounds, NonZeroUsize::new(threads).unwrap());
        let done = |one: &Mutex<u32>| *one.lock().unwrap();
        assert!(rounds.done.iter().all(|one| done(one) == 300));
    }
}

/// One of its partitions panics in its third round.
struct Broken(Mutex<u32>);

impl Rounds for Broken {
    fn partitions(&self) -> usize {
        4
    }

    fn begin(&self) -> bool {
        true
    }

    fn carry_out(&self, partition: usize) -> u64 {
        if partition == 3 {
            let mut times = self.0.lock().unwrap();
            *times += 1;
            assert!(*times < 3, "on purpose");
        }
        1
    }
}

// If this fails a mistake in one partition hangs the others, and whoever waits for the run.
#[test]
fn a_panic_ends_all_threads() {
    for threads in [1, 2, 4] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let run = || carry_out(&Broken(Mutex::new(0)), threads);
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
