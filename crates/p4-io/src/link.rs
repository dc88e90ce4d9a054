//! What kind of interface a port is, and its other end where it is a veth.
//!
//! A sender behind a veth leaves checksums and VLAN tags to a network card that does not exist. Where
//! no header tells us so (AF_XDP), the sender must not: [`Offloads`] switches that off at the veth's
//! other end, in whichever network namespace of this machine it is, and on again when dropped.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::netlink::{self, Attributes};
use crate::sys;

/// An interface, as far as it matters to a back end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) is_veth: bool,
    pub(crate) mtu: usize,
    pub(crate) receive_queues: u32,
    /// Number of a veth's other end, and our number of its namespace if that is not ours.
    pub(crate) peer: Option<(u32, Option<i32>)>,
}

/// Attributes of linux/if_link.h.
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;

/// Asks the kernel about an interface of this thread's namespace.
pub(crate) fn describe(name: &str, index: u32) -> io::Result<Link> {
    let answer = netlink::get_link(index)?;
    let attributes = Attributes::of_link(&answer);
    let number = |kind| attributes.find(kind).and_then(netlink::number);
    let is_veth = attributes
        .find(IFLA_LINKINFO)
        .and_then(|info| Attributes(info).find(IFLA_INFO_KIND))
        .is_some_and(|kind| kind.starts_with(b"veth"));
    let namespace = number(IFLA_LINK_NETNSID).map(|number| number as i32);
    let made = number(IFLA_NUM_RX_QUEUES).unwrap_or(1);
    Ok(Link {
        is_veth,
        mtu: number(IFLA_MTU).unwrap_or(1500) as usize,
        // A veth is made with as many queues as there are processors and starts with one in use.
        receive_queues: receive_queues(name).unwrap_or(made),
        peer: number(IFLA_LINK)
            .filter(|_| is_veth)
            .map(|peer| (peer, namespace)),
    })
}

/// `struct ethtool_channels` of linux/ethtool.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// Receive queues in use; not every driver says.
fn receive_queues(interface: &str) -> io::Result<u32> {
    let mut channels = Channels {
        command: ETHTOOL_GCHANNELS,
        ..Channels::default()
    };
    ethtool(interface, &mut channels)?;
    Ok(channels.receive + channels.combined)
}

/// `struct ethtool_value`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    command: u32,
    data: u32,
}

const ETHTOOL_GTXCSUM: u32 = 0x16;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const FLAG_TX_VLAN: u32 = 1 << 7;

/// One request of ethtool; the structure starts with the request's number.
fn ethtool<T: Copy>(interface: &str, request: &mut T) -> io::Result<()> {
    let mut data = libc::__c_anonymous_ifr_ifru {
        ifru_data: std::ptr::from_mut(request).cast(),
    };
    sys::interface_ioctl(interface, libc::SIOCETHTOOL as libc::Ioctl, &mut data)
}

fn get(interface: &str, command: u32) -> io::Result<u32> {
    let mut value = Value { command, data: 0 };
    ethtool(interface, &mut value)?;
    Ok(value.data)
}

fn set(interface: &str, command: u32, data: u32) -> io::Result<()> {
    ethtool(interface, &mut Value { command, data })
}

/// Makes a veth poll for frames, which also takes those that an XDP program sends.
pub(crate) fn switch_gro_on(interface: &str) -> io::Result<()> {
    set(interface, ETHTOOL_SGRO, 1)
}

/// What the other end of a veth did for its senders before we switched it off. Dropping switches it
/// on again.
pub(crate) struct Offloads {
    namespace: Option<OwnedFd>,
    peer: u32,
    checksums: u32,
    flags: u32,
}

impl Offloads {
    pub(crate) fn switch_off_at_peer(link: &Link) -> io::Result<Offloads> {
        let (peer, namespace) = link
            .peer
            .ok_or_else(|| io::Error::other("the kernel does not say which it is"))?;
        let namespace = namespace.map(find_namespace).transpose()?;
        let (checksums, flags) = within(namespace.as_ref(), || {
            let name = sys::interface_name(peer)?;
            let checksums = get(&name, ETHTOOL_GTXCSUM)?;
            let flags = get(&name, ETHTOOL_GFLAGS)?;
            if checksums != 0 {
                set(&name, ETHTOOL_STXCSUM, 0)?;
            }
            if flags & FLAG_TX_VLAN != 0 {
                set(&name, ETHTOOL_SFLAGS, flags & !FLAG_TX_VLAN)?;
            }
            Ok((checksums, flags))
        })?;
        Ok(Offloads {
            namespace,
            peer,
            checksums,
            flags,
        })
    }

    fn restore(&self) -> io::Result<()> {
        within(self.namespace.as_ref(), || {
            let name = sys::interface_name(self.peer)?;
            if self.flags & FLAG_TX_VLAN != 0 {
                let others = get(&name, ETHTOOL_GFLAGS)?;
                set(&name, ETHTOOL_SFLAGS, others | FLAG_TX_VLAN)?;
            }
            if self.checksums != 0 {
                set(&name, ETHTOOL_STXCSUM, self.checksums)?;
            }
            Ok(())
        })
    }
}

impl Drop for Offloads {
    fn drop(&mut self) {
        // An interface that is gone, the usual reason to fail, needs nothing restored.
        let _ = self.restore();
    }
}

/// Runs `action` in a network namespace: in a thread of its own, since a thread that has left its
/// namespace may not be able to come back.
fn within<R: Send>(
    namespace: Option<&OwnedFd>,
    action: impl FnOnce() -> io::Result<R> + Send,
) -> io::Result<R> {
    let Some(namespace) = namespace else {
        return action();
    };
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            sys::enter_network_namespace(namespace)?;
            action()
        });
        inside
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread has ended early")))
    })
}

/// The namespace that has a number in ours. Namespaces have no list: they are found by the processes,
/// and threads of this one, in them and by the names that `ip netns` and container runtimes give.
fn find_namespace(number: i32) -> io::Result<OwnedFd> {
    let mut seen = BTreeSet::new();
    for path in places() {
        // Processes come and go, and some are not ours to look at.
        let Ok(metadata) = path.metadata() else {
            continue;
        };
        if !seen.insert((metadata.dev(), metadata.ino())) {
            continue;
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if netlink::number_of_namespace(file.as_raw_fd())? == Some(number) {
            return Ok(file.into());
        }
    }
    Err(io::Error::other("its network namespace cannot be found"))
}

fn places() -> impl Iterator<Item = PathBuf> {
    let entries = |folder: &str| {
        // A folder that does not exist has nothing in it.
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path()))
    };
    let processes = entries("/proc").filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let own_threads = entries("/proc/self/task").map(|thread| thread.join("ns/net"));
    processes
        .map(|process| process.join("ns/net"))
        .chain(own_threads)
        .chain(entries("/run/netns"))
        .chain(entries("/run/docker/netns"))
}
