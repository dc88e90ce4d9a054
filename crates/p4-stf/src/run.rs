//! Carries a script out on a switch and judges what came out.

use crate::cli::{Cli, Printed};
use crate::harness;
use crate::judge::{judge, Expected, Mode, Received, Verdict};
use crate::report::{Difference, Finding, Kind, Note, Report};
use crate::resolve;
use crate::script::*;
use crate::target::Target;
use num_bigint::BigUint;
use p4_state::{EntryKey, Target as Leads, Update};
use std::collections::BTreeSet;

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
        runner.end_recorded();
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

/// A line of a recorded session and what became of it.
struct Recorded {
    place: Place,
    /// What it prints is compared too.
    reads: bool,
    outcome: Result<Printed, String>,
    replies: Vec<String>,
}

/// Lines whose replies show nothing but state.
const READS: &[&str] = &["counter_read", "register_read", "pvs_get"];

/// Whether a reply of the command line says that a line was refused.
fn is_refusal(reply: &str) -> bool {
    let reply = reply.trim_start();
    ["Invalid", "Error", "Table "]
        .iter()
        .any(|word| reply.starts_with(word))
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
    cli: Cli,
    /// The recorded line whose replies are being read
    recorded: Option<Recorded>,
    /// Line of the last `packet` command
    cause: u32,
    /// The switch refused the last entry or default action.
    refused: bool,
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
            cli: Cli::default(),
            recorded: None,
            cause: 0,
            refused: false,
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
        if let Command::Reply { text } = command {
            if let Some(recorded) = &mut self.recorded {
                recorded.replies.push(text.clone());
            }
            return;
        }
        self.end_recorded();
        match command {
            Command::Recorded(line) => {
                let outcome = self.cli.carry_out(self.target, line);
                self.recorded = Some(Recorded {
                    place,
                    reads: READS.contains(&line.name),
                    outcome,
                    replies: Vec::new(),
                });
            }
            Command::Died => self.died(place),
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
                check,
            } => self.check_counter(place, counter, index, check.as_ref()),
            Command::CheckRegister {
                register,
                index,
                half,
                compare,
                value,
            } => {
                let read = harness::register(self.target, register, *index, *half);
                self.check(
                    place,
                    &format!("{register}[{index}]"),
                    read,
                    *compare,
                    value,
                );
            }
            _ => {
                self.refused = false;
                if let Err(message) = self.change(place, command) {
                    match self.goes_on(command) {
                        true => self.note(place, message),
                        false => self.fail(place, Kind::Command, message),
                    }
                }
            }
        }
    }

    /// Whether a command that fails fails nothing else: p4c's runner looks neither at the command
    /// line's replies nor at what the switch says to an entry.
    fn goes_on(&self, command: &Command) -> bool {
        let as_p4c = self.mode == Mode::Lax;
        as_p4c && command.is_cli() || self.refused && (as_p4c || self.target.bmv2_compat())
    }

    /// A change by p4c's own commands; the switch may refuse it.
    fn write(&mut self, update: Update) -> Result<(), String> {
        let result = self.target.write(update);
        self.refused = result.is_err();
        result
    }

    /// Compares a recorded line with what it did here.
    fn end_recorded(&mut self) {
        let Some(recorded) = self.recorded.take() else {
            return;
        };
        let Recorded {
            place,
            reads,
            outcome,
            replies,
        } = recorded;
        let failed_there = replies.iter().find(|reply| is_refusal(reply));
        let difference = match (&outcome, failed_there) {
            (Ok(_), Some(reply)) => Some(format!("this is done here, but there: {reply}")),
            (Err(message), None) => Some(format!("this was done there, but here: {message}")),
            (Ok(printed), None) if reads && *printed != replies => Some(format!(
                "this printed `{}` there, but `{}` here",
                replies.join(" / "),
                printed.join(" / ")
            )),
            _ => None,
        };
        match (difference, outcome) {
            (Some(message), _) => self.fail(place, Kind::Command, message),
            (None, Ok(printed)) => printed.into_iter().for_each(|text| self.note(place, text)),
            (None, Err(message)) => self.note(place, message),
        }
    }

    fn died(&mut self, place: Place) {
        match self.target.stopped() {
            Some(reason) => self.note(place, reason),
            None => {
                let message = "the recorded switch ended here, but this one goes on".to_string();
                self.fail(place, Kind::Command, message);
            }
        }
    }

    fn send(&mut self, place: Place, port: Port, data: &[u8]) {
        self.sent += 1;
        self.cause = place.line;
        self.since_last = self.received.len();
        let received = &mut self.received;
        self.target.process(port, data, &mut |port, out| {
            received.push(Received::new(port, out, data, place.line));
        });
        if let Some(why) = self.target.gave_up() {
            self.note(place, format!("the switch gave this packet up: {why}"));
        }
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

    fn check_counter(
        &mut self,
        place: Place,
        counter: &str,
        index: &CounterIndex,
        check: Option<&(Unit, Compare, BigUint)>,
    ) {
        let read = self.read_counter(counter, index);
        match (check, read) {
            (Some((unit, compare, value)), read) => {
                let count = read.map(|(packets, bytes)| match unit {
                    Unit::Packets => packets.into(),
                    Unit::Bytes => bytes.into(),
                });
                self.check(place, counter, count, *compare, value);
            }
            (None, Ok((packets, bytes))) => {
                let message = format!("{counter} is {packets} packets, {bytes} bytes");
                self.note(place, message);
            }
            (None, Err(message)) => self.fail(place, Kind::Check, message),
        }
    }

    fn read_counter(&mut self, counter: &str, index: &CounterIndex) -> Result<(u64, u64), String> {
        match index {
            CounterIndex::Cell(index) => match harness::entry(self.target, counter, *index) {
                Some(entry) => self.target.read_direct_counter(&entry),
                None => self.target.read_counter(counter, *index),
            },
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
                let mut entry = resolve::entry(self.target.schema(), add, self.mode)?;
                if let Leads::Action(action) = &mut entry.target {
                    harness::fill(self.target, action);
                }
                if let Some(member) = add.action.member {
                    let mut action = resolve::action(&add.action);
                    harness::fill(self.target, &mut action);
                    entry.target = harness::member(self.target, &entry.key.table, member, action)?;
                }
                self.cli.handles.know(self.target, &entry.key.table);
                self.write(Update::Insert(entry.clone()))?;
                self.cli.handles.add(self.target, entry.key.clone());
                self.entries.push((add.label.clone(), entry.key));
                Ok(())
            }
            Command::SetDefault { table, action } => self.write(Update::SetDefault {
                table: table.clone(),
                action: Some(resolve::action(action)),
            }),
            Command::Selector {
                selector,
                group,
                members,
            } => self.target.write(Update::SetMemberGroup {
                profile: selector.clone(),
                group: *group,
                members: Some(members.clone()),
            }),
            Command::Load => harness::load(self.target),
            Command::Remove { label: Some(label) } => {
                let (_, key) = self.entries.remove(self.labelled(label)?);
                self.remove(key)
            }
            Command::Remove { label: None } => {
                let mut entries = std::mem::take(&mut self.entries).into_iter();
                entries.try_for_each(|(_, key)| self.remove(key))
            }
            Command::Cli(line) => {
                let printed = self.cli.carry_out(self.target, line)?;
                printed.into_iter().for_each(|text| self.note(place, text));
                Ok(())
            }
            _ => {
                let received = &mut self.received;
                let cause = self.cause;
                self.target.wait(WAIT, &mut |port, data| {
                    received.push(Received::new(port, data, &[], cause));
                });
                Ok(())
            }
        }
    }

    fn remove(&mut self, key: EntryKey) -> Result<(), String> {
        self.target.write(Update::Delete(key.clone()))?;
        self.cli.handles.remove(&key);
        Ok(())
    }

    fn judge_packets(&mut self) {
        if self.mode == Mode::Strict && self.is_about_state_alone() {
            if let Some(packet) = self.received.first() {
                let line = packet.cause;
                let message = format!(
                    "{} packets came out that the script does not check: the script expects none, but checks counters or registers",
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
                "these data were followed by the last {behind} bytes of the packet sent in line {}; end the data in $ to forbid that",
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
