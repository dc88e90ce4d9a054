//! What senders have sent, by flow, and when.

use std::collections::{BTreeMap, VecDeque};

use p4_time::Time;

use crate::host::Flow;

/// Latest frames of each flow whose time of sending is remembered: 8 MB.
const REMEMBERED: usize = 1 << 20;

#[derive(Default)]
struct Row {
    flow: Option<Flow>,
    sent: u64,
    /// Number of the frame to which the first time belongs
    first: u64,
    times: VecDeque<Time>,
}

/// All flows that were ever sent, numbered in the order in which they came up.
#[derive(Default)]
pub(crate) struct Flows {
    numbers: BTreeMap<Flow, u32>,
    rows: Vec<Row>,
    /// Somebody measures: times of sending are wanted.
    pub(crate) timed: bool,
}

impl Flows {
    /// The number of a flow, a new one if need be.
    pub(crate) fn number(&mut self, flow: Flow) -> u32 {
        *self.numbers.entry(flow).or_insert_with(|| {
            self.rows.push(Row {
                flow: Some(flow),
                ..Row::default()
            });
            (self.rows.len() - 1) as u32
        })
    }

    /// The same flows, of which nothing was sent.
    pub(crate) fn without_rows(&self) -> Flows {
        Flows {
            numbers: self.numbers.clone(),
            rows: self.rows.iter().map(|_| Row::default()).collect(),
            timed: self.timed,
        }
    }

    /// Exchanges what is known of one flow.
    pub(crate) fn swap_row(&mut self, number: u32, other: &mut Flows) {
        let number = number as usize;
        if let (Some(own), Some(row)) = (self.rows.get_mut(number), other.rows.get_mut(number)) {
            std::mem::swap(own, row);
        }
    }

    /// Counts a frame as sent now, and gives its flow and sequence number.
    pub(crate) fn send(&mut self, number: u32, now: Time) -> Option<(Flow, u64)> {
        let row = self.rows.get_mut(number as usize)?;
        let sequence = row.sent;
        row.sent += 1;
        if self.timed {
            if row.times.is_empty() {
                row.first = sequence;
            } else if row.times.len() == REMEMBERED {
                row.times.pop_front();
                row.first += 1;
            }
            row.times.push_back(now);
        }
        Some((row.flow?, sequence))
    }

    pub(crate) fn sent(&self, flow: Flow) -> u64 {
        self.row(flow).map_or(0, |row| row.sent)
    }

    /// When a frame was sent, if that is still known.
    pub(crate) fn time(&self, flow: Flow, sequence: u64) -> Option<Time> {
        let row = self.row(flow)?;
        let index = usize::try_from(sequence.checked_sub(row.first)?).ok()?;
        row.times.get(index).copied()
    }

    /// Whether this network sends the flow: what a program has garbled may look like any other.
    pub(crate) fn knows(&self, flow: Flow) -> bool {
        self.numbers.contains_key(&flow)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Flow> + '_ {
        self.numbers.keys().copied()
    }

    fn row(&self, flow: Flow) -> Option<&Row> {
        self.rows.get(*self.numbers.get(&flow)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails latencies belong to other frames.
    #[test]
    fn times_are_those_of_their_frames_as_long_as_they_are_known() {
        let mut flows = Flows::default();
        let flow = Flow { flow: 1, sender: 2 };
        let number = flows.number(flow);
        assert_eq!(flows.number(flow), number);
        flows.send(number, Time::from_nanos(1));
        flows.timed = true;
        for sequence in 1..REMEMBERED as u64 + 11 {
            flows.send(number, Time::from_picos(sequence * 7));
        }
        assert_eq!(flows.sent(flow), REMEMBERED as u64 + 11);
        assert_eq!(flows.time(flow, 10), None, "forgotten");
        assert_eq!(flows.time(flow, 11), Some(Time::from_picos(77)));
        assert_eq!(flows.time(flow, REMEMBERED as u64 + 11), None, "not sent");
        assert_eq!(flows.time(Flow { flow: 9, sender: 2 }, 0), None);
    }
}
