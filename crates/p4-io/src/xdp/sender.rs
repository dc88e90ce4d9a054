//! The sending half of an AF_XDP port.

use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::ring::Ring;
use super::{Shared, CHUNK, HEADER};
use crate::packet::{is_too_short, Sent, BATCH};
use crate::sys;

/// Calls in a row by which the kernel may take nothing before what is left counts as lost.
const PATIENCE: u32 = 4;
/// An address that no memory has: the kernel skips the frame.
const NOWHERE: u64 = u64::MAX;

pub(crate) struct XdpSender {
    shared: Arc<Shared>,
    to_send: Ring<libc::xdp_desc>,
    completed: Ring<u64>,
    /// Chunks that hold nothing.
    free: Vec<u64>,
    /// Where the frames start that were collected since the last flush, in the ring.
    start: u32,
    frames: usize,
    interface: String,
    /// Longest frame, as far as we know: somebody may change the MTU.
    longest: usize,
    takes_jumbo: bool,
    lost: Sent,
}

impl XdpSender {
    pub(super) fn new(
        shared: Arc<Shared>,
        to_send: Ring<libc::xdp_desc>,
        completed: Ring<u64>,
        chunks: Range<u32>,
        interface: &str,
        takes_jumbo: bool,
    ) -> XdpSender {
        XdpSender {
            shared,
            start: to_send.ours(),
            to_send,
            completed,
            free: chunks.map(|chunk| u64::from(chunk) * CHUNK).collect(),
            frames: 0,
            interface: interface.to_string(),
            longest: 0,
            takes_jumbo,
            lost: Sent::default(),
        }
    }

    /// Collects a frame. True if it is time to flush.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        let chunks = frame.len().div_ceil(CHUNK as usize);
        if is_too_short(frame) || !self.is_carried(frame) {
            self.lost.bad_length += 1;
            return false;
        }
        if self.free.len() < chunks {
            self.reclaim();
        }
        if self.free.len() < chunks || (self.to_send.room() as usize) < chunks {
            self.lost.full += 1;
            return true;
        }
        let mut rest = frame;
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.len().min(CHUNK as usize));
            let Some(addr) = self.free.pop() else { break };
            // SAFETY: the chunk is free, that is, neither the kernel's nor the receiving half's.
            let room = unsafe { self.shared.memory.bytes(addr as usize, part.len()) };
            room.unwrap_or_default().copy_from_slice(part);
            let options = if more.is_empty() {
                0
            } else {
                libc::XDP_PKT_CONTD
            };
            let len = part.len() as u32;
            self.to_send.put(libc::xdp_desc { addr, len, options });
            rest = more;
        }
        self.frames += 1;
        // Jumbo frames fill the ring sooner.
        self.frames >= BATCH || self.free.len() < BATCH / 2
    }

    /// Whether the interface takes a frame of this length, as the kernel decides it for packet sockets:
    /// the header, the MTU, and 4 bytes more for a VLAN tag.
    fn is_carried(&mut self, frame: &[u8]) -> bool {
        let limit = |mtu: usize| match frame.get(12..14) {
            Some([0x81, 0x00]) => mtu + HEADER,
            _ => mtu + HEADER - 4,
        };
        if frame.len() > limit(self.longest) {
            // Rare, since it is remembered: worth a question to the kernel.
            self.longest = sys::mtu(&self.interface).unwrap_or(self.longest);
        }
        frame.len() <= limit(self.longest) && (self.takes_jumbo || frame.len() <= CHUNK as usize)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames == 0 && self.lost == Sent::default()
    }

    /// Sends what was collected and tells `sent` of each frame that the kernel took.
    pub(crate) fn flush(&mut self, mut sent: impl FnMut(&[u8])) -> Sent {
        let mut lost = std::mem::take(&mut self.lost);
        self.to_send.publish();
        let end = self.to_send.ours();
        let mut stalled = 0;
        while self.start != end {
            let error = self.kick().err().and_then(|error| error.raw_os_error());
            let mut taken = self.to_send.consumed().wrapping_sub(self.start);
            // Frames that were skipped earlier lie before the start.
            if taken > end.wrapping_sub(self.start) {
                taken = 0;
            }
            let dropped = error == Some(libc::EBUSY);
            if dropped && taken == 0 {
                // The kernel tells how far it has come only where it has sent something.
                taken = self.length_of_frame(self.start);
            }
            let until = self.start.wrapping_add(taken);
            stalled = if taken == 0 { stalled + 1 } else { 0 };
            self.pass(until, dropped, &mut lost, &mut sent);
            match error {
                None | Some(libc::EAGAIN | libc::EBUSY | libc::EINTR | libc::ENOBUFS)
                    if stalled < PATIENCE => {}
                None | Some(libc::EAGAIN | libc::EBUSY | libc::EINTR | libc::ENOBUFS) => {
                    lost.full += self.give_up(end);
                }
                Some(_) => lost.down += self.give_up(end),
            }
        }
        self.frames = 0;
        self.reclaim();
        lost
    }

    /// Makes the kernel send: up to 32 frames a call.
    fn kick(&self) -> io::Result<()> {
        let fd = self.shared.socket.as_raw_fd();
        // SAFETY: no data and no address are passed.
        let result = unsafe {
            libc::sendto(
                fd,
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Entries of the ring that the frame starting at `index` takes.
    fn length_of_frame(&self, index: u32) -> u32 {
        let mut entries = 1;
        while self.to_send.get(index.wrapping_add(entries - 1)).options & libc::XDP_PKT_CONTD != 0 {
            entries += 1;
        }
        entries
    }

    /// Goes past frames that the kernel has taken; with `dropped` it has thrown away the last one.
    fn pass(&mut self, until: u32, dropped: bool, lost: &mut Sent, sent: &mut impl FnMut(&[u8])) {
        while self.start != until {
            let entries = self.length_of_frame(self.start);
            let next = self.start.wrapping_add(entries);
            if dropped && next == until {
                lost.full += 1;
            } else {
                // The last part: it is what ends in a probe's trailer, if any does.
                self.tell(self.start, entries, sent);
            }
            self.start = next;
        }
    }

    fn tell(&self, first: u32, entries: u32, sent: &mut impl FnMut(&[u8])) {
        let bytes = |index: u32| {
            let part = self.to_send.get(first.wrapping_add(index));
            // SAFETY: the chunk is not free before `reclaim`, and the kernel only reads it.
            let bytes = unsafe {
                self.shared
                    .memory
                    .bytes(part.addr as usize, part.len as usize)
            };
            bytes.unwrap_or_default()
        };
        if entries == 1 {
            return sent(bytes(0));
        }
        let mut whole = Vec::new();
        for index in 0..entries {
            whole.extend_from_slice(bytes(index));
        }
        sent(&whole);
    }

    /// Takes back what the kernel has not taken: entries that it will skip take its place in the ring.
    /// Returns the number of frames.
    fn give_up(&mut self, end: u32) -> u64 {
        let mut frames = 0;
        while self.start != end {
            let entry = self.to_send.get(self.start);
            frames += u64::from(entry.options & libc::XDP_PKT_CONTD == 0);
            self.free.push(entry.addr);
            let skipped = libc::xdp_desc {
                addr: NOWHERE,
                len: 0,
                options: 0,
            };
            self.to_send.set(self.start, skipped);
            self.start = self.start.wrapping_add(1);
        }
        frames
    }

    /// Collects the chunks that the kernel has done with.
    fn reclaim(&mut self) {
        let done = self.completed.waiting();
        for _ in 0..done {
            let addr = self.completed.take();
            // Some kernels (6.18) report what they have skipped, too.
            if addr != NOWHERE {
                self.free.push(addr & !(CHUNK - 1));
            }
        }
        if done > 0 {
            self.completed.release();
        }
    }
}
