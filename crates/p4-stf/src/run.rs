//! Carries a script out on a switch and judges what came out.

use crate::judge::{judge, Expected, Mode, Received, Verdict};
use crate::report::{Difference, Finding, Kind, Note, Report};
use crate::resolve;
use crate::script::*;
use crate::target::Target;
use num_bigint::BigUint;
use p4_state::{CloneSession, EntryKey, Replica, Update};
use std::collections::{BTreeMap, BTreeSet};

/// What `wait` waits, in milliseconds of the switch's time.
const WAIT: u64 = 1000;

/// Runs the script. Errors of reading it (see [`Script::errors`]) make it fail before a packet is
/// sent, but in lax mode lines that p4c would hand to the switch's command line are passed over.
pub fn run(script: &Script, target: &mut dyn Target, mode: Mode) -> Report {
    let mut runner = Runner::new(script, target, mode);
    for error in &script.errors {
        let text = format!("{}; {}", error.message, error.remedy);
        match mode == Mode::Lax && error.in_cli_command {
            true => runner.note(error.place, text),
            false => runner.fail(error.place, Kind::Command, text),
        }
    }
    if runner.findings.is_empty() {
        for (place, command) in &script.commands {
            runner.carry_out(*place, command);
        }
        runner.judge_packets();
    }
    runner
        .findings
        .sort_by_key(|finding| (finding.kind == Kind::UnexpectedPacket, finding.place));
    Report {
        script: script.name.clone(),
        mode,
        passed: runner.findings.iter().all(|finding| finding.passed),
        findings: runner.findings,
        notes: runner.notes,
        packets_sent: runner.sent,
        packets_received: runner.received.len(),
    }
}

struct Runner<'a> {
    target: &'a mut dyn Target,
    mode: Mode,
    named: BTreeSet<Port>,
    expected: Vec<Expected>,
    received: Vec<Received>,
    sent: usize,
    /// Index of the first packet received since the last `packet` command
    since_last: usize,
    entries: Vec<(Option<String>, EntryKey)>,
    groups: BTreeMap<u32, Vec<Replica>>,
    nodes: Vec<(u16, Vec<Port>)>,
    findings: Vec<Finding>,
    notes: Vec<Note>,
}

impl<'a> Runner<'a> {
    fn new(script: &Script, target: &'a mut dyn Target, mode: Mode) -> Runner<'a> {
        let port = |(_, command): &(Place, Command)| match command {
            Command::Packet { port, .. } | Command::Expect { port, .. } => Some(*port),
            _ => None,
        };
        Runner {
            target,
            mode,
            named: script.commands.iter().filter_map(port).collect(),
            expected: Vec::new(),
            received: Vec::new(),
            sent: 0,
            since_last: 0,
            entries: Vec::new(),
            groups: BTreeMap::new(),
            nodes: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn note(&mut self, place: Place, message: impl Into<String>) {
        self.notes.push(Note {
            place,
            message: message.into(),
        });
    }

    fn find(&mut self, place: Place, kind: Kind, passed: bool, message: String) {
        self.findings.push(Finding {
            place,
            kind,
            passed,
            message,
            difference: None,
        });
    }

    fn fail(&mut self, place: Place, kind: Kind, message: String) {
        self.find(place, kind, false, message);
    }

    fn carry_out(&mut self, place: Place, command: &Command) {
        match command {
            Command::Packet { port, data } => self.send(place, *port, data),
            Command::Expect { port, pattern } => {
                self.expected.push(Expected {
                    place,
                    port: *port,
                    pattern: pattern.clone(),
                });
            }
            _ if self.mode == Mode::Lax && ignored_by_p4c(command) => {
                self.note(place, "p4c's runner ignores this command");
            }
            Command::NoPacket { port } => self.no_packet(place, *port),
            Command::CheckCounter {
                counter,
                index,
                unit,
                compare,
                value,
            } => {
                let read = self.read_counter(counter, index);
                let count = read.map(|(packets, bytes)| match unit {
                    Unit::Packets => packets.into(),
                    Unit::Bytes => bytes.into(),
                });
                self.check(place, counter, count, *compare, value);
            }
            Command::CheckRegister {
                register,
                index,
                compare,
                value,
            } => {
                let read = self.target.read_register(register, *index);
                self.check(
                    place,
                    &format!("{register}[{index}]"),
                    read,
                    *compare,
                    value,
                );
            }
            _ => {
                if let Err(message) = self.change(place, command) {
                    match self.mode == Mode::Lax && command.is_cli() {
                        true => self.note(place, message),
                        false => self.fail(place, Kind::Command, message),
                    }
                }
            }
        }
    }

    fn send(&mut self, place: Place, port: Port, data: &[u8]) {
        self.sent += 1;
        self.since_last = self.received.len();
        let received = &mut self.received;
        self.target.process(port, data, &mut |port, out| {
            received.push(Received::new(port, out, data, place.line));
        });
    }

    fn no_packet(&mut self, place: Place, port: Option<Port>) {
        let seen = &self.received[self.since_last..];
        let ports: BTreeSet<Port> = seen
            .iter()
            .map(|packet| packet.port)
            .filter(|p| port.is_none_or(|port| port == *p))
            .collect();
        let list: Vec<_> = ports.iter().map(Port::to_string).collect();
        let message = match list.is_empty() {
            true => "no packet, as expected".to_string(),
            false => format!(
                "expected no packet, but one came out of port {}",
                list.join(", ")
            ),
        };
        self.find(place, Kind::NoPacket, list.is_empty(), message);
    }

    fn check(
        &mut self,
        place: Place,
        what: &str,
        read: Result<BigUint, String>,
        compare: Compare,
        value: &BigUint,
    ) {
        match read {
            Ok(is) => {
                let holds = compare.holds(&is, value);
                let message = match holds {
                    true => format!("{what} is {is}"),
                    false => format!("{what} is {is}, expected {compare} {value}"),
                };
                self.find(place, Kind::Check, holds, message);
            }
            Err(message) => self.fail(place, Kind::Check, message),
        }
    }

    fn read_counter(&mut self, counter: &str, index: &CounterIndex) -> Result<(u64, u64), String> {
        match index {
            CounterIndex::Cell(index) => self.target.read_counter(counter, *index),
            CounterIndex::Entry(label) => {
                let at = self.labelled(label)?;
                self.target.read_direct_counter(&self.entries[at].1)
            }
        }
    }

    fn labelled(&self, label: &str) -> Result<usize, String> {
        let found = self
            .entries
            .iter()
            .position(|(name, _)| name.as_deref() == Some(label));
        found.ok_or(format!(
            "no entry is labelled `{label}`; label one with `add ... = {label}`"
        ))
    }

    /// Commands that change or read the switch's state.
    fn change(&mut self, place: Place, command: &Command) -> Result<(), String> {
        match command {
            Command::Add(add) => {
                let entry = resolve::entry(self.target.schema(), add, self.mode)?;
                self.target.write(Update::Insert(entry.clone()))?;
                self.entries.push((add.label.clone(), entry.key));
                Ok(())
            }
            Command::SetDefault { table, action } => self.target.write(Update::SetDefault {
                table: table.clone(),
                action: Some(resolve::action(action)),
            }),
            Command::Remove { label: Some(label) } => {
                let (_, key) = self.entries.remove(self.labelled(label)?);
                self.target.write(Update::Delete(key))
            }
            Command::Remove { label: None } => {
                let mut entries = std::mem::take(&mut self.entries).into_iter();
                entries.try_for_each(|(_, key)| self.target.write(Update::Delete(key)))
            }
            Command::MirroringAdd { session, port } => {
                self.set_session(*session, Some(*port), None)
            }
            Command::MirroringAddMc { session, group } => {
                self.set_session(*session, None, Some(*group))
            }
            Command::MirroringDelete { session } => self.set_session(*session, None, None),
            Command::McGroupCreate { .. }
            | Command::McNodeCreate { .. }
            | Command::McNodeAssociate { .. } => self.change_groups(command),
            Command::RegisterWrite {
                register,
                index,
                value,
            } => self.target.write(Update::SetRegister {
                register: register.clone(),
                index: Some(*index),
                value: value.clone(),
            }),
            Command::RegisterRead { register, index } => {
                let value = self.target.read_register(register, *index)?;
                self.note(place, format!("{register}[{index}] = {value}"));
                Ok(())
            }
            Command::RegisterReset { register } => self.target.write(Update::SetRegister {
                register: register.clone(),
                index: None,
                value: BigUint::default(),
            }),
            Command::CounterRead { counter, index } => {
                let (packets, bytes) = self.target.read_counter(counter, *index)?;
                self.note(
                    place,
                    format!("{counter}[{index}] = {packets} packets, {bytes} bytes"),
                );
                Ok(())
            }
            Command::CounterReset { counter } => self.target.write(Update::SetCounter {
                counter: counter.clone(),
                index: None,
                packets: 0,
                bytes: 0,
            }),
            _ => {
                self.target.wait(WAIT);
                Ok(())
            }
        }
    }

    fn set_session(
        &mut self,
        session: u32,
        port: Option<Port>,
        group: Option<u32>,
    ) -> Result<(), String> {
        let to = CloneSession {
            group,
            port,
            truncate: None,
        };
        let to = (port.is_some() || group.is_some()).then_some(to);
        self.target.write(Update::SetSession { session, to })
    }

    fn set_group(&mut self, group: u32, replicas: &[Replica]) -> Result<(), String> {
        self.target.write(Update::SetGroup {
            group,
            replicas: Some(replicas.to_vec()),
        })
    }

    /// bmv2's way to a multicast group: nodes with a replication id, associated with groups.
    fn change_groups(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::McGroupCreate { group } => {
                if self.groups.contains_key(group) {
                    return Err(format!("multicast group {group} exists already"));
                }
                self.set_group(*group, &[])?;
                self.groups.insert(*group, Vec::new());
            }
            Command::McNodeCreate { rid, ports } => self.nodes.push((*rid, ports.clone())),
            Command::McNodeAssociate { group, node } => {
                let unknown = format!("there is no node {node}; mc_node_create makes them, from 0");
                let (rid, ports) = self.nodes.get(*node as usize).ok_or(unknown)?;
                let unknown =
                    format!("there is no multicast group {group}; mc_mgrp_create makes it");
                let replicas = self.groups.get_mut(group).ok_or(unknown)?;
                replicas.extend(ports.iter().map(|&port| Replica { port, rid: *rid }));
                let replicas = replicas.clone();
                self.set_group(*group, &replicas)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn judge_packets(&mut self) {
        if self.mode == Mode::Strict && self.is_about_state_alone() {
            if let Some(packet) = self.received.first() {
                let line = packet.cause;
                let message = format!(
                    "{} packets came out that nobody judges: the script expects none, but checks counters or registers",
                    self.received.len()
                );
                self.note(Place { line, column: 1 }, message);
            }
            return;
        }
        for verdict in judge(&self.expected, &self.received, &self.named, self.mode) {
            let finding = self.explain(verdict);
            self.findings.push(finding);
            if self.mode == Mode::Strict {
                self.note_passed_on(verdict);
            }
        }
    }

    /// A script that says nothing about packets, but checks what they have left in the switch.
    fn is_about_state_alone(&self) -> bool {
        let kinds = || self.findings.iter().map(|finding| finding.kind);
        self.expected.is_empty()
            && kinds().any(|kind| kind == Kind::Check)
            && !kinds().any(|kind| kind == Kind::NoPacket)
    }

    /// Says so if more came out than a datum without `$` describes.
    fn note_passed_on(&mut self, verdict: Verdict) {
        let Verdict::Met { expected, received } = verdict else {
            return;
        };
        let (expected, packet) = (&self.expected[expected], &self.received[received]);
        let described = expected.pattern.as_ref().map(|p| p.nibbles.len() / 2);
        let behind = described.map_or(0, |described| packet.data.len() - described);
        if behind > 0 {
            let message = format!(
                "behind these data came the last {behind} bytes of the packet sent in line {}; end the data in $ to forbid that",
                packet.cause
            );
            self.note(expected.place, message);
        }
    }

    fn explain(&self, verdict: Verdict) -> Finding {
        let expect = |index: usize, passed: bool, message: String, difference| {
            let place = self.expected[index].place;
            Finding {
                place,
                kind: Kind::Expect,
                passed,
                message,
                difference,
            }
        };
        match verdict {
            Verdict::Met { expected, received } => {
                let Received { port, cause, .. } = &self.received[received];
                let message =
                    format!("a packet from line {cause} came out of port {port} as expected");
                expect(expected, true, message, None)
            }
            Verdict::NotJudged { expected } => {
                let port = self.expected[expected].port;
                let message =
                    format!("port {port} is not judged: p4c's runner takes anything there");
                expect(expected, true, message, None)
            }
            Verdict::Missing { expected } => {
                let Expected { port, pattern, .. } = &self.expected[expected];
                let others = self
                    .received
                    .iter()
                    .filter(|packet| packet.port == *port)
                    .count();
                let message = match others {
                    0 => format!("expected a packet on port {port}, but none came out there"),
                    _ => format!(
                        "expected one packet more on port {port} than the {others} that came out"
                    ),
                };
                let difference = Difference::new(*port, pattern.as_ref(), None);
                expect(expected, false, message, Some(difference))
            }
            Verdict::Differs { expected, received } => {
                let Expected { port, pattern, .. } = &self.expected[expected];
                let packet = &self.received[received];
                let seen = (&*packet.data, packet.cause);
                let difference = Difference::new(*port, pattern.as_ref(), Some(seen));
                let number = self.number_on_port(received);
                let message = format!(
                    "packet {number} on port {port} (from line {}) is not the expected one: {}",
                    packet.cause,
                    difference.summary()
                );
                expect(expected, false, message, Some(difference))
            }
            Verdict::Unexpected { received } => {
                let Received {
                    port, data, cause, ..
                } = &self.received[received];
                let number = self.number_on_port(received);
                Finding {
                    place: Place {
                        line: *cause,
                        column: 1,
                    },
                    kind: Kind::UnexpectedPacket,
                    passed: false,
                    message: format!("packet {number} on port {port} was not expected"),
                    difference: Some(Difference::new(*port, None, Some((data, *cause)))),
                }
            }
        }
    }

    /// 1 for the first packet that came out of its port.
    fn number_on_port(&self, received: usize) -> usize {
        let port = self.received[received].port;
        self.received[..=received]
            .iter()
            .filter(|packet| packet.port == port)
            .count()
    }
}

/// Commands that p4c's runner reads and drops, knows nothing of, or breaks on.
fn ignored_by_p4c(command: &Command) -> bool {
    matches!(
        command,
        Command::NoPacket { .. }
            | Command::CheckCounter { .. }
            | Command::CheckRegister { .. }
            | Command::Remove { .. }
            | Command::Wait
    )
}
