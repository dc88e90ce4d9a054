//! Between a stack, which knows IPv4 packets, and the host's card, which knows Ethernet frames.

use std::collections::VecDeque;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::host::Mac;

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// Shortest frame, without its checksum (IEEE 802.3 clause 3).
const SHORTEST: usize = 60;
/// Answers that may wait for the card; a stack has at most one for each packet that it hears.
const MOST_ANSWERS: usize = 1024;

/// The stack's only interface. It takes one packet at a time, when the card is ready for it, so that
/// what to send is decided as late as can be.
pub(crate) struct Frames {
    header: [u8; ETHERNET],
    mtu: usize,
    /// The packet that came last, and whether the stack has yet to read it
    packet: Vec<u8>,
    is_new: bool,
    /// Frames to be sent
    waiting: VecDeque<Vec<u8>>,
    /// Buffers to be used again
    spare: Vec<Vec<u8>>,
}

impl Frames {
    pub(crate) fn new(from: Mac, to: Mac, mtu: usize) -> Frames {
        let mut header = [0; ETHERNET];
        header[..6].copy_from_slice(&to);
        header[6..12].copy_from_slice(&from);
        header[12..].copy_from_slice(&[0x08, 0x00]); // IPv4
        Frames {
            header,
            mtu,
            packet: Vec::new(),
            is_new: false,
            waiting: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Puts a packet where the stack finds it.
    pub(crate) fn hear(&mut self, packet: &[u8]) {
        self.packet.clear();
        self.packet.extend_from_slice(packet);
        self.is_new = true;
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next frame to send; [`Frames::give_back`] returns its buffer.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        self.waiting.pop_front()
    }

    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }
}

impl Device for Frames {
    type RxToken<'a> = Heard<'a>;
    type TxToken<'a> = Blank<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Heard<'_>, Blank<'_>)> {
        if !std::mem::take(&mut self.is_new) || self.waiting.len() >= MOST_ANSWERS {
            return None;
        }
        let blank = Blank {
            header: &self.header,
            waiting: &mut self.waiting,
            spare: &mut self.spare,
        };
        Some((Heard(&self.packet), blank))
    }

    fn transmit(&mut self, _: Instant) -> Option<Blank<'_>> {
        self.waiting.is_empty().then_some(Blank {
            header: &self.header,
            waiting: &mut self.waiting,
            spare: &mut self.spare,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

/// A packet for the stack.
pub(crate) struct Heard<'a>(&'a [u8]);

impl RxToken for Heard<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

/// Room for a packet of the stack, which becomes a frame.
pub(crate) struct Blank<'a> {
    header: &'a [u8; ETHERNET],
    waiting: &'a mut VecDeque<Vec<u8>>,
    spare: &'a mut Vec<Vec<u8>>,
}

impl TxToken for Blank<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let end = ETHERNET + length;
        let mut frame = self.spare.pop().unwrap_or_default();
        // What an old frame has left between header and padding is all overwritten.
        frame.resize(end.max(SHORTEST), 0);
        frame[..ETHERNET].copy_from_slice(self.header);
        frame[end..].fill(0);
        let result = write(&mut frame[ETHERNET..end]);
        self.waiting.push_back(frame);
        result
    }
}
