//! One interface through AF_PACKET: works on every Linux, at a system call per batch.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_int, iovec, mmsghdr};

use crate::error::IoError;
use crate::offload::{finish, Refusal, OFFLOAD_HEADER};
use crate::sys;

/// Packets per system call. More brings nothing on veth, whose cost is per packet.
pub(crate) const BATCH: usize = 64;
/// Longest frame that can be received: one that its sender left to be cut, an IP packet's 64 kB with
/// its Ethernet header and a VLAN tag.
pub(crate) const LONGEST_UNCUT: usize = 65_535 + 18;
/// A VLAN tag that the kernel has taken off is put back into this room.
pub(crate) const VLAN_ROOM: usize = 4;
const SLOT: usize = VLAN_ROOM + LONGEST_UNCUT;
/// Bytes that may wait in the kernel; a lab has bursts and few cores.
const SOCKET_BUFFER: c_int = 8 << 20;
const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;
const SHORTEST: usize = 14;

/// What became of frames that did not pass, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) frames: usize,
    pub(crate) uncut: u64,
    pub(crate) bad_checksum: u64,
    pub(crate) too_long: u64,
}

/// Room for received frames; one per switch, whatever its number of ports.
#[derive(Default)]
pub(crate) struct Inbox {
    /// For frames that are put together or cut.
    pub(crate) scratch: Vec<u8>,
    /// Only where there is a plain socket.
    batch: Option<Batch>,
}

/// Room for one batch of frames of a plain socket. Holds raw pointers into itself, so it stays in the
/// thread that made it.
struct Batch {
    frames: Vec<u8>,
    offload: Vec<[u8; OFFLOAD_HEADER]>,
    control: Vec<Control>,
    parts: Vec<[iovec; 2]>,
    messages: Vec<mmsghdr>,
}

/// Room for one control message with `struct tpacket_auxdata`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

impl Batch {
    fn new() -> Batch {
        let mut batch = Batch {
            frames: vec![0; BATCH * SLOT],
            offload: vec![[0; OFFLOAD_HEADER]; BATCH],
            control: vec![Control([0; 64]); BATCH],
            parts: Vec::with_capacity(BATCH),
            messages: Vec::with_capacity(BATCH),
        };
        for index in 0..BATCH {
            let frame = &mut batch.frames[index * SLOT + VLAN_ROOM..(index + 1) * SLOT];
            let offload = &mut batch.offload[index];
            batch.parts.push([
                iovec {
                    iov_base: offload.as_mut_ptr().cast(),
                    iov_len: OFFLOAD_HEADER,
                },
                iovec {
                    iov_base: frame.as_mut_ptr().cast(),
                    iov_len: LONGEST_UNCUT,
                },
            ]);
            // SAFETY: mmsghdr is integers and pointers, for which zeros are valid.
            let mut message: mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = batch.parts[index].as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
            message.msg_hdr.msg_control = batch.control[index].0.as_mut_ptr().cast();
            batch.messages.push(message);
        }
        batch
    }
}

/// The receiving side of an interface.
pub(crate) struct PacketReceiver {
    socket: OwnedFd,
}

/// A packet socket for an interface with all that receiving in either way wants, not bound yet.
/// Returns the interface's number as well.
pub(crate) fn receiving_socket(interface: &str) -> Result<(OwnedFd, u32), IoError> {
    let fail = |step| move |cause| IoError::at(interface, step, cause);
    let index = sys::interface_index(interface).map_err(fail("look it up"))?;
    let socket = sys::raw_socket(libc::AF_PACKET).map_err(fail("open a packet socket"))?;
    let options = [
        (libc::PACKET_IGNORE_OUTGOING, "leave out our own packets"),
        (libc::PACKET_VNET_HDR, "ask for offload information"),
        (libc::PACKET_AUXDATA, "ask for VLAN tags"),
    ];
    for (option, step) in options {
        sys::set_option(&socket, libc::SOL_PACKET, option, &(1 as c_int)).map_err(fail(step))?;
    }
    Ok((socket, index))
}

/// From now on the socket receives whatever arrives, for whomever it is.
pub(crate) fn receive_all(socket: &OwnedFd, index: u32, interface: &str) -> Result<(), IoError> {
    let fail = |step| move |cause| IoError::at(interface, step, cause);
    sys::bind_packet(socket, index, ALL_PROTOCOLS).map_err(fail("bind"))?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let option = libc::PACKET_ADD_MEMBERSHIP;
    sys::set_option(socket, libc::SOL_PACKET, option, &promiscuous)
        .map_err(fail("become promiscuous"))
}

/// Frames that the kernel dropped since the last call because nobody fetched them in time.
pub(crate) fn packet_overruns(socket: &OwnedFd) -> u64 {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Statistics {
        packets: u32,
        drops: u32,
    }
    // SAFETY: two integers; any bytes are valid. A ring's statistics begin with the same two.
    let statistics: io::Result<Statistics> =
        unsafe { sys::get_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS) };
    statistics.map_or(0, |statistics| u64::from(statistics.drops))
}

/// Lets [`SOCKET_BUFFER`] bytes wait, or as many as every user may have (`net.core.rmem_max` and
/// `wmem_max`): more is for the machine's root, which root of a user namespace is not.
fn enlarge(socket: &OwnedFd, forced: c_int, usual: c_int) -> io::Result<()> {
    let set = |option| sys::set_option(socket, libc::SOL_SOCKET, option, &SOCKET_BUFFER);
    set(forced).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => set(usual),
        _ => Err(error),
    })
}

impl PacketReceiver {
    pub(crate) fn open(interface: &str) -> Result<PacketReceiver, IoError> {
        let (socket, index) = receiving_socket(interface)?;
        enlarge(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)
            .map_err(|cause| IoError::at(interface, "enlarge the receive buffer", cause))?;
        receive_all(&socket, index, interface)?;
        Ok(PacketReceiver { socket })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Hands every frame that waits, at most [`BATCH`], to `visit`.
    pub(crate) fn receive(
        &self,
        inbox: &mut Inbox,
        mut visit: impl FnMut(&[u8]),
    ) -> io::Result<Received> {
        let Inbox { scratch, batch } = inbox;
        let batch = batch.get_or_insert_with(Batch::new);
        for message in &mut batch.messages {
            message.msg_hdr.msg_controllen = size_of::<Control>();
        }
        // SAFETY: the messages point to buffers that `batch` owns and never moves (vectors of fixed
        // length), and we hold `batch` exclusively.
        let count = unsafe {
            libc::recvmmsg(
                self.fd(),
                batch.messages.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let count = match sys::check(count) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        let mut received = Received {
            frames: count,
            ..Received::default()
        };
        for index in 0..count {
            let message = &batch.messages[index];
            let tag = vlan_tag(message);
            let length = (message.msg_len as usize).saturating_sub(OFFLOAD_HEADER);
            let whole = message.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            let slot = &mut batch.frames[index * SLOT..][..VLAN_ROOM + length];
            let header = &batch.offload[index];
            received.take(header, slot, tag, whole, scratch, &mut visit);
        }
        Ok(received)
    }

    /// Frames that the kernel dropped since the last call because we did not fetch them in time.
    pub(crate) fn overruns(&self) -> u64 {
        packet_overruns(&self.socket)
    }
}

impl Received {
    /// Finishes the frame in `slot` behind its [`VLAN_ROOM`] and hands on what comes of it. A frame
    /// that is not `whole` had no room.
    pub(crate) fn take(
        &mut self,
        header: &[u8; OFFLOAD_HEADER],
        slot: &mut [u8],
        tag: Option<[u8; 4]>,
        whole: bool,
        scratch: &mut Vec<u8>,
        visit: &mut impl FnMut(&[u8]),
    ) {
        if !whole {
            self.too_long += 1;
            return;
        }
        let tagged = if tag.is_some() { VLAN_ROOM } else { 0 };
        let frame = insert_tag(slot, tag);
        match finish(header, tagged, frame, scratch, visit) {
            Ok(()) => {}
            Err(Refusal::Uncut) => self.uncut += 1,
            Err(Refusal::Checksum) => self.bad_checksum += 1,
        }
    }
}

/// The VLAN tag that the kernel has taken off a frame, if it has.
fn vlan_tag(message: &mmsghdr) -> Option<[u8; 4]> {
    // SAFETY: the kernel has filled the control buffer that `message` points to, and the macros check
    // lengths against it.
    let header = unsafe { libc::CMSG_FIRSTHDR(&message.msg_hdr).as_ref() }?;
    let expected = (libc::SOL_PACKET, libc::PACKET_AUXDATA);
    if (header.cmsg_level, header.cmsg_type) != expected {
        return None;
    }
    // SAFETY: a PACKET_AUXDATA message carries a whole tpacket_auxdata, maybe unaligned.
    let data: libc::tpacket_auxdata =
        unsafe { std::ptr::read_unaligned(libc::CMSG_DATA(header).cast()) };
    tag_of(data.tp_status, data.tp_vlan_tpid, data.tp_vlan_tci)
}

/// The tag that a packet socket tells of, if any.
pub(crate) fn tag_of(status: u32, kind: u16, control: u16) -> Option<[u8; 4]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let kind = if known {
        kind
    } else {
        libc::ETH_P_8021Q as u16
    };
    let [[a, b], [c, d]] = [kind.to_be_bytes(), control.to_be_bytes()];
    Some([a, b, c, d])
}

/// The frame in `slot` behind its [`VLAN_ROOM`], with the tag put back behind the addresses.
fn insert_tag(slot: &mut [u8], tag: Option<[u8; 4]>) -> &mut [u8] {
    match tag {
        Some(tag) if slot.len() >= VLAN_ROOM + 12 => {
            slot.copy_within(VLAN_ROOM..VLAN_ROOM + 12, 0);
            slot[12..16].copy_from_slice(&tag);
            slot
        }
        _ => &mut slot[VLAN_ROOM..],
    }
}

/// What became of frames given to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// No room: the interface's peer is slower than we are.
    pub(crate) full: u64,
    /// Longer than the interface's MTU allows, or shorter than an Ethernet header.
    pub(crate) bad_length: u64,
    /// The interface is down or gone.
    pub(crate) down: u64,
}

/// The sending side of an interface: collects frames and sends them in one system call.
pub(crate) struct PacketSender {
    socket: OwnedFd,
    bytes: Vec<u8>,
    /// Where each collected frame ends in `bytes`.
    ends: Vec<usize>,
}

/// Room for the descriptions of one batch to send; one per switch, stays in its thread.
pub(crate) struct Outbox {
    parts: Vec<iovec>,
    messages: Vec<mmsghdr>,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        Outbox {
            parts: Vec::with_capacity(BATCH),
            messages: Vec::with_capacity(BATCH),
        }
    }
}

/// How frames leave the machine's network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Past queueing disciplines and captures, straight to the driver.
    Direct,
    /// As all packets go.
    Queued,
}

impl PacketSender {
    pub(crate) fn open(interface: &str, path: Path) -> Result<PacketSender, IoError> {
        let fail = |step| move |cause| IoError::at(interface, step, cause);
        let index = sys::interface_index(interface).map_err(fail("look it up"))?;
        let socket = sys::raw_socket(libc::AF_PACKET).map_err(fail("open a packet socket"))?;
        let bypass = c_int::from(path == Path::Direct);
        sys::set_option(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &bypass,
        )
        .map_err(fail("bypass the queueing discipline"))?;
        enlarge(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)
            .map_err(fail("enlarge the send buffer"))?;
        sys::bind_packet(&socket, index, 0).map_err(fail("bind"))?;
        Ok(PacketSender {
            socket,
            bytes: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Collects a frame. True if it is time to flush.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
        self.ends.len() >= BATCH
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends what was collected and tells `sent` of each frame that the kernel took.
    pub(crate) fn flush(&mut self, outbox: &mut Outbox, mut sent: impl FnMut(&[u8])) -> Sent {
        let mut lost = Sent::default();
        let frames = self.describe(outbox);
        let mut done = 0;
        while done < frames {
            let rest = &mut outbox.messages[done..];
            // SAFETY: the messages point into `outbox.parts` and `self.bytes`, neither of which
            // changes before this loop ends; the kernel only reads the frames.
            let count = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as u32,
                    libc::MSG_DONTWAIT,
                )
            };
            let taken = match sys::check(count) {
                Ok(taken) => taken as usize,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The first frame of the rest is the one that failed; the others get their turn.
                Err(error) => {
                    lost.add(&error);
                    done += 1;
                    continue;
                }
            };
            for index in done..done + taken {
                sent(self.frame(index));
            }
            done += taken;
        }
        self.bytes.clear();
        self.ends.clear();
        lost
    }

    fn frame(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    fn describe(&self, outbox: &mut Outbox) -> usize {
        let frames = self.ends.len();
        outbox.parts.clear();
        outbox.messages.clear();
        outbox.parts.extend((0..frames).map(|index| {
            let frame = self.frame(index);
            iovec {
                iov_base: frame.as_ptr().cast_mut().cast(),
                iov_len: frame.len(),
            }
        }));
        for part in &mut outbox.parts {
            // SAFETY: mmsghdr is integers and pointers, for which zeros are valid.
            let mut message: mmsghdr = unsafe { zeroed() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            outbox.messages.push(message);
        }
        frames
    }
}

impl Sent {
    fn add(&mut self, error: &io::Error) {
        match error.raw_os_error() {
            Some(libc::EMSGSIZE | libc::EINVAL) => self.bad_length += 1,
            Some(libc::EAGAIN | libc::ENOBUFS) => self.full += 1,
            _ => self.down += 1,
        }
    }
}

/// True for a frame that no interface takes, since it has no Ethernet header.
pub(crate) fn is_too_short(frame: &[u8]) -> bool {
    frame.len() < SHORTEST
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a VLAN lab sees untagged frames, depending on the sender's offloads.
    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        let mut slot = vec![0; VLAN_ROOM];
        slot.extend(1..=20);
        let mut expected: Vec<u8> = (1..=12).collect();
        expected.extend([0x81, 0, 0x20, 5]);
        expected.extend(13..=20);
        assert_eq!(
            insert_tag(&mut slot.clone(), Some([0x81, 0, 0x20, 5])),
            expected
        );
        assert_eq!(insert_tag(&mut slot, None), (1..=20).collect::<Vec<u8>>());
        let mut short = vec![0; VLAN_ROOM + 11];
        assert_eq!(insert_tag(&mut short, Some([1; 4])).len(), 11);
    }
}
