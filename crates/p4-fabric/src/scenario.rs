//! What is asked of a fabric: its size, its flows, their trees; and what may not be asked.

use p4_time::Time;
use std::fmt;

use crate::parameters::Parameters;

/// Main ports of a leaf: five terminals, one surrogate, two for PCIe.
pub const PORTS: usize = 8;
/// Ports of a leaf with a server, from 0
pub const TERMINALS: usize = 5;
/// The port of a leaf that loops frames back
pub const SURROGATE: usize = 5;
/// Levels of surrogates that a frame may pass
pub const MOST_LEVELS: usize = 4;
/// Copies that a port makes of a frame
pub const MOST_COPIES: usize = 8;
/// Leaves of the whole machine
pub const MOST_LEAVES: usize = 128;

/// A port of the whole machine: leaf x 8 + place.
pub type PortId = u32;

pub(crate) fn is_terminal(port: PortId) -> bool {
    (port as usize % PORTS) < TERMINALS
}

pub(crate) fn is_surrogate(port: PortId) -> bool {
    port as usize % PORTS == SURROGATE
}

/// Whether frames of a class may be lost at ports, or senders wait instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Lossy,
    Lossless,
}

/// When a sender has its next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    Even,
    Poisson,
}

/// Frames of one size from a terminal to one or many.
#[derive(Clone, Debug)]
pub struct Flow {
    pub class: Class,
    /// Bytes of a frame
    pub bytes: u64,
    /// Offered load in Mb/s, of the frames alone
    pub mbps: u64,
    pub spacing: Spacing,
    pub start: Time,
    pub stop: Time,
    /// The sender first; for each port that makes copies, where they go, in the order of its headers
    pub tree: Vec<(PortId, Vec<PortId>)>,
}

impl Flow {
    /// A flow without branches that lasts for the whole run.
    pub fn unicast(class: Class, from: PortId, to: PortId, bytes: u64, mbps: u64) -> Flow {
        Flow {
            class,
            bytes,
            mbps,
            spacing: Spacing::Even,
            start: Time::ZERO,
            stop: Time::MAX,
            tree: vec![(from, vec![to])],
        }
    }
}

/// A request that was refused; the fabric is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// `port 3.5`: leaf and place.
fn name(port: PortId) -> String {
    format!("port {}.{}", port as usize / PORTS, port as usize % PORTS)
}

/// How many surrogates each port of the tree is away from the sender; refuses what is not a tree.
pub(crate) fn levels(
    flow: &Flow,
    leaves: usize,
    parameters: &Parameters,
) -> Result<Vec<usize>, Refused> {
    let refuse = |text: String| Err(Refused(text));
    if !(64..=parameters.frame_most).contains(&flow.bytes) {
        let most = parameters.frame_most;
        return refuse(format!(
            "a frame of {} bytes: 64 to {most} are possible",
            flow.bytes
        ));
    }
    if flow.mbps == 0 || flow.mbps > parameters.line_gbps * 1000 {
        let most = parameters.line_gbps;
        return refuse(format!(
            "{} Mb/s: a line carries up to {most} Gb/s",
            flow.mbps
        ));
    }
    let Some((sender, _)) = flow.tree.first() else {
        return refuse("a flow needs a sender".into());
    };
    if !is_terminal(*sender) {
        return refuse(format!(
            "{} cannot send: terminals are places 0 to 4",
            name(*sender)
        ));
    }
    let mut found = vec![usize::MAX; flow.tree.len()];
    found[0] = 0;
    let mut fed = vec![*sender];
    for (at, (port, children)) in flow.tree.iter().enumerate() {
        let level = found[at];
        if level == usize::MAX {
            let said = name(*port);
            return refuse(format!(
                "{said} makes copies, but no port before it in the tree feeds it"
            ));
        }
        if children.is_empty() || children.len() > MOST_COPIES {
            let (said, count) = (name(*port), children.len());
            return refuse(format!(
                "{said} makes {count} copies: 1 to {MOST_COPIES} are possible"
            ));
        }
        for child in children {
            if *child as usize >= leaves * PORTS {
                return refuse(format!(
                    "{} is not in a fabric of {leaves} leaves",
                    name(*child)
                ));
            }
            if fed.contains(child) {
                return refuse(format!(
                    "{} gets a frame twice: the tree has a loop",
                    name(*child)
                ));
            }
            fed.push(*child);
            let place = flow.tree.iter().position(|(port, _)| port == child);
            match (is_surrogate(*child), place) {
                (true, Some(place)) => found[place] = level + 1,
                (false, None) if is_terminal(*child) => {}
                (true, None) => {
                    return refuse(format!("{} gets frames and makes no copy", name(*child)));
                }
                _ => return refuse(format!("{} can only receive or not at all", name(*child))),
            }
        }
        if level > MOST_LEVELS {
            let said = name(*port);
            return refuse(format!(
                "{said} is at level {level}: there are {MOST_LEVELS} levels"
            ));
        }
    }
    match *sender as usize >= leaves * PORTS {
        true => refuse(format!(
            "{} is not in a fabric of {leaves} leaves",
            name(*sender)
        )),
        false => Ok(found),
    }
}
