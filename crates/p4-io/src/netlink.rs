//! The two questions of rtnetlink that a back end has: what is this interface, and which number has
//! that namespace (linux/rtnetlink.h, linux/net_namespace.h).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::sys;

const RTM_GETLINK: u16 = 18;
const HEADER: usize = 16;
/// `struct ifinfomsg` after the header.
const LINK_HEADER: usize = HEADER + 16;
/// `struct rtgenmsg` after the header, padded.
const GENERAL_HEADER: usize = HEADER + 4;
const NLMSG_ERROR: u16 = 2;
const NETNSA_NSID: u16 = 1;
const NETNSA_FD: u16 = 3;
/// Long enough for a link with all its statistics.
const ANSWER: usize = 32 << 10;

/// A row of attributes: each its length, its kind and its value, padded to 4 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a>(pub(crate) &'a [u8]);

impl<'a> Attributes<'a> {
    /// Those of an answer to [`get_link`].
    pub(crate) fn of_link(answer: &'a [u8]) -> Attributes<'a> {
        Attributes(answer.get(LINK_HEADER..).unwrap_or_default())
    }

    /// The value of the first attribute of a kind.
    pub(crate) fn find(self, kind: u16) -> Option<&'a [u8]> {
        const KIND: u16 = 0x3FFF; // without the flags for nesting and byte order
        let mut rest = self.0;
        loop {
            let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
            let found = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & KIND;
            let value = rest.get(4..length)?;
            if found == kind {
                return Some(value);
            }
            rest = rest.get(length.next_multiple_of(4)..)?;
        }
    }
}

/// A 32-bit value.
pub(crate) fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
}

/// What the kernel says about an interface of this thread's namespace.
pub(crate) fn get_link(index: u32) -> io::Result<Vec<u8>> {
    let mut about = [0; 16];
    about[4..8].copy_from_slice(&index.to_ne_bytes());
    ask(RTM_GETLINK, &about)
}

/// The number that a namespace has in this thread's, if it has one.
pub(crate) fn number_of_namespace(namespace: RawFd) -> io::Result<Option<i32>> {
    let mut about = vec![0; 4];
    about.extend(8u16.to_ne_bytes());
    about.extend(NETNSA_FD.to_ne_bytes());
    about.extend(namespace.to_ne_bytes());
    let answer = ask(libc::RTM_GETNSID, &about)?;
    let attributes = Attributes(answer.get(GENERAL_HEADER..).unwrap_or_default());
    let number = attributes.find(NETNSA_NSID).and_then(number);
    // -1 says that it has none.
    Ok(number
        .map(|number| number as i32)
        .filter(|number| *number >= 0))
}

/// Sends one request and gives the answer.
fn ask(kind: u16, about: &[u8]) -> io::Result<Vec<u8>> {
    let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let fd = sys::check(unsafe { libc::socket(libc::AF_NETLINK, flags, libc::NETLINK_ROUTE) })?;
    // SAFETY: the kernel has just given us this descriptor and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut request = Vec::with_capacity(HEADER + about.len());
    request.extend(((HEADER + about.len()) as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request.extend([0; 8]); // sequence and port: one question, one answer
    request.extend(about);
    let fd = socket.as_raw_fd();
    // SAFETY: pointer and length describe `request`, which is only read.
    let sent = unsafe { libc::send(fd, request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut answer = vec![0; ANSWER];
    // SAFETY: at most `answer.len()` bytes are written into `answer`.
    let length = unsafe { libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0) };
    if length < 0 {
        return Err(io::Error::last_os_error());
    }
    answer.truncate(length as usize);
    let field = |at: usize| answer.get(at..at + 4).and_then(number);
    let Some(kind) = field(4) else {
        return Err(io::Error::other("an answer of the kernel is cut off"));
    };
    if kind as u16 == NLMSG_ERROR {
        let code = field(HEADER).map_or(0, |code| code as i32);
        return Err(io::Error::from_raw_os_error(-code));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a port's kind or peer is misread, or a strange answer ends the program.
    #[test]
    fn attributes_are_found_and_broken_ones_are_not() {
        let row = |parts: &[(u16, &[u8])]| {
            let mut bytes = Vec::new();
            for (kind, value) in parts {
                bytes.extend((4 + value.len() as u16).to_ne_bytes());
                bytes.extend(kind.to_ne_bytes());
                bytes.extend(*value);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let bytes = row(&[(1, b"abcde"), (0x8002, &7u32.to_ne_bytes()), (3, b"")]);
        let attributes = Attributes(&bytes);
        assert_eq!(attributes.find(1), Some(&b"abcde"[..]));
        assert_eq!(attributes.find(2).and_then(number), Some(7));
        assert_eq!(attributes.find(3), Some(&b""[..]));
        assert_eq!(attributes.find(4), None);
        for length in 0..bytes.len() {
            Attributes(&bytes[..length]).find(9);
        }
        assert_eq!(
            Attributes(&[0, 0, 1, 0]).find(1),
            None,
            "shorter than itself"
        );
        assert_eq!(Attributes(&[0; 64]).find(1), None);
    }

    #[test]
    fn the_kernel_answers() {
        let loopback = get_link(1).expect("every namespace has a loopback");
        let name = Attributes::of_link(&loopback).find(3);
        assert_eq!(name, Some(&b"lo\0"[..]));
        let error = get_link(0x7fff_ffff).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
