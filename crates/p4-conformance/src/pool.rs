//! Work on all cores.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// What programs get elsewhere: the usual size of a main thread's stack. More would hide here what
/// overflows there.
const STACK_BYTES: usize = 8 << 20;

/// Applies `work` to every item and gives the results in the order of the items. `each` hears of
/// every result on the calling thread, as it comes; when it says false the rest is left out, and the
/// result is `None`.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(&R) -> bool,
) -> Option<Vec<R>> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let take = |sender: mpsc::Sender<(usize, R)>| {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            if sender.send((index, work(item))).is_err() {
                break;
            }
        }
    };
    let take = &take;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut started = 0;
        for _ in 0..workers.min(items.len()) {
            let sender = sender.clone();
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            started += usize::from(builder.spawn_scoped(scope, move || take(sender)).is_ok());
        }
        if started == 0 {
            // No threads to be had: do it here, one by one.
            take(sender.clone());
        }
        drop(sender);
        for (index, result) in receiver {
            if !each(&result) {
                stop.store(true, Ordering::Relaxed);
            }
            results[index] = Some(result);
        }
    });
    if stop.into_inner() {
        return None;
    }
    results.into_iter().collect()
}

/// Calls `work`; the error says where and why it panicked.
pub fn catch<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "a panic without a message".to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::{catch, map};

    /// Results under the wrong names, or lost ones.
    #[test]
    fn results_keep_their_places() {
        let items: Vec<u32> = (0..100).collect();
        let mut heard = 0;
        let doubled = map(
            &items,
            |n| n * 2,
            |_| {
                heard += 1;
                true
            },
        );
        assert_eq!(doubled, Some((0..100).map(|n| n * 2).collect()));
        assert_eq!(heard, 100);
        assert_eq!(map(&[0u8; 0], |n| *n, |_| true), Some(Vec::new()));
    }

    /// Ctrl-C would wait for thousands of programs.
    #[test]
    fn stops_when_told() {
        let items: Vec<u32> = (0..100_000).collect();
        assert_eq!(map(&items, |n| *n, |_| false), None);
    }

    /// One bad program would end the whole run.
    #[test]
    fn a_panic_is_a_result() {
        assert_eq!(catch(|| 1), Ok(1));
        let broken: Vec<u32> = Vec::new();
        let message = catch(|| broken[items_len()]).expect_err("out of bounds");
        assert!(message.contains("out of bounds"), "{message}");
    }

    fn items_len() -> usize {
        std::hint::black_box(3)
    }
}
