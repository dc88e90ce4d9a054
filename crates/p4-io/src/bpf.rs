//! The bpf system call: small XDP programs, written as instructions, without a compiler or a library.

use std::io;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::c_int;

/// Numbers of linux/bpf.h.
const MAP_CREATE: c_int = 0;
const PROG_LOAD: c_int = 5;
const PROG_TYPE_XDP: u32 = 6;
pub(crate) const LOAD_WORD: u8 = 0x61;
pub(crate) const LOAD_IMMEDIATE_64: u8 = 0x18;
pub(crate) const MOVE_IMMEDIATE: u8 = 0xb7;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;
pub(crate) const XDP_PASS: i32 = 2;
pub(crate) const MAP_TYPE_ARRAY: u32 = 2;
pub(crate) const PSEUDO_MAP_FD: u8 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    code: u8,
    /// Destination in the lower half, source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

pub(crate) const fn instruction(
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

/// What a map is to be.
#[repr(C)]
pub(crate) struct Map {
    pub(crate) kind: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
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

/// One bpf system call; its result is a descriptor or zero.
///
/// # Safety
/// `T` must be what the kernel expects for `command`, with every address in it valid.
pub(crate) unsafe fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_int> {
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

/// Takes charge of a descriptor that the kernel has just given us.
pub(crate) fn descriptor(fd: c_int) -> OwnedFd {
    // SAFETY: called with what the kernel has just given us, known to nobody else.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// The address of a live value, as the kernel wants it.
pub(crate) fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

/// Loads an XDP program.
pub(crate) fn load_xdp(code: &[Instruction], flags: u32) -> io::Result<OwnedFd> {
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

/// Makes a map that programs and we share.
pub(crate) fn create_map(map: &Map) -> io::Result<OwnedFd> {
    // SAFETY: the structure belongs to the command and holds no address.
    Ok(descriptor(unsafe { bpf(MAP_CREATE, map) }?))
}
