//! The few system calls that std does not wrap, each with its reason to be sound.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use libc::{c_int, c_void, socklen_t};

/// Turns the -1 of a system call into the error that it stands for.
pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The number of an interface.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// A non-blocking raw socket of a family (AF_PACKET, AF_XDP).
pub(crate) fn raw_socket(family: c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(family, kind, 0) })?;
    // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option whose value is a plain structure or number.
pub(crate) fn set_option<T: Copy>(
    fd: &OwnedFd,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    let length = size_of::<T>() as socklen_t;
    // SAFETY: the pointer and the length describe `value`, which outlives the call; the kernel only
    // reads it.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    })?;
    Ok(())
}

/// Reads an option whose value is a plain structure of integers.
///
/// # Safety
/// Any bytes must be a valid `T`.
pub(crate) unsafe fn get_option<T: Copy>(fd: &OwnedFd, level: c_int, name: c_int) -> io::Result<T> {
    // SAFETY: the caller vouches that zeros are a valid `T`.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `value`.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_mut(&mut value).cast::<c_void>(),
            &mut length,
        )
    })?;
    Ok(value)
}

/// Binds a packet socket to one interface; `protocol` 0 receives nothing.
pub(crate) fn bind_packet(fd: &OwnedFd, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: sockaddr_ll is integers only, for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as c_int;
    bind(fd, &address)
}

/// Binds a socket to an address structure of its family.
pub(crate) fn bind<A>(fd: &OwnedFd, address: &A) -> io::Result<()> {
    let length = size_of::<A>() as socklen_t;
    // SAFETY: the pointer and the length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), length) })?;
    Ok(())
}

/// Waits until one of `descriptors` can be read or has an error, or the time is up (`None`: for ever).
pub(crate) fn wait(descriptors: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let limit = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = descriptors.len() as libc::nfds_t;
    // SAFETY: pointer and count describe a live slice; `limit` is null or points to a live local.
    let result = unsafe { libc::ppoll(descriptors.as_mut_ptr(), count, limit, std::ptr::null()) };
    match check(result) {
        Ok(_) => Ok(()),
        // A signal for the process is no event for the switch.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
    }
}

/// An entry for [`wait`] that asks for readability.
pub(crate) fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}

/// A counter in the kernel by which another thread can end a [`wait`].
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
        Ok(Bell(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Ends the other side's wait, now or the next one. Cannot fail in a way that matters: a counter
    /// that is full is ringing already.
    pub(crate) fn ring(&self) {
        let one = 1u64;
        // SAFETY: eight bytes of a live local are read.
        unsafe { libc::write(self.fd(), std::ptr::from_ref(&one).cast(), 8) };
    }

    /// Stops the ringing.
    pub(crate) fn hush(&self) {
        let mut count = 0u64;
        // SAFETY: eight bytes of a live local are written.
        unsafe { libc::read(self.fd(), std::ptr::from_mut(&mut count).cast(), 8) };
    }
}
