//! Multicast groups as bmv2 makes them: nodes with a replication id and ports, each in one group.

use super::values::small;
use p4_state::Replica;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, String>;

/// simple_switch picks the port of a link aggregation group with a hash that is this constant.
const LAG_HASH: usize = 0xff;

#[derive(Clone, Debug, Default)]
struct Node {
    rid: u16,
    ports: Vec<u16>,
    lags: Vec<u64>,
    group: Option<u32>,
}

#[derive(Debug, Default)]
pub struct Groups {
    /// Handles of the nodes in the order of their association
    groups: BTreeMap<u32, Vec<u32>>,
    nodes: BTreeMap<u32, Node>,
    lags: BTreeMap<u64, Vec<u16>>,
}

impl Groups {
    /// A group that exists already stays as it is.
    pub fn create(&mut self, group: u32) {
        self.groups.entry(group).or_default();
    }

    pub fn destroy(&mut self, group: u32) {
        self.groups.remove(&group);
    }

    /// Gives the new node's handle: the lowest free number.
    pub fn create_node(&mut self, rid: u16, ports: &[String]) -> Result<u32> {
        let (ports, lags) = members(ports)?;
        let taken = self
            .nodes
            .keys()
            .zip(0..)
            .take_while(|(handle, at)| **handle == *at);
        let handle = taken.count() as u32;
        let node = Node {
            rid,
            ports,
            lags,
            group: None,
        };
        self.nodes.insert(handle, node);
        Ok(handle)
    }

    /// Gives the group that this changes, if the node is in one.
    pub fn update_node(&mut self, handle: u32, ports: &[String]) -> Result<Option<u32>> {
        let (ports, lags) = members(ports)?;
        let node = self.nodes.get_mut(&handle).ok_or(no_node(handle))?;
        (node.ports, node.lags) = (ports, lags);
        Ok(node.group)
    }

    pub fn associate(&mut self, group: u32, handle: u32) -> Result<()> {
        let node = self.nodes.get_mut(&handle).ok_or(no_node(handle))?;
        let nodes = self.groups.get_mut(&group).ok_or(format!(
            "there is no multicast group {group}; mc_mgrp_create makes it"
        ))?;
        if let Some(other) = node.group {
            return Err(format!("node {handle} is in group {other} already"));
        }
        node.group = Some(group);
        nodes.push(handle);
        Ok(())
    }

    pub fn dissociate(&mut self, group: u32, handle: u32) -> Result<()> {
        let node = self.nodes.get_mut(&handle).ok_or(no_node(handle))?;
        if node.group != Some(group) {
            return Err(format!("node {handle} is not in group {group}"));
        }
        node.group = None;
        if let Some(nodes) = self.groups.get_mut(&group) {
            nodes.retain(|node| *node != handle);
        }
        Ok(())
    }

    /// Gives the group that the node was in.
    pub fn destroy_node(&mut self, handle: u32) -> Result<Option<u32>> {
        let node = self.nodes.remove(&handle).ok_or(no_node(handle))?;
        let nodes = node.group.and_then(|group| self.groups.get_mut(&group));
        if let Some(nodes) = nodes {
            nodes.retain(|node| *node != handle);
        }
        Ok(node.group)
    }

    /// Gives all groups: the ports of their nodes may have changed.
    pub fn set_lag(&mut self, lag: u64, ports: &[String]) -> Result<Vec<u32>> {
        let (ports, _) = members(ports)?;
        self.lags.insert(lag, ports);
        Ok(self.groups.keys().copied().collect())
    }

    /// The copies of a group, node by node, ports in ascending order; `None` if there is no group.
    pub fn replicas(&self, group: u32) -> Option<Vec<Replica>> {
        let nodes = self.groups.get(&group)?;
        let mut replicas = Vec::new();
        for node in nodes.iter().filter_map(|handle| self.nodes.get(handle)) {
            let members = node.lags.iter().filter_map(|lag| self.lags.get(lag));
            let chosen = members.filter_map(|ports| {
                let index = LAG_HASH.checked_rem(ports.len())?;
                ports.get(index).copied()
            });
            let ports = node.ports.iter().copied().chain(chosen);
            replicas.extend(ports.map(|port| Replica {
                port,
                rid: node.rid,
            }));
        }
        Some(replicas)
    }

    /// One line per node of a group.
    pub fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (group, handles) in &self.groups {
            lines.push(format!("mgrp({group})"));
            for handle in handles {
                let Some(node) = self.nodes.get(handle) else {
                    continue;
                };
                let Node { rid, ports, .. } = node;
                lines.push(format!("  node {handle}: rid {rid}, ports {ports:?}"));
            }
        }
        lines
    }
}

fn no_node(handle: u32) -> String {
    format!("there is no node {handle}; mc_node_create makes them, from 0")
}

/// `PORT... [| LAG...]`, ports in ascending order as bmv2's port maps hold them.
fn members(args: &[String]) -> Result<(Vec<u16>, Vec<u64>)> {
    let bar = args.iter().position(|arg| arg == "|").unwrap_or(args.len());
    let mut ports = Vec::new();
    for arg in &args[..bar] {
        match small(arg) {
            Ok(port @ 0..=511) => ports.push(port as u16),
            _ => return Err(format!("`{arg}` is not a port; a port must be 0 to 511")),
        }
    }
    ports.sort_unstable();
    if let Some(twice) = ports.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("port {} is given twice", twice[0]));
    }
    let lags = args[bar..].iter().skip(1);
    Ok((ports, lags.map(|lag| small(lag)).collect::<Result<_>>()?))
}
