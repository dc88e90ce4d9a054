//! The XDP program that hands every frame of an interface to our socket.
//!
//! Six instructions, loaded by the bpf system call; nothing to compile or to install. The program
//! hangs on the interface by a bpf link, which the kernel takes away with our process, in whatever
//! way that ends.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::c_int;

/// Numbers of linux/bpf.h.
const MAP_CREATE: c_int = 0;
const MAP_UPDATE_ELEM: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
const HELPER_REDIRECT_MAP: i32 = 51;
const PSEUDO_MAP_FD: u8 = 1;
const XDP_PASS: i32 = 2;
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

#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// Destination in the lower half, source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`.
fn code(map: c_int) -> [Instruction; 6] {
    const LOAD_WORD: u8 = 0x61;
    const LOAD_IMMEDIATE_64: u8 = 0x18;
    const MOVE_IMMEDIATE: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
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
struct CreateMap {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
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
struct LoadProgram {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct CreateLink {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// One bpf system call; its result is a descriptor or zero.
///
/// # Safety
/// `T` must be what the kernel expects for `command`, with every address in it valid.
unsafe fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_int> {
    // SAFETY: pointer and length describe `attributes`, which the kernel reads only; the rest is the
    // caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as c_int)
}

fn descriptor(fd: c_int) -> OwnedFd {
    // SAFETY: called with what the kernel has just given us, known to nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

/// A map from queue number to socket, with `socket` for queue 0.
fn socket_map(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let attributes = CreateMap {
        kind: MAP_TYPE_XSKMAP,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        flags: 0,
    };
    // SAFETY: the structure belongs to the command and holds no address.
    let map = descriptor(unsafe { bpf(MAP_CREATE, &attributes) }?);
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

fn load(map: &OwnedFd, flags: u32) -> io::Result<OwnedFd> {
    let code = code(map.as_raw_fd());
    let license = c"Apache-2.0";
    let attributes = LoadProgram {
        kind: PROG_TYPE_XDP,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags,
    };
    // SAFETY: the structure belongs to the command; code and licence are live and as long as said.
    Ok(descriptor(unsafe { bpf(PROG_LOAD, &attributes) }?))
}

/// Sends all frames of queue 0 of an interface to `socket`.
pub(super) fn attach(interface: u32, socket: &OwnedFd, mode: Mode) -> io::Result<Attachment> {
    let map = socket_map(socket)?;
    // Kernels that do not know fragments refuse the flag; short frames they can all the same.
    let program = load(&map, PROGRAM_TAKES_FRAGMENTS).or_else(|_| load(&map, 0))?;
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
