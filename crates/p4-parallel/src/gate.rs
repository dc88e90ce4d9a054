//! Where threads wait for each other between rounds.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Looks before a thread goes to sleep: about 20 us, in which most rounds end. To be woken takes longer.
const LOOKS: u32 = 2000;

/// Opens when all threads have come. The last one to come does what no other may do meanwhile.
pub(crate) struct Gate {
    threads: usize,
    looks: u32,
    here: AtomicUsize,
    /// How often it has opened
    opened: AtomicU64,
    /// There are no more rounds, or a thread has panicked
    ended: AtomicBool,
    /// How many sleep
    asleep: Mutex<usize>,
    wake: Condvar,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Gate {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Gate {
            threads,
            // Who looks keeps a core from those that still work.
            looks: if threads > cores { 0 } else { LOOKS },
            here: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits for the others. The last one calls `begin`, which says whether there is another round; so
    /// does this, to all.
    pub(crate) fn pass(&self, begin: impl FnOnce() -> bool) -> bool {
        let opened = self.opened.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.here.store(0, Ordering::Release);
            if !begin() {
                self.ended.store(true, Ordering::Release);
            }
            self.open();
        } else {
            self.wait(opened);
        }
        !self.ended.load(Ordering::Acquire)
    }

    /// Ends all rounds at once: a thread cannot go on.
    pub(crate) fn give_up(&self) {
        self.ended.store(true, Ordering::Release);
        self.open();
    }

    fn open(&self) {
        let asleep = self.sleepers();
        self.opened.fetch_add(1, Ordering::AcqRel);
        if *asleep > 0 {
            self.wake.notify_all();
        }
    }

    fn wait(&self, opened: u64) {
        let closed =
            || self.opened.load(Ordering::Acquire) == opened && !self.ended.load(Ordering::Acquire);
        for _ in 0..self.looks {
            if !closed() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut asleep = self.sleepers();
        *asleep += 1;
        while closed() {
            asleep = self
                .wake
                .wait(asleep)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
