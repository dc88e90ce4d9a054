//! Hosts: what a network card lets in, and what the probe receiver behind it counts.

use std::collections::{BTreeMap, BTreeSet};

use p4_time::Time;

use crate::flows::Flows;
use crate::probe::Probe;
use crate::reading::{readable, Reads, Unreadable};
use crate::sequences::Sequences;
use crate::sink::Sink;
use crate::tcp::TcpHost;

/// An Ethernet address.
pub type Mac = [u8; 6];

const BROADCAST: Mac = [0xFF; 6];

/// Identifies a numbered stream: its flow and the number of the host that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    pub flow: u32,
    pub sender: u32,
}

impl From<Probe> for Flow {
    fn from(probe: Probe) -> Flow {
        Flow {
            flow: probe.flow,
            sender: probe.sender,
        }
    }
}

/// What one host got of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReport {
    pub flow: Flow,
    /// Frames that the stream's sender has sent so far.
    pub sent: u64,
    /// Different sequence numbers received.
    pub received: u64,
    /// Further copies of numbers already received.
    pub duplicates: u64,
    /// Sent numbers that did not come (yet).
    pub missing: u64,
    /// First copies that came after a higher number.
    pub out_of_order: u64,
    /// Probes that reached the host though its card does not listen to their address.
    pub unwanted: u64,
    /// Probes that its card took and that it could not read ([`crate::Network::read_ip`]).
    pub unreadable: u64,
    /// Why it could not read the first of them.
    pub trouble: Option<Unreadable>,
    /// When the first and the last accepted copy came.
    pub first: Option<Time>,
    pub last: Option<Time>,
}

/// What to make of a frame that reached a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Probe,
    Other,
    Filtered,
    /// A probe that the host could not read
    Unreadable,
}

/// How a probe came, next to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InOrder,
    /// The first copy, after a higher number
    Late,
    Duplicate,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    seen: Sequences,
    duplicates: u64,
    out_of_order: u64,
    unwanted: u64,
    unreadable: u64,
    trouble: Option<Unreadable>,
    highest: u64,
    first: Option<Time>,
    last: Option<Time>,
}

impl Tally {
    fn add(&mut self, now: Time, sequence: u64) -> Arrival {
        self.first.get_or_insert(now);
        self.last = Some(now);
        if !self.seen.insert(sequence) {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        if sequence < self.highest {
            self.out_of_order += 1;
            return Arrival::Late;
        }
        self.highest = sequence;
        Arrival::InOrder
    }
}

pub(crate) struct Host {
    mac: Mac,
    joined: BTreeSet<Mac>,
    promiscuous: bool,
    /// What it reads; `None` if it counts probes whatever is in front of them.
    pub(crate) reads: Option<Reads>,
    /// Something stands between its card and it, which takes every frame.
    pub(crate) attached: bool,
    tallies: BTreeMap<Flow, Tally>,
    /// Measures, if it is asked to.
    pub(crate) sink: Option<Box<Sink>>,
    /// Its TCP, if it has one.
    pub(crate) tcp: Option<Box<TcpHost>>,
}

impl Host {
    pub(crate) fn new(mac: Mac) -> Host {
        Host {
            mac,
            joined: BTreeSet::new(),
            promiscuous: false,
            reads: None,
            attached: false,
            tallies: BTreeMap::new(),
            sink: None,
            tcp: None,
        }
    }

    pub(crate) fn mac(&self) -> Mac {
        self.mac
    }

    pub(crate) fn join(&mut self, mac: Mac) {
        self.joined.insert(mac);
    }

    pub(crate) fn leave(&mut self, mac: Mac) {
        self.joined.remove(&mac);
    }

    pub(crate) fn set_promiscuous(&mut self, promiscuous: bool) {
        self.promiscuous = promiscuous;
    }

    /// A frame on the cable. `flows` tells when probes were sent.
    pub(crate) fn receive(&mut self, now: Time, frame: &[u8], flows: &Flows) -> Verdict {
        if self.attached && self.listens_to(frame) {
            return Verdict::Other;
        }
        self.take(now, frame, flows)
    }

    /// A frame for the host itself.
    pub(crate) fn take(&mut self, now: Time, frame: &[u8], flows: &Flows) -> Verdict {
        let wanted = self.listens_to(frame);
        let Some(probe) = Probe::of(frame) else {
            if !wanted {
                return Verdict::Filtered;
            }
            if let Some(sink) = &mut self.sink {
                sink.other(now, frame.len());
            }
            return Verdict::Other;
        };
        let tally = self.tallies.entry(probe.into()).or_default();
        if !wanted {
            tally.unwanted += 1;
            return Verdict::Filtered;
        }
        if let Some(Err(trouble)) = self.reads.map(|reads| readable(frame, reads)) {
            tally.unreadable += 1;
            tally.trouble.get_or_insert(trouble);
            return Verdict::Unreadable;
        }
        let arrival = tally.add(now, probe.sequence);
        if let Some(sink) = &mut self.sink {
            let sent = flows.time(probe.into(), probe.sequence);
            let latency = sent.map(|sent| now - sent);
            let is_known = flows.knows(probe.into());
            sink.probe(now, frame.len(), probe, arrival, is_known, latency);
        }
        Verdict::Probe
    }

    /// Flows of which this host has seen anything.
    pub(crate) fn flows(&self) -> impl Iterator<Item = Flow> + '_ {
        self.tallies.keys().copied()
    }

    pub(crate) fn report(&self, flow: Flow, sent: u64) -> FlowReport {
        let nothing = Tally::default();
        let tally = self.tallies.get(&flow).unwrap_or(&nothing);
        FlowReport {
            flow,
            sent,
            received: tally.seen.count(),
            duplicates: tally.duplicates,
            missing: sent - tally.seen.count_below(sent),
            out_of_order: tally.out_of_order,
            unwanted: tally.unwanted,
            unreadable: tally.unreadable,
            trouble: tally.trouble,
            first: tally.first,
            last: tally.last,
        }
    }

    fn listens_to(&self, frame: &[u8]) -> bool {
        let heard = |to: &Mac| *to == self.mac || *to == BROADCAST || self.joined.contains(to);
        self.promiscuous || frame.first_chunk::<6>().is_some_and(heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: Mac, sequence: u64) -> Vec<u8> {
        let mut frame = vec![0; 64];
        frame[..6].copy_from_slice(&to);
        Probe {
            flow: 1,
            sequence,
            sender: 2,
        }
        .write_at_end_of(&mut frame);
        frame
    }

    // If this fails the result table tells a student that a wrong P4 program is right.
    #[test]
    fn counts_received_duplicate_missing_late_and_unwanted() {
        let (own, group, other) = (
            [2, 0, 0, 0, 0, 1],
            [1, 0, 0x5E, 1, 1, 1],
            [1, 0, 0x5E, 9, 9, 9],
        );
        let mut host = Host::new(own);
        host.join(group);
        let arrivals = [
            (group, 0),
            (group, 3),
            (group, 1),
            (group, 3),
            (own, 4),
            (other, 2),
        ];
        for (tick, (to, sequence)) in arrivals.into_iter().enumerate() {
            host.receive(
                Time::from_nanos(tick as u64 + 1),
                &frame(to, sequence),
                &Flows::default(),
            );
        }
        let flow = Flow { flow: 1, sender: 2 };
        let report = host.report(flow, 6);
        let expected = FlowReport {
            flow,
            sent: 6,
            received: 4,
            duplicates: 1,
            missing: 2,
            out_of_order: 1,
            unwanted: 1,
            unreadable: 0,
            trouble: None,
            first: Some(Time::from_nanos(1)),
            last: Some(Time::from_nanos(5)),
        };
        assert_eq!(report, expected);
    }

    #[test]
    fn a_left_group_is_unwanted_and_promiscuous_takes_all() {
        let (own, group) = ([2, 0, 0, 0, 0, 1], [1, 0, 0x5E, 1, 1, 1]);
        let mut host = Host::new(own);
        host.join(group);
        host.leave(group);
        let take = |host: &mut Host, data: &[u8]| host.receive(Time::ZERO, data, &Flows::default());
        assert_eq!(take(&mut host, &frame(group, 0)), Verdict::Filtered);
        host.set_promiscuous(true);
        assert_eq!(take(&mut host, &frame(group, 1)), Verdict::Probe);
        assert_eq!(take(&mut host, &[0; 64]), Verdict::Other);
        assert_eq!(take(&mut host, &[]), Verdict::Other);
    }

    // If this fails, a host has "received" what its kernel throws away.
    #[test]
    fn what_cannot_be_read_is_not_received() {
        let own = [2, 0, 0, 0, 0, 1];
        let mut host = Host::new(own);
        host.reads = Some(Reads { tagged: false });
        let verdict = host.receive(Time::ZERO, &frame(own, 0), &Flows::default());
        assert_eq!(verdict, Verdict::Unreadable);
        let report = host.report(Flow { flow: 1, sender: 2 }, 1);
        assert_eq!(
            (report.received, report.missing, report.unreadable),
            (0, 1, 1)
        );
        assert_eq!(report.trouble, Some(Unreadable::EtherType(0)));
    }

    #[test]
    fn an_attached_host_counts_what_is_handed_to_it() {
        let own = [2, 0, 0, 0, 0, 1];
        let mut host = Host::new(own);
        host.attached = true;
        let flows = Flows::default();
        let received = |host: &Host| host.report(Flow { flow: 1, sender: 2 }, 1).received;
        let verdict = host.receive(Time::ZERO, &frame(own, 0), &flows);
        assert_eq!((verdict, received(&host)), (Verdict::Other, 0));
        let verdict = host.take(Time::ZERO, &frame(own, 0), &flows);
        assert_eq!((verdict, received(&host)), (Verdict::Probe, 1));
    }
}
