//! Receiving through a TPACKET_V3 ring: the kernel copies frames into blocks that we have mapped, and
//! hands over a block when it is full or a millisecond old (Documentation/networking/packet_mmap.rst).

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::c_int;

use crate::error::IoError;
use crate::offload::OFFLOAD_HEADER;
use crate::packet::{
    packet_overruns, receive_all, receiving_socket, tag_of, Inbox, Received, BATCH, VLAN_ROOM,
};
use crate::share::Share;
use crate::sys::{self, Mapping};

const TPACKET_V3: c_int = 2;
/// A block holds the longest uncut frame, or some 900 short ones.
const BLOCK: usize = 128 << 10;
/// Blocks of a switch, shared out among its ports: 64 MB.
const BLOCKS: usize = 512;
const BLOCKS_PER_PORT: std::ops::RangeInclusive<usize> = 8..=64;
/// Milliseconds after which a block is handed over that is not full.
const OLD: u32 = 1;
/// What the kernel wants to know about frames is the size of the shortest.
const FRAME: usize = 2048;
/// Offsets in `struct tpacket_block_desc`.
const BLOCK_STATUS: usize = 8;
const BLOCK_FRAMES: usize = 12;
const BLOCK_FIRST: usize = 16;

/// `struct tpacket_req3` of linux/if_packet.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
    retire_after: u32,
    private: u32,
    features: u32,
}

/// `struct tpacket3_hdr`, as far as it matters.
#[repr(C)]
#[derive(Clone, Copy)]
struct FrameHeader {
    next: u32,
    _seconds: u32,
    _nanoseconds: u32,
    stored: u32,
    length: u32,
    status: u32,
    start: u16,
    _network: u16,
    _hash: u32,
    vlan: u32,
    vlan_kind: u16,
}

/// Where reading has come to in the block under work.
#[derive(Clone, Copy)]
struct Place {
    frames_left: u32,
    next: usize,
}

pub(crate) struct RingReceiver {
    socket: OwnedFd,
    ring: Mapping,
    _share: Share,
    blocks: usize,
    block: usize,
    place: Option<Place>,
}

impl RingReceiver {
    pub(crate) fn open(interface: &str, ports: usize) -> Result<RingReceiver, IoError> {
        let fail = |step| move |cause| IoError::at(interface, step, cause);
        let (socket, index) = receiving_socket(interface)?;
        let level = libc::SOL_PACKET;
        sys::set_option(&socket, level, libc::PACKET_VERSION, &TPACKET_V3)
            .map_err(fail("ask for a TPACKET_V3 ring"))?;
        let most = (BLOCKS / ports.max(1))
            .clamp(*BLOCKS_PER_PORT.start(), *BLOCKS_PER_PORT.end())
            .next_power_of_two();
        let share = Share::take(*BLOCKS_PER_PORT.start() * BLOCK, most * BLOCK, 0);
        let blocks = share.receiving() / BLOCK;
        let request = Request {
            block_size: BLOCK as u32,
            blocks: blocks as u32,
            frame_size: FRAME as u32,
            frames: (blocks * BLOCK / FRAME) as u32,
            retire_after: OLD,
            private: 0,
            features: 0,
        };
        sys::set_option(&socket, level, libc::PACKET_RX_RING, &request)
            .map_err(fail("make a TPACKET_V3 ring"))?;
        let ring = Mapping::of_file(&socket, 0, blocks * BLOCK).map_err(fail("map its ring"))?;
        receive_all(&socket, index, interface)?;
        Ok(RingReceiver {
            socket,
            ring,
            _share: share,
            blocks,
            block: 0,
            place: None,
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Hands frames that wait, at most [`BATCH`], to `visit`.
    pub(crate) fn receive(&mut self, inbox: &mut Inbox, mut visit: impl FnMut(&[u8])) -> Received {
        let mut received = Received::default();
        while received.frames < BATCH {
            let Some(mut place) = self.place.or_else(|| self.open_block()) else {
                break;
            };
            while place.frames_left > 0 && received.frames < BATCH {
                received.frames += 1;
                let next = self.read_frame(place.next, inbox, &mut received, &mut visit);
                place.frames_left -= 1;
                place.next += next;
            }
            if place.frames_left > 0 {
                self.place = Some(place);
            } else {
                self.close_block();
            }
        }
        received
    }

    fn status(&self) -> &AtomicU32 {
        let at = self.block * BLOCK + BLOCK_STATUS;
        // SAFETY: the status is an aligned 32-bit word of the mapping, touched atomically by both
        // sides; the mapping lives as long as `self`.
        unsafe { &*self.ring.at(at).cast::<AtomicU32>() }
    }

    /// The next block, if the kernel has handed it over.
    fn open_block(&self) -> Option<Place> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let word = |offset| {
            let at = self.ring.at(self.block * BLOCK + offset);
            // SAFETY: an aligned word of a block that is ours until it is closed.
            unsafe { at.cast::<u32>().read() }
        };
        Some(Place {
            frames_left: word(BLOCK_FRAMES),
            next: self.block * BLOCK + word(BLOCK_FIRST) as usize,
        })
    }

    fn close_block(&mut self) {
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.block = (self.block + 1) % self.blocks;
        self.place = None;
    }

    /// Hands on the frame whose header is `at`; returns the way to the next.
    fn read_frame(
        &self,
        at: usize,
        inbox: &mut Inbox,
        received: &mut Received,
        visit: &mut impl FnMut(&[u8]),
    ) -> usize {
        // SAFETY: the block is ours until it is closed; integers, for which any bytes are valid.
        let header: FrameHeader =
            unsafe { self.ring.at(at).cast::<FrameHeader>().read_unaligned() };
        let start = at + usize::from(header.start);
        let stored = header.stored as usize;
        let room = OFFLOAD_HEADER.max(VLAN_ROOM);
        // SAFETY: as above; nobody else looks at this block.
        let Some(bytes) = (unsafe { self.ring.bytes(start.saturating_sub(room), room + stored) })
        else {
            return header.next as usize;
        };
        let mut offload = [0; OFFLOAD_HEADER];
        offload.copy_from_slice(&bytes[room - OFFLOAD_HEADER..room]);
        let tag = tag_of(header.status, header.vlan_kind, header.vlan as u16);
        let slot = &mut bytes[room - VLAN_ROOM..];
        let whole = header.stored == header.length;
        received.take(&offload, slot, tag, whole, &mut inbox.scratch, visit);
        header.next as usize
    }

    /// Frames that the kernel dropped since the last call because every block was full.
    pub(crate) fn overruns(&self) -> u64 {
        packet_overruns(&self.socket)
    }
}
