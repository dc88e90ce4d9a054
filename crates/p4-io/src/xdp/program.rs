//! The XDP program that hands every frame of an interface to our socket.
//!
//! Six instructions, loaded by the bpf system call; nothing to compile or to install. The program
//! hangs on the interface by a bpf link, which the kernel takes away with our process, in whatever
//! way that ends.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use crate::bpf::{
    address, bpf, create_map, descriptor, instruction, load_xdp, Instruction, Map, CALL, EXIT,
    LOAD_IMMEDIATE_64, LOAD_WORD, MOVE_IMMEDIATE, PSEUDO_MAP_FD, XDP_PASS,
};

/// Numbers of linux/bpf.h.
const MAP_UPDATE_ELEM: c_int = 2;
const LINK_CREATE: c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const ATTACH_XDP: u32 = 37;
const HELPER_REDIRECT_MAP: i32 = 51;
/// The program can take frames of several pages: jumbo frames (Linux 5.18).
const PROGRAM_TAKES_FRAGMENTS: u32 = 1 << 5;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;

/// In which of its two places the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the kernel's generic receive path.
    Generic = 1 << 1,
    /// In the driver. A veth's peer then cuts its frames itself (no GSO), by the kernel's own doing.
    Driver = 1 << 2,
}

/// The program on an interface; goes away with this value.
pub(super) struct Attachment {
    _link: OwnedFd,
    _map: OwnedFd,
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`.
fn code(map: c_int) -> [Instruction; 6] {
    [
        instruction(LOAD_WORD, 2 | 1 << 4, RX_QUEUE_INDEX, 0),
        instruction(LOAD_IMMEDIATE_64, 1 | PSEUDO_MAP_FD << 4, 0, map),
        instruction(0, 0, 0, 0),
        instruction(MOVE_IMMEDIATE, 3, 0, XDP_PASS),
        instruction(CALL, 0, 0, HELPER_REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ]
}

#[repr(C)]
struct UpdateElement {
    map: u32,
    _padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct CreateLink {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// A map from queue number to socket, with `socket` for queue 0.
fn socket_map(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let map = create_map(&Map {
        kind: MAP_TYPE_XSKMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        flags: 0,
    })?;
    let (key, value) = (0u32, socket.as_raw_fd() as u32);
    let attributes = UpdateElement {
        map: map.as_raw_fd() as u32,
        _padding: 0,
        key: address(&key),
        value: address(&value),
        flags: 0,
    };
    // SAFETY: the structure belongs to the command; key and value are live locals of the map's sizes.
    unsafe { bpf(MAP_UPDATE_ELEM, &attributes) }?;
    Ok(map)
}

/// Sends all frames of queue 0 of an interface to `socket`.
pub(super) fn attach(interface: u32, socket: &OwnedFd, mode: Mode) -> io::Result<Attachment> {
    let map = socket_map(socket)?;
    // Kernels that do not know fragments refuse the flag; short frames they can all the same.
    let code = code(map.as_raw_fd());
    let program = load_xdp(&code, PROGRAM_TAKES_FRAGMENTS).or_else(|_| load_xdp(&code, 0))?;
    let attributes = CreateLink {
        program: program.as_raw_fd() as u32,
        interface,
        attach_type: ATTACH_XDP,
        flags: mode as u32,
    };
    // SAFETY: the structure belongs to the command and holds no address.
    let link = descriptor(unsafe { bpf(LINK_CREATE, &attributes) }?);
    Ok(Attachment {
        _link: link,
        _map: map,
    })
}
