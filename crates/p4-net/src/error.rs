//! What can be wrong with a request to the network, as values and as sentences.

use std::fmt;

use p4_time::Time;

use crate::link::LinkId;
use crate::network::NodeId;
use crate::probe::MIN_FRAME;
use crate::queue::MOST_QUEUES;
use crate::tcp::{BUFFERS, MTUS};

/// A request that was refused; the network is unchanged.
#[derive(Clone, Debug, PartialEq)]
pub enum NetError {
    UnknownNode(NodeId),
    UnknownLink(LinkId),
    UnknownSource(u32),
    NotASwitch {
        name: String,
    },
    NotAHost {
        name: String,
    },
    NoCpuPort {
        name: String,
    },
    PortInUse {
        name: String,
        port: u16,
        peer: String,
    },
    PortIsCpu {
        name: String,
        port: u16,
    },
    HostPort {
        name: String,
        port: u16,
    },
    SelfLoop {
        name: String,
        port: u16,
    },
    Loss(f64),
    ZeroRate,
    ShortProbe(usize),
    NoInterval,
    NoFrames,
    ZeroBurst,
    QueueCount(usize),
    NoCable {
        name: String,
        port: u16,
    },
    FramesWait {
        name: String,
        port: u16,
    },
    TooManyFailures(usize),
    ShortPhase {
        on: Time,
    },
    NoTcp {
        name: String,
    },
    HasTcp {
        name: String,
    },
    NoPort {
        name: String,
    },
    SameHost {
        name: String,
    },
    Mtu(usize),
    TcpBuffer(usize),
    UnknownTransfer(u32),
    Past,
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetError::UnknownNode(node) => write!(f, "there is no node number {}", node.index()),
            NetError::UnknownLink(link) => write!(f, "there is no link number {}", link.index()),
            NetError::UnknownSource(number) => {
                write!(f, "there is no traffic source number {number}")
            }
            NetError::NotASwitch { name } => write!(f, "{name} is a host; this needs a switch"),
            NetError::NotAHost { name } => write!(f, "{name} is a switch; this needs a host"),
            NetError::NoCpuPort { name } => write!(
                f,
                "{name} has no CPU port; name one when the switch is added to the network"
            ),
            NetError::PortInUse { name, port, peer } => write!(
                f,
                "port {port} of {name} already has a cable to {peer}; use another port"
            ),
            NetError::PortIsCpu { name, port } => {
                write!(
                    f,
                    "port {port} of {name} is its CPU port and takes no cable; use another port"
                )
            }
            NetError::HostPort { name, port } => {
                write!(f, "host {name} has port 0 only, not {port}")
            }
            NetError::SelfLoop { name, port } => {
                write!(
                    f,
                    "port {port} of {name} cannot be cabled to itself; use two ports"
                )
            }
            NetError::Loss(loss) => {
                write!(
                    f,
                    "a loss probability of {loss} makes no sense; use a number from 0 to 1"
                )
            }
            NetError::ZeroRate => {
                write!(f, "a rate of 0 bit/s sends nothing; use a rate of at least 1")
            }
            NetError::ShortProbe(length) => write!(
                f,
                "a probe frame of {length} bytes is too short; use at least {MIN_FRAME} bytes"
            ),
            NetError::NoInterval => {
                write!(
                    f,
                    "a stream of many frames needs an interval above zero between them"
                )
            }
            NetError::NoFrames => {
                write!(f, "there is no frame to send; give one at least, with a weight above 0")
            }
            NetError::ZeroBurst => {
                write!(f, "a bucket of 0 bytes lets nothing through; make it a frame or more")
            }
            NetError::QueueCount(count) => {
                write!(f, "a port has 1 to {MOST_QUEUES} queues, not {count}")
            }
            NetError::NoCable { name, port } => {
                write!(f, "port {port} of {name} has no cable; connect it first")
            }
            NetError::FramesWait { name, port } => write!(
                f,
                "frames wait at port {port} of {name}, so its number of queues cannot change; change it before the traffic begins"
            ),
            NetError::TooManyFailures(most) => write!(
                f,
                "the link would change more than {most} times; make the times between failures longer"
            ),
            NetError::ShortPhase { on } => write!(
                f,
                "an on phase of {on} is less than a thousandth of a frame at this rate; make phases longer"
            ),
            NetError::NoTcp { name } => {
                write!(f, "{name} has no TCP; give it an address with set_tcp first")
            }
            NetError::HasTcp { name } => {
                write!(f, "{name} has a TCP already; add another host for another address")
            }
            NetError::NoPort { name } => write!(
                f,
                "{name} has used all its ports for transfers; let another host receive"
            ),
            NetError::SameHost { name } => {
                write!(f, "{name} cannot send to itself; name two hosts")
            }
            NetError::Mtu(mtu) => write!(
                f,
                "an MTU is {} to {} bytes here, not {mtu}",
                MTUS.start(),
                MTUS.end()
            ),
            NetError::TcpBuffer(size) => write!(
                f,
                "a window or buffer of TCP has {} to {} bytes, not {size}",
                BUFFERS.start(),
                BUFFERS.end()
            ),
            NetError::UnknownTransfer(number) => {
                write!(f, "there is no transfer number {number}")
            }
            NetError::Past => write!(
                f,
                "this moment has passed; schedule at the present or later"
            ),
        }
    }
}

impl std::error::Error for NetError {}
