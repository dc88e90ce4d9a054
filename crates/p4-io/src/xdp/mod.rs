//! AF_XDP in copy mode: frames in memory that we share with the kernel, no call per frame to receive.
//!
//! Each port has a socket of its own with memory for its frames (the UMEM), cut into chunks: the lower
//! ones receive, the upper ones send. What a sender on the same machine leaves to be done does not
//! come along with a frame here, so it is avoided: a veth's peer cuts frames itself as soon as our
//! program is on the interface (the kernel sees to that), and checksums and VLAN tags are switched off
//! at the peer by us, until the port closes.

mod program;
mod receiver;
mod ring;
mod sender;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use receiver::XdpReceiver;
pub(crate) use sender::XdpSender;

use crate::error::IoError;
use crate::link::{self, Offloads};
use crate::share::Share;
use crate::sys::{self, Mapping};
use program::{Attachment, Mode};
use ring::Ring;

/// Bytes of a chunk; the kernel's smallest. A frame that is longer takes several.
const CHUNK: u64 = 2048;
/// What the kernel leaves free at the start of a chunk (XDP_PACKET_HEADROOM).
const HEADROOM: usize = 256;
/// Chunks of a port to send from, unless it receives into fewer: several batches of jumbo frames.
const SENDING: u32 = 512;
/// Chunks of a switch to receive into, shared out among its ports: 32 MB.
const RECEIVING: u32 = 16_384;
const RECEIVING_PER_PORT: std::ops::RangeInclusive<u32> = 256..=4096;
/// Ethernet header and one VLAN tag.
const HEADER: usize = 18;
/// The kernel frees a closed socket's place a little later (a work queue): tries, and time between.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(4);

/// What both halves of a port need to stay alive. Dropped in this order: first the program, so that
/// no frame comes for a socket that is gone.
struct Shared {
    _program: Attachment,
    socket: OwnedFd,
    memory: Mapping,
    _share: Share,
    _offloads: Option<Offloads>,
}

/// Why AF_XDP is not for this interface.
fn unfit(interface: &str, why: String) -> IoError {
    IoError::Unfit {
        interface: interface.to_string(),
        why,
    }
}

/// Opens an interface; the note says what is lost where that is not nothing. With `forced` it opens
/// even where a peer's VLAN tags get lost.
pub(crate) fn open(
    interface: &str,
    forced: bool,
    ports: usize,
) -> Result<(XdpReceiver, XdpSender, Option<String>), IoError> {
    let fail = |step| move |cause| IoError::at(interface, step, cause);
    let index = sys::interface_index(interface).map_err(fail("look it up"))?;
    let about = link::describe(interface, index).map_err(fail("ask about it"))?;
    if about.receive_queues > 1 {
        let queues = about.receive_queues;
        return Err(unfit(
            interface,
            format!("it has {queues} receive queues and AF_XDP serves one (`ethtool -L {interface} rx 1 tx 1`)"),
        ));
    }
    let (mut offloads, mut note) = (None, None);
    if about.is_veth {
        match Offloads::switch_off_at_peer(&about) {
            Ok(switched) => offloads = Some(switched),
            Err(error) => {
                let why = format!("its other end cannot be told to send finished frames: {error}");
                if !forced {
                    return Err(unfit(interface, why));
                }
                note = Some(format!(
                    "{why}; VLAN tags that it leaves to hardware are lost"
                ));
            }
        }
    }
    let fair = RECEIVING / u32::try_from(ports.max(1)).unwrap_or(u32::MAX).max(1);
    let most = fair
        .clamp(*RECEIVING_PER_PORT.start(), *RECEIVING_PER_PORT.end())
        .next_power_of_two();
    let bytes = |chunks: u32| chunks as usize * CHUNK as usize;
    let least = bytes(*RECEIVING_PER_PORT.start());
    let share = Share::take(least, bytes(most), bytes(SENDING));
    let chunks = |bytes: usize| (bytes / CHUNK as usize) as u32;
    let (receiving, sending) = (chunks(share.receiving()), chunks(share.sending()));
    let fitted = Fitted::new(index, receiving, sending).map_err(fail("set up AF_XDP"))?;
    let longest = about.mtu + HEADER;
    if longest > CHUNK as usize - HEADROOM && !fitted.takes_jumbo {
        return Err(unfit(
            interface,
            format!(
                "frames of its MTU of {} bytes need AF_XDP over several buffers (Linux 6.6)",
                about.mtu
            ),
        ));
    }
    let program = attach(interface, index, about.is_veth, &fitted.socket)?;
    let shared = Arc::new(Shared {
        _program: program,
        socket: fitted.socket,
        memory: fitted.memory,
        _share: share,
        _offloads: offloads,
    });
    let receiver = XdpReceiver::new(Arc::clone(&shared), fitted.fill, fitted.received, longest);
    let to_send = receiving..receiving + sending;
    let sender = XdpSender::new(
        shared,
        fitted.to_send,
        fitted.completed,
        to_send,
        interface,
        fitted.takes_jumbo,
    );
    Ok((receiver, sender, note))
}

/// A veth takes the program in its driver, which makes its peer cut frames; without that, frames of
/// 64 kB would come with nothing to tell how they want to be cut. Other interfaces may take it in the
/// generic path as well.
fn attach(
    interface: &str,
    index: u32,
    is_veth: bool,
    socket: &OwnedFd,
) -> Result<Attachment, IoError> {
    let attached = match program::attach(index, socket, Mode::Driver) {
        Err(_) if !is_veth => program::attach(index, socket, Mode::Generic),
        attached => attached,
    };
    attached.map_err(|cause| match cause.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => unfit(
            interface,
            "another XDP program is on it (`ip link` shows it)".into(),
        ),
        Some(libc::ERANGE) => unfit(
            interface,
            "this kernel's XDP does not take frames of the MTU of its other end".into(),
        ),
        _ => IoError::at(interface, "attach an XDP program", cause),
    })
}

/// A socket with memory and rings, bound to queue 0 of an interface.
struct Fitted {
    socket: OwnedFd,
    memory: Mapping,
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    to_send: Ring<libc::xdp_desc>,
    completed: Ring<u64>,
    takes_jumbo: bool,
}

impl Fitted {
    fn new(interface: u32, receiving: u32, sending: u32) -> io::Result<Fitted> {
        let socket = sys::raw_socket(libc::AF_XDP)?;
        let level = libc::SOL_XDP;
        let length = u64::from(receiving + sending) * CHUNK;
        let memory = Mapping::anonymous(length as usize)?;
        let registered = libc::xdp_umem_reg {
            addr: memory.at(0) as u64,
            len: length,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        sys::set_option(&socket, level, libc::XDP_UMEM_REG, &registered)?;
        let sizes = [
            (libc::XDP_UMEM_FILL_RING, receiving),
            (libc::XDP_UMEM_COMPLETION_RING, sending),
            (libc::XDP_RX_RING, receiving),
            (libc::XDP_TX_RING, sending),
        ];
        for (ring, size) in sizes {
            sys::set_option(&socket, level, ring, &size)?;
        }
        // SAFETY: integers only; any bytes are valid.
        let offsets: libc::xdp_mmap_offsets =
            unsafe { sys::get_option(&socket, level, libc::XDP_MMAP_OFFSETS) }?;
        let [fill_page, completed_page] = [
            libc::XDP_UMEM_PGOFF_FILL_RING,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING,
        ]
        .map(|page| page as i64);
        let mut fill = Ring::map(&socket, offsets.fr, fill_page, receiving)?;
        let completed = Ring::map(&socket, offsets.cr, completed_page, sending)?;
        let received = Ring::map(&socket, offsets.rx, libc::XDP_PGOFF_RX_RING, receiving)?;
        let to_send = Ring::map(&socket, offsets.tx, libc::XDP_PGOFF_TX_RING, sending)?;
        for chunk in 0..u64::from(receiving) {
            fill.put(chunk * CHUNK);
        }
        fill.publish();
        let takes_jumbo = bind(&socket, interface)?;
        Ok(Fitted {
            socket,
            memory,
            fill,
            received,
            to_send,
            completed,
            takes_jumbo,
        })
    }
}

/// Binds to queue 0; true if frames may take several chunks.
fn bind(socket: &OwnedFd, interface: u32) -> io::Result<bool> {
    let address = |flags| libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    for attempt in 0.. {
        let jumbo = sys::bind(socket, &address(libc::XDP_COPY | libc::XDP_USE_SG));
        let bound = match jumbo {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                sys::bind(socket, &address(libc::XDP_COPY)).map(|()| false)
            }
            bound => bound.map(|()| true),
        };
        match bound {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && attempt < BUSY_TRIES => {
                std::thread::sleep(BUSY_PAUSE);
            }
            bound => return bound,
        }
    }
    unreachable!("the last attempt returns")
}
