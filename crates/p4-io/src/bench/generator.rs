//! A load generator: the kernel itself puts copies of a frame on a cable (BPF_PROG_TEST_RUN with live
//! frames, Linux 5.18), several times as fast as a socket could. An XDP program says of each copy
//! whether its time has come.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use crate::bpf::{
    bpf, create_map, instruction, load_xdp, Instruction, Map, CALL, EXIT, LOAD_IMMEDIATE_64,
    MAP_TYPE_ARRAY, MOVE_IMMEDIATE, PSEUDO_MAP_FD,
};
use crate::error::IoError;
use crate::sys;

const PROG_TEST_RUN: c_int = 10;
const HELPER_LOOKUP: i32 = 1;
const HELPER_TIME: i32 = 5;
const HELPER_REDIRECT: i32 = 23;
const XDP_DROP: i32 = 1;
const LIVE_FRAMES: u32 = 1 << 1;
/// Copies that the kernel makes in one go.
const BATCH: u32 = 64;
/// Copies of one call: setting up takes the kernel milliseconds, so there should be few calls.
const COPIES: u32 = 1 << 30;
/// Nanoseconds of delay that are caught up with; beyond, frames are left out.
const CATCH_UP: i32 = 200_000;

/// The part of `union bpf_attr` for BPF_PROG_TEST_RUN.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    result: u32,
    data_in_size: u32,
    data_out_size: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_in_size: u32,
    context_out_size: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    _padding: u32,
}

/// A process that puts frames on a cable until this value is dropped.
pub(super) struct Generator(libc::pid_t);

impl Generator {
    /// Starts to send `frame` from an interface of this thread's namespace, `rate` times a second or
    /// as often as it goes.
    pub(super) fn start(
        interface: &str,
        frame: &[u8],
        rate: Option<f64>,
    ) -> Result<Generator, IoError> {
        let fail = |step| move |cause| IoError::at(interface, step, cause);
        let index = sys::interface_index(interface).map_err(fail("look it up"))?;
        let loaded = match rate {
            Some(rate) => load_paced(index, 1e9 / rate),
            None => load_xdp(&redirect(index), 0).map(|program| (program, None)),
        };
        let (program, _clock) = loaded.map_err(fail("load a load generator"))?;
        let mut attributes = TestRun {
            program: program.as_raw_fd() as u32,
            data_in_size: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            repeat: 1,
            flags: LIVE_FRAMES,
            batch_size: 1,
            ..TestRun::default()
        };
        // SAFETY: the structure belongs to the command; the frame is live and as long as said, and
        // nothing is asked back.
        unsafe { bpf(PROG_TEST_RUN, &attributes) }
            .map_err(fail("generate load (Linux 5.18 can)"))?;
        (attributes.repeat, attributes.batch_size) = (COPIES, BATCH);
        // SAFETY: the child makes system calls only, with memory that the fork has copied: no
        // allocation, no lock, no return.
        let child = unsafe {
            sys::check(libc::fork()).inspect(|child| {
                if *child == 0 {
                    send_for_ever(&attributes);
                }
            })
        };
        child.map(Generator).map_err(fail("start a load generator"))
    }
}

/// # Safety
/// As for `bpf`. To be called in a child of a fork, since it ends the process.
unsafe fn send_for_ever(attributes: &TestRun) -> ! {
    // SAFETY: numbers only; `bpf` as the caller promises.
    unsafe {
        // Its parent is the thread that measures: no generator outlives it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        while bpf(PROG_TEST_RUN, attributes).is_ok() {}
        libc::_exit(0)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: the number is that of our child, which nobody else waits for. Neither call can
        // fail for a child that exists.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// `return bpf_redirect(interface, 0)`: out of the interface as if it had been sent there.
fn redirect(interface: u32) -> [Instruction; 4] {
    [
        instruction(MOVE_IMMEDIATE, 1, 0, interface as i32),
        instruction(MOVE_IMMEDIATE, 2, 0, 0),
        instruction(CALL, 0, 0, HELPER_REDIRECT),
        instruction(EXIT, 0, 0, 0),
    ]
}

/// A program that sends one frame in `interval` nanoseconds, and the map with the next one's time.
fn load_paced(interface: u32, interval: f64) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    const MOVE: u8 = 0xbf;
    const ADD_IMMEDIATE: u8 = 0x07;
    const LOAD: u8 = 0x79;
    const STORE: u8 = 0x7b;
    const STORE_WORD_IMMEDIATE: u8 = 0x62;
    const JUMP_IF_EQUAL_IMMEDIATE: u8 = 0x15;
    const JUMP_IF_LESS: u8 = 0xad;
    const JUMP_IF_AT_LEAST: u8 = 0x3d;
    let map = create_map(&Map {
        kind: MAP_TYPE_ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        flags: 0,
    })?;
    let interval = interval.clamp(1.0, 1e9) as i32;
    let mut code = vec![
        instruction(CALL, 0, 0, HELPER_TIME),
        instruction(MOVE, 7, 0, 0), // the time
        instruction(STORE_WORD_IMMEDIATE, 10, -4, 0),
        instruction(MOVE, 2 | 10 << 4, 0, 0),
        instruction(ADD_IMMEDIATE, 2, 0, -4),
        instruction(
            LOAD_IMMEDIATE_64,
            1 | PSEUDO_MAP_FD << 4,
            0,
            map.as_raw_fd(),
        ),
        instruction(0, 0, 0, 0),
        instruction(CALL, 0, 0, HELPER_LOOKUP),
        instruction(JUMP_IF_EQUAL_IMMEDIATE, 0, 12, 0), // to the end: no such entry
        instruction(LOAD, 8, 0, 0),
        instruction(JUMP_IF_LESS, 7 | 8 << 4, 10, 0), // to the end: too early
        instruction(ADD_IMMEDIATE, 8, 0, interval),
        instruction(MOVE, 9 | 8 << 4, 0, 0),
        instruction(ADD_IMMEDIATE, 9, 0, CATCH_UP),
        instruction(JUMP_IF_AT_LEAST, 9 | 7 << 4, 1, 0),
        instruction(MOVE, 8 | 7 << 4, 0, 0), // too late: from now on
        instruction(STORE, 8 << 4, 0, 0),
    ];
    code.extend(redirect(interface));
    code.extend([
        instruction(MOVE_IMMEDIATE, 0, 0, XDP_DROP),
        instruction(EXIT, 0, 0, 0),
    ]);
    Ok((load_xdp(&code, 0)?, Some(map)))
}
