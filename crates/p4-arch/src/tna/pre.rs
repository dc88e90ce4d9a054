//! The packet replication engine: which copies a multicast group makes.

use crate::Port;
use p4_state::Replica;
use std::collections::{BTreeMap, BTreeSet};

/// Copies that share a replication id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub rid: u16,
    /// Packets with this `level1_exclusion_id` get no copies from the node.
    pub xid: Option<u16>,
    pub ports: Vec<Port>,
    /// Link aggregation groups: one port of each
    pub lags: Vec<u16>,
}

/// Ports of which one gets the copy: the packet's `level2_mcast_hash` modulo their number says which,
/// in the order of their numbers; if that one is down, the same among those that are up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub ports: Vec<Port>,
    /// Members on other chips, which come before and after these; what they get is not sent here.
    pub before: u16,
    pub after: u16,
}

/// Ports that get no copy of packets with a certain `level2_exclusion_id`, from nodes whose
/// replication id is the packet's `rid` (or all, for packets with the global one).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruning {
    pub ports: Vec<Port>,
}

/// One of the nodes, picked by the packet's `level1_mcast_hash`; usually there is one only.
type Alternatives = Vec<Node>;

/// What a packet says about its copies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    pub hash1: u16,
    pub hash2: u16,
    pub exclusion1: u16,
    pub exclusion2: u16,
    pub rid: u16,
}

/// A copy to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replication {
    pub port: Port,
    pub rid: u16,
    /// The first copy of its node
    pub first: bool,
}

#[derive(Debug, Default)]
pub(super) struct Pre {
    groups: BTreeMap<u16, Vec<Alternatives>>,
    lags: BTreeMap<u16, Lag>,
    prunings: BTreeMap<u16, Pruning>,
    /// Packets with this `rid` are pruned at every node.
    pub global_rid: Option<u16>,
    /// Ports without a link
    down: BTreeSet<Port>,
    /// The ports that take over from others
    backups: BTreeMap<Port, Port>,
    /// Whether they do
    pub protects: bool,
}

impl Pre {
    pub fn set_down(&mut self, port: Port, down: bool) {
        match down {
            true => self.down.insert(port),
            false => self.down.remove(&port),
        };
    }

    pub fn set_group(&mut self, group: u16, nodes: Option<Vec<Alternatives>>) {
        match nodes {
            Some(nodes) => self.groups.insert(group, nodes),
            None => self.groups.remove(&group),
        };
    }

    pub fn set_lag(&mut self, id: u16, mut lag: Lag) {
        lag.ports.sort_unstable();
        lag.ports.dedup();
        self.lags.insert(id, lag);
    }

    pub fn set_backup(&mut self, port: Port, backup: Option<Port>) {
        match backup {
            Some(backup) => self.backups.insert(port, backup),
            None => self.backups.remove(&port),
        };
    }

    /// The port itself, or the one that takes over while it is down.
    fn standing_in(&self, port: Port) -> Port {
        let backup = self.backups.get(&port);
        let backup = backup.filter(|_| self.protects && self.down.contains(&port));
        backup.copied().unwrap_or(port)
    }

    /// The port of a LAG that gets the copy.
    fn member(&self, lag: u16, hash: u16) -> Option<Port> {
        let Lag {
            ports,
            before,
            after,
        } = self.lags.get(&lag)?;
        let pick = |ports: &[Port]| ports.get(usize::from(hash) % ports.len().max(1)).copied();
        let (before, after) = (usize::from(*before), usize::from(*after));
        let place = usize::from(hash) % (before + ports.len() + after).max(1);
        let first = *ports.get(place.checked_sub(before)?)?;
        if !self.down.contains(&first) {
            return Some(first);
        }
        let up = ports
            .iter()
            .copied()
            .filter(|port| !self.down.contains(port));
        pick(&up.collect::<Vec<_>>()).or(Some(first))
    }

    pub fn set_pruning(&mut self, exclusion: u16, pruning: Pruning) {
        self.prunings.insert(exclusion, pruning);
    }

    /// The copies of a group in order. `plain` is what the control plane's neutral groups hold: each
    /// run of copies with the same replication id counts as a node.
    pub fn copies(&self, group: u16, plain: &[Replica], packet: Choice) -> Vec<Replication> {
        let mut copies = Vec::new();
        let own = self.groups.get(&group);
        for alternatives in own.into_iter().flatten().filter(|nodes| !nodes.is_empty()) {
            let node = &alternatives[usize::from(packet.hash1) % alternatives.len()];
            self.copies_of(node, packet, &mut copies);
        }
        for run in plain
            .chunk_by(|a, b| a.rid == b.rid)
            .filter(|_| own.is_none())
        {
            let node = Node {
                rid: run[0].rid,
                ports: run.iter().map(|replica| replica.port).collect(),
                ..Node::default()
            };
            self.copies_of(&node, packet, &mut copies);
        }
        copies
    }

    fn copies_of(&self, node: &Node, packet: Choice, copies: &mut Vec<Replication>) {
        if node.xid == Some(packet.exclusion1) {
            return;
        }
        let everywhere = self.global_rid == Some(packet.rid);
        let pruned = self
            .prunings
            .get(&packet.exclusion2)
            .filter(|_| everywhere || packet.rid == node.rid);
        let is_pruned = |port: &Port| pruned.is_some_and(|pruning| pruning.ports.contains(port));
        let lags = node.lags.iter();
        let members = lags.filter_map(|id| self.member(*id, packet.hash2));
        let ports = node.ports.iter().copied().chain(members);
        for (i, port) in ports.filter(|port| !is_pruned(port)).enumerate() {
            let (rid, first) = (node.rid, i == 0);
            let port = self.standing_in(port);
            copies.push(Replication { port, rid, first });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(rid: u16, xid: Option<u16>, ports: &[Port]) -> Alternatives {
        let ports = ports.to_vec();
        vec![Node {
            rid,
            xid,
            ports,
            ..Node::default()
        }]
    }

    fn ports(copies: &[Replication]) -> Vec<(Port, u16, bool)> {
        copies
            .iter()
            .map(|copy| (copy.port, copy.rid, copy.first))
            .collect()
    }

    // If this fails, a sender gets its own packet back, or a listener none. The rules: a node is left
    // out by its own exclusion id, a port by the packet's list at nodes with the packet's rid.
    #[test]
    fn prunes_by_node_and_by_port() {
        let mut pre = Pre::default();
        let nodes = vec![node(1, Some(7), &[1, 2]), node(2, None, &[3, 4, 5])];
        pre.set_group(9, Some(nodes));
        let all = [
            (1, 1, true),
            (2, 1, false),
            (3, 2, true),
            (4, 2, false),
            (5, 2, false),
        ];
        assert_eq!(ports(&pre.copies(9, &[], Choice::default())), all);
        let without = |choice| ports(&pre.copies(9, &[], choice));
        assert_eq!(
            without(Choice {
                exclusion1: 7,
                ..Choice::default()
            }),
            all[2..]
        );
        pre.set_pruning(4, Pruning { ports: vec![1, 3] });
        let packet = Choice {
            exclusion2: 4,
            rid: 2,
            ..Choice::default()
        };
        let without = ports(&pre.copies(9, &[], packet));
        assert_eq!(without, [all[0], all[1], (4, 2, true), (5, 2, false)]);
        pre.global_rid = Some(2);
        assert_eq!(ports(&pre.copies(9, &[], packet)).len(), 3);
    }

    // If this fails, flows of a LAG or an ECMP group take no way, or more than one.
    #[test]
    fn hashes_pick_one_of_several() {
        let mut pre = Pre::default();
        pre.set_lag(
            3,
            Lag {
                ports: vec![20, 21, 22],
                ..Lag::default()
            },
        );
        let lagged = Node {
            rid: 5,
            lags: vec![3],
            ..Node::default()
        };
        let other = Node {
            rid: 6,
            ports: vec![30],
            ..Node::default()
        };
        pre.set_group(1, Some(vec![vec![lagged, other]]));
        for hash in 0..12 {
            let choice = Choice {
                hash1: hash,
                hash2: hash / 2,
                ..Choice::default()
            };
            let expected = match hash % 2 {
                0 => (20 + hash / 2 % 3, 5, true),
                _ => (30, 6, true),
            };
            assert_eq!(ports(&pre.copies(1, &[], choice)), [expected]);
        }
    }

    // If this fails, two switches that share a LAG both send a packet, or neither; or packets go to
    // a dead port although another one protects it.
    #[test]
    fn members_elsewhere_and_backups_count() {
        let mut pre = Pre::default();
        pre.set_lag(
            3,
            Lag {
                ports: vec![20, 21],
                before: 1,
                after: 2,
            },
        );
        let lagged = Node {
            rid: 5,
            lags: vec![3],
            ..Node::default()
        };
        pre.set_group(1, Some(vec![vec![lagged]]));
        let port = |pre: &Pre, hash| {
            let choice = Choice {
                hash2: hash,
                ..Choice::default()
            };
            pre.copies(1, &[], choice).first().map(|copy| copy.port)
        };
        let here = [0, 1, 2, 3, 4, 5, 6].map(|hash| port(&pre, hash));
        let expected = [None, Some(20), Some(21), None, None, None, Some(20)];
        assert_eq!(here, expected);
        for own in [20, 21] {
            pre.set_down(own, true);
            pre.set_backup(own, Some(own + 10));
        }
        assert_eq!(port(&pre, 1), Some(20));
        pre.protects = true;
        assert_eq!((port(&pre, 1), port(&pre, 2)), (Some(30), Some(31)));
    }
}
