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

/// The name of an interface of this thread's namespace.
pub(crate) fn interface_name(index: u32) -> io::Result<String> {
    let mut name = [0 as libc::c_char; libc::IF_NAMESIZE];
    // SAFETY: the kernel's names with their NUL fit into IF_NAMESIZE bytes.
    if unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    let bytes: Vec<u8> = name
        .iter()
        .map(|c| *c as u8)
        .take_while(|c| *c != 0)
        .collect();
    String::from_utf8(bytes).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))
}

/// Moves this thread, and it alone, into a network namespace.
pub(crate) fn enter_network_namespace(namespace: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
    Ok(())
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
        // A signal for the process is not an event for the switch.
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

/// The processors that this thread may run on.
pub(crate) fn processors() -> io::Result<libc::cpu_set_t> {
    // SAFETY: an array of integers, for which zeros are valid.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the given size into a live local.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    Ok(set)
}

/// Lets this thread, and what it starts, run before all programs of ordinary priority, and before
/// those of a lower real-time `priority` (from 1).
pub(crate) fn come_first(priority: i32) -> io::Result<()> {
    let priority = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the kernel reads a live local.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &priority) })?;
    Ok(())
}

/// Keeps this thread, and what it starts, on some processors.
pub(crate) fn run_on(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: the kernel reads the given size from a live value.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) })?;
    Ok(())
}

/// One processor for each of two busy threads, if `all` has that many; otherwise `all` for both.
pub(crate) fn two_processors(all: &libc::cpu_set_t) -> [libc::cpu_set_t; 2] {
    // SAFETY: the index stays within the set's size.
    let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, all) };
    let mut found = (0..libc::CPU_SETSIZE as usize).filter(has);
    let (Some(first), Some(second)) = (found.next(), found.next()) else {
        return [*all; 2];
    };
    [first, second].map(|cpu| {
        // SAFETY: an array of integers, for which zeros are valid; the index is one of the set's.
        unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            libc::CPU_SET(cpu, &mut set);
            set
        }
    })
}

/// Processor time that this thread has used, in seconds.
pub(crate) fn thread_time() -> f64 {
    // This clock always exists.
    clock_time(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// Processor time that a process has used, in seconds; `None` if it is gone.
pub(crate) fn process_time(process: u32) -> Option<f64> {
    let mut clock = 0;
    // SAFETY: the number of a clock is written to a live local.
    let result = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) };
    (result == 0).then(|| clock_time(clock)).flatten()
}

fn clock_time(clock: libc::clockid_t) -> Option<f64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live timespec is written.
    check(unsafe { libc::clock_gettime(clock, &mut time) }).ok()?;
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
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

/// Memory that the kernel has mapped for us.
pub(crate) struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: the memory belongs to nobody else; who shares a mapping says how its parts are divided.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared reference only gives out addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Part of what a socket offers, shared with the kernel.
    pub(crate) fn of_file(fd: &OwnedFd, offset: i64, length: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Mapping::new(fd.as_raw_fd(), flags, offset, length)
    }

    /// Fresh zeros.
    pub(crate) fn anonymous(length: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Mapping::new(-1, flags, 0, length)
    }

    fn new(fd: RawFd, flags: c_int, offset: i64, length: usize) -> io::Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: asks for memory wherever the kernel likes; nothing existing is replaced.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast();
        Ok(Mapping { start, length })
    }

    /// The address of a byte, which must lie in the mapping.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "an address outside of a mapping");
        // SAFETY: it lies in the mapping, as just seen.
        unsafe { self.start.add(offset) }
    }

    /// The `length` bytes from `offset` on, or `None` if they do not all lie in the mapping.
    ///
    /// # Safety
    /// Until the slice is gone nobody else may touch these bytes, the kernel included.
    #[allow(clippy::mut_from_ref)] // shared by halves that use different parts of it
    pub(crate) unsafe fn bytes(&self, offset: usize, length: usize) -> Option<&mut [u8]> {
        let end = offset.checked_add(length)?;
        if end > self.length {
            return None;
        }
        // SAFETY: the range lies in the mapping; nobody else uses it, as the caller promises.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), length) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and nothing refers to it any more. The call
        // can fail only for other arguments.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// Asks about an interface by ioctl: `request` with `data` in the place of the request's union.
pub(crate) fn interface_ioctl(
    interface: &str,
    request: libc::Ioctl,
    data: &mut libc::__c_anonymous_ifr_ifru,
) -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
    // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: ifreq is integers and pointers, for which zeros are valid.
    let mut message: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= message.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in message.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    message.ifr_ifru = *data;
    // SAFETY: `message` is what interface requests take; where it holds an address, the caller has
    // put that of a live structure there.
    check(unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            request,
            std::ptr::from_mut(&mut message),
        )
    })?;
    *data = message.ifr_ifru;
    Ok(())
}

/// The longest packet, without the Ethernet header, that an interface takes.
pub(crate) fn mtu(interface: &str) -> io::Result<usize> {
    let mut data = libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 };
    interface_ioctl(interface, libc::SIOCGIFMTU as libc::Ioctl, &mut data)?;
    // SAFETY: the request has filled in this member.
    Ok(unsafe { data.ifru_mtu } as usize)
}
