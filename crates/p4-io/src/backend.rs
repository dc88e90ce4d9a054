//! The three ways to an interface, and which one it gets.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::str::FromStr;

use crate::error::IoError;
use crate::packet::{Inbox, Outbox, PacketReceiver, PacketSender, Path, Received, Sent};
use crate::ring::RingReceiver;
use crate::xdp::{self, XdpReceiver, XdpSender};

/// How frames get from the kernel to the switch and back, the fastest first.
///
/// All three hand over the same frames, whatever the sender left to be done; they differ in speed
/// and in what else the machine sees of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    /// AF_XDP in copy mode (Linux 5.9, jumbo frames from 6.6). The kernel's own network stack does
    /// not get the frames, and packet captures on the switch's interfaces do not see them.
    AfXdp,
    /// A TPACKET_V3 ring to receive, `sendmmsg` past the queueing discipline to send. A frame may
    /// wait a millisecond for its block to be handed over. Captures see what is received.
    TpacketV3,
    /// `recvmmsg` and `sendmmsg`: the slowest, on every Linux. Captures see both directions.
    Socket,
}

impl Backend {
    pub const ALL: [Backend; 3] = [Backend::AfXdp, Backend::TpacketV3, Backend::Socket];

    pub fn name(self) -> &'static str {
        match self {
            Backend::AfXdp => "af_xdp",
            Backend::TpacketV3 => "tpacket_v3",
            Backend::Socket => "socket",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Backend, String> {
        let known = Backend::ALL
            .into_iter()
            .find(|backend| backend.name() == name);
        known.ok_or_else(|| {
            let names = Backend::ALL
                .map(|backend| format!("`{backend}`"))
                .join(", ");
            format!("there is no back end `{name}`; there are {names}")
        })
    }
}

/// Which back end a port has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortBackend {
    pub port: u16,
    pub interface: String,
    pub backend: Backend,
    /// Why not a faster one, or what this one cannot do here.
    pub note: Option<String>,
}

/// The receiving side of an interface.
pub(crate) enum Receiver {
    Xdp(XdpReceiver),
    Ring(RingReceiver),
    Socket(PacketReceiver),
}

/// The sending side of an interface: collects frames, then sends them together.
pub(crate) enum Sender {
    Xdp(XdpSender),
    Packet(PacketSender),
}

/// An interface that is ready to carry frames.
pub(crate) struct Opened {
    pub(crate) backend: Backend,
    pub(crate) note: Option<String>,
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

/// Opens `interface` in the way that is `wanted`, or in the fastest that works. `ports` is the number
/// of interfaces that the switch has in all: buffers are cut accordingly.
pub(crate) fn open(
    interface: &str,
    wanted: Option<Backend>,
    ports: usize,
) -> Result<Opened, IoError> {
    let forced = wanted.is_some();
    let mut reasons = Vec::new();
    for backend in Backend::ALL {
        if wanted.is_some_and(|wanted| wanted != backend) {
            continue;
        }
        match open_with(interface, backend, forced, ports) {
            Ok(mut opened) => {
                reasons.extend(opened.note.take());
                opened.note = (!reasons.is_empty()).then(|| reasons.join("; "));
                return Ok(opened);
            }
            // Another back end has no better chance. Where AF_XDP is not permitted, one may have:
            // root of a user namespace may open packet sockets, but load no XDP program.
            Err(error @ IoError::NoInterface { .. }) => return Err(error),
            Err(error) if forced || backend == Backend::Socket => return Err(error),
            Err(error) => reasons.push(format!("no {backend}: {error}")),
        }
    }
    unreachable!("the last back end either opens or fails")
}

fn open_with(
    interface: &str,
    backend: Backend,
    forced: bool,
    ports: usize,
) -> Result<Opened, IoError> {
    let (receiver, sender, note) = match backend {
        Backend::AfXdp => {
            let (receiver, sender, note) = xdp::open(interface, forced, ports)?;
            (Receiver::Xdp(receiver), Sender::Xdp(sender), note)
        }
        Backend::TpacketV3 => {
            let receiver = RingReceiver::open(interface, ports)?;
            let sender = PacketSender::open(interface, Path::Direct)?;
            (Receiver::Ring(receiver), Sender::Packet(sender), None)
        }
        Backend::Socket => {
            let receiver = PacketReceiver::open(interface)?;
            let sender = PacketSender::open(interface, Path::Queued)?;
            (Receiver::Socket(receiver), Sender::Packet(sender), None)
        }
    };
    Ok(Opened {
        backend,
        note,
        receiver,
        sender,
    })
}

impl Receiver {
    /// What to wait on for the next frame.
    pub(crate) fn fd(&self) -> RawFd {
        match self {
            Receiver::Xdp(receiver) => receiver.fd(),
            Receiver::Ring(receiver) => receiver.fd(),
            Receiver::Socket(receiver) => receiver.fd(),
        }
    }

    /// Hands the frames that wait, about [`crate::packet::BATCH`] at most, to `visit`.
    pub(crate) fn receive(
        &mut self,
        inbox: &mut Inbox,
        visit: impl FnMut(&[u8]),
    ) -> io::Result<Received> {
        match self {
            Receiver::Xdp(receiver) => Ok(receiver.receive(inbox, visit)),
            Receiver::Ring(receiver) => Ok(receiver.receive(inbox, visit)),
            Receiver::Socket(receiver) => receiver.receive(inbox, visit),
        }
    }

    /// Frames that the kernel dropped since the last call because they were not fetched in time.
    pub(crate) fn overruns(&mut self) -> u64 {
        match self {
            Receiver::Xdp(receiver) => receiver.overruns(),
            Receiver::Ring(receiver) => receiver.overruns(),
            Receiver::Socket(receiver) => receiver.overruns(),
        }
    }
}

impl Sender {
    /// Collects a frame. True if it is time to flush.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        match self {
            Sender::Xdp(sender) => sender.push(frame),
            Sender::Packet(sender) => sender.push(frame),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Sender::Xdp(sender) => sender.is_empty(),
            Sender::Packet(sender) => sender.is_empty(),
        }
    }

    /// Sends what was collected and tells `sent` of each frame that the kernel took.
    pub(crate) fn flush(&mut self, outbox: &mut Outbox, sent: impl FnMut(&[u8])) -> Sent {
        match self {
            Sender::Xdp(sender) => sender.flush(sent),
            Sender::Packet(sender) => sender.flush(outbox, sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a back end cannot be asked for by the name that reports give it.
    #[test]
    fn names_and_back_ends_go_together() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        let error = "xdp".parse::<Backend>().unwrap_err();
        assert!(
            error.contains("`xdp`") && error.contains("`af_xdp`"),
            "{error}"
        );
    }
}
