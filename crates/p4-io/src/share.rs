//! Memory for frames on their way in and out, shared out among all ports of the process.
//!
//! A single switch may have as much as helps it. A network of fifty switches in one process has hundreds
//! of ports, and none of them sees the traffic of a benchmark.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes for all ports; those that come last get the least that works, whatever is left.
const ALL: usize = 96 << 20;
/// A port gets no more than this part of what is left, so that something is left for the next.
const PART: usize = 8;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// What one port has taken; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    receiving: usize,
    sending: usize,
}

impl Share {
    /// A power of two of bytes between `least` and `most`, which are powers of two, to receive into;
    /// and with it as many to send from, but no more than `sending`.
    pub(crate) fn take(least: usize, most: usize, sending: usize) -> Share {
        let left = ALL.saturating_sub(TAKEN.load(Ordering::Relaxed));
        let receiving = fair(left, least, most);
        let sending = sending.min(receiving);
        TAKEN.fetch_add(receiving + sending, Ordering::Relaxed);
        Share { receiving, sending }
    }

    pub(crate) fn receiving(&self) -> usize {
        self.receiving
    }

    pub(crate) fn sending(&self) -> usize {
        self.sending
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.receiving + self.sending, Ordering::Relaxed);
    }
}

fn fair(left: usize, least: usize, most: usize) -> usize {
    let part = (left / PART).max(1);
    (1 << part.ilog2()).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, a network of fifty routers on Linux interfaces takes more than a laptop has, or a
    // single switch loses packets for want of room.
    #[test]
    fn few_ports_have_plenty_and_many_ports_fit() {
        let (least, most, sending) = (512 << 10, 8 << 20, 1 << 20);
        let mut left = ALL;
        let shares: Vec<usize> = (0..150)
            .map(|_| {
                let own = fair(left, least, most);
                left = left.saturating_sub(own + sending.min(own));
                own
            })
            .collect();
        assert_eq!(shares[..4], [most; 4]);
        assert!(shares
            .iter()
            .all(|own| own.is_power_of_two() && *own >= least));
        let all: usize = shares.iter().map(|own| own + sending.min(*own)).sum();
        assert!(all < 256 << 20);
    }
}
