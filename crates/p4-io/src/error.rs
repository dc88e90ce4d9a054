//! What can go wrong with interfaces, as sentences that name the interface and the remedy.

use std::fmt;
use std::io;

use p4_net::NetError;

/// Why a switch could not be put on its interfaces.
#[derive(Debug)]
pub enum IoError {
    NoInterface {
        interface: String,
    },
    NoPermission {
        interface: String,
    },
    PortTwice {
        port: u16,
    },
    PortIsCpu {
        port: u16,
    },
    UnknownPort {
        port: u16,
    },
    /// An emulated link with impossible properties.
    Link(NetError),
    /// A back end that was asked for cannot serve this interface.
    Unfit {
        interface: String,
        why: String,
    },
    /// The thread of a switch is gone: stopped, or ended by an error of the engine.
    Stopped,
    NoThread {
        cause: io::Error,
    },
    Failed {
        interface: String,
        step: &'static str,
        cause: io::Error,
    },
}

impl IoError {
    /// The error of a system call made for `interface`.
    pub(crate) fn at(interface: &str, step: &'static str, cause: io::Error) -> IoError {
        let interface = interface.to_string();
        match cause.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => IoError::NoInterface { interface },
            Some(libc::EPERM | libc::EACCES) => IoError::NoPermission { interface },
            _ => IoError::Failed {
                interface,
                step,
                cause,
            },
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoError::NoInterface { interface } => {
                write!(
                    f,
                    "there is no network interface `{interface}`; `ip link` lists those there are"
                )
            }
            IoError::NoPermission { interface } => write!(
                f,
                "no permission to open network interface `{interface}`; run as root (CAP_NET_RAW)"
            ),
            IoError::PortTwice { port } => {
                write!(
                    f,
                    "port {port} is given to two interfaces; give each its own number"
                )
            }
            IoError::PortIsCpu { port } => {
                write!(
                    f,
                    "port {port} is the CPU port and takes no interface; use another number"
                )
            }
            IoError::UnknownPort { port } => write!(f, "the switch has no port {port}"),
            IoError::Link(error) => error.fmt(f),
            IoError::Unfit { interface, why } => {
                write!(
                    f,
                    "AF_XDP is not for network interface `{interface}`: {why}"
                )
            }
            IoError::NoThread { cause } => write!(f, "could not start a switch's thread: {cause}"),
            IoError::Stopped => write!(f, "the switch is not running any more"),
            IoError::Failed {
                interface,
                step,
                cause,
            } => {
                write!(
                    f,
                    "could not {step} on network interface `{interface}`: {cause}"
                )
            }
        }
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            IoError::Failed { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
