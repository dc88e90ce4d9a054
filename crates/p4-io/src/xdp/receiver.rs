//! The receiving half of an AF_XDP port.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use super::ring::Ring;
use super::{Shared, CHUNK};
use crate::offload::complete_unmarked;
use crate::packet::{Inbox, Received, BATCH};
use crate::sys;

pub(crate) struct XdpReceiver {
    shared: Arc<Shared>,
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    /// Longest frame that is one frame; beyond it are several in one.
    longest: usize,
    /// The kernel's count of lost frames at the last call.
    overruns: u64,
}

impl XdpReceiver {
    pub(super) fn new(
        shared: Arc<Shared>,
        fill: Ring<u64>,
        received: Ring<libc::xdp_desc>,
        longest: usize,
    ) -> XdpReceiver {
        XdpReceiver {
            shared,
            fill,
            received,
            longest,
            overruns: 0,
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.shared.socket.as_raw_fd()
    }

    /// Hands every frame that waits, about [`BATCH`] at most, to `visit`.
    pub(crate) fn receive(&mut self, inbox: &mut Inbox, mut visit: impl FnMut(&[u8])) -> Received {
        let mut result = Received::default();
        let mut waiting = self.received.waiting();
        while waiting > 0 && result.frames < BATCH {
            let first = self.received.take();
            waiting -= 1;
            result.frames += 1;
            if first.options & libc::XDP_PKT_CONTD == 0 {
                // SAFETY: the kernel has given us this chunk; it takes it back after `give_back`.
                let frame = unsafe {
                    self.shared
                        .memory
                        .bytes(first.addr as usize, first.len as usize)
                };
                if let Some(frame) = frame {
                    hand_over(frame, self.longest, &mut result, &mut visit);
                }
                self.give_back(first);
                continue;
            }
            inbox.scratch.clear();
            let mut part = first;
            loop {
                // SAFETY: as above.
                let bytes = unsafe {
                    self.shared
                        .memory
                        .bytes(part.addr as usize, part.len as usize)
                };
                inbox.scratch.extend_from_slice(bytes.unwrap_or_default());
                self.give_back(part);
                // The kernel produces the parts of a frame together.
                if part.options & libc::XDP_PKT_CONTD == 0 || waiting == 0 {
                    break;
                }
                part = self.received.take();
                waiting -= 1;
            }
            hand_over(&mut inbox.scratch, self.longest, &mut result, &mut visit);
        }
        if result.frames > 0 {
            self.received.release();
            self.fill.publish();
        }
        result
    }

    fn give_back(&mut self, part: libc::xdp_desc) {
        self.fill.put(part.addr & !(CHUNK - 1));
    }

    /// Frames that the kernel dropped since the last call because no chunk was free.
    pub(crate) fn overruns(&mut self) -> u64 {
        // SAFETY: integers only; any bytes are valid.
        let statistics: std::io::Result<libc::xdp_statistics> =
            unsafe { sys::get_option(&self.shared.socket, libc::SOL_XDP, libc::XDP_STATISTICS) };
        let now = statistics.map_or(self.overruns, |now| now.rx_dropped + now.rx_ring_full);
        let since = now.saturating_sub(self.overruns);
        self.overruns = now;
        since
    }
}

fn hand_over(
    frame: &mut [u8],
    longest: usize,
    result: &mut Received,
    visit: &mut impl FnMut(&[u8]),
) {
    if frame.len() > longest {
        result.uncut += 1;
    } else {
        complete_unmarked(frame);
        visit(frame);
    }
}
