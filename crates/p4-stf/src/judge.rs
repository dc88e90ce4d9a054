//! Packets that came out against packets that were expected, port by port.

use crate::script::{Pattern, Place, Port};
use std::collections::{BTreeMap, BTreeSet};

/// How a script is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every packet on every port is accounted for and compared whole. Behind data without `$`
    /// only what a switch passes on unread may come: the end of the packet that was sent.
    #[default]
    Strict,
    /// As p4c's runner judges: a prefix is enough unless the data ends in `$`, and ports that the
    /// script never names are not looked at.
    Lax,
}

/// A packet that came out of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub port: Port,
    pub data: Vec<u8>,
    /// Line of the `packet` command that caused it
    pub cause: u32,
    /// As many bytes at its end are the end of the packet that was sent.
    pub passed_on: usize,
}

impl Received {
    /// A packet that came out when `sent` had been sent by the command in line `cause`.
    pub fn new(port: Port, data: &[u8], sent: &[u8], cause: u32) -> Received {
        let ends = data.iter().rev().zip(sent.iter().rev());
        Received {
            port,
            data: data.to_vec(),
            cause,
            passed_on: ends.take_while(|(a, b)| a == b).count(),
        }
    }
}

/// An `expect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub place: Place,
    pub port: Port,
    pub pattern: Option<Pattern>,
}

/// What became of one expectation or of one packet. Indices are into the lists given to [`judge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met {
        expected: usize,
        received: usize,
    },
    Differs {
        expected: usize,
        received: usize,
    },
    Missing {
        expected: usize,
    },
    Unexpected {
        received: usize,
    },
    /// p4c's runner: whatever comes out of this port is fine.
    NotJudged {
        expected: usize,
    },
}

/// Compares per port and in order. `named` are the ports that the script mentions.
pub fn judge(
    expected: &[Expected],
    received: &[Received],
    named: &BTreeSet<Port>,
    mode: Mode,
) -> Vec<Verdict> {
    let mut ports: BTreeMap<Port, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (index, expect) in expected.iter().enumerate() {
        ports.entry(expect.port).or_default().0.push(index);
    }
    for (index, packet) in received.iter().enumerate() {
        ports.entry(packet.port).or_default().1.push(index);
    }
    let mut verdicts = Vec::new();
    for (port, (expects, packets)) in ports {
        let anything_goes = expects
            .iter()
            .any(|&index| expected[index].pattern.is_none());
        if mode == Mode::Lax && anything_goes {
            verdicts.extend(
                expects
                    .iter()
                    .map(|&expected| Verdict::NotJudged { expected }),
            );
        } else if mode == Mode::Strict || named.contains(&port) {
            let fits =
                |e: usize, r: usize| matches(expected[e].pattern.as_ref(), &received[r], mode);
            align(&expects, &packets, fits, &mut verdicts);
        }
    }
    verdicts.sort_by_key(|verdict| match *verdict {
        Verdict::Met {
            expected: index, ..
        }
        | Verdict::Differs {
            expected: index, ..
        }
        | Verdict::Missing { expected: index }
        | Verdict::NotJudged { expected: index } => (0, index),
        Verdict::Unexpected { received } => (1, received),
    });
    verdicts
}

/// Whether the packet is what the pattern describes; no pattern describes any packet.
pub fn matches(pattern: Option<&Pattern>, packet: &Received, mode: Mode) -> bool {
    let Some(pattern) = pattern else { return true };
    let Some(behind) = packet.data.len().checked_sub(pattern.nibbles.len() / 2) else {
        return false;
    };
    let may_follow = match mode {
        _ if pattern.ends => 0,
        Mode::Lax => behind,
        Mode::Strict => packet.passed_on,
    };
    behind <= may_follow && different_bytes(pattern, &packet.data).is_empty()
}

/// Indices of the bytes that both have and that differ.
pub fn different_bytes(pattern: &Pattern, data: &[u8]) -> Vec<usize> {
    let differs = |wanted: &[Option<u8>], byte: u8| {
        let nibbles = [byte >> 4, byte & 15];
        wanted
            .iter()
            .zip(nibbles)
            .any(|(want, is)| want.is_some_and(|want| want != is))
    };
    let pairs = pattern.nibbles.chunks(2).zip(data).enumerate();
    pairs
        .filter(|(_, (wanted, byte))| differs(wanted, **byte))
        .map(|(index, _)| index)
        .collect()
}

/// Above this many comparisons the packets of a port are paired by their order alone.
const MAX_PAIRS: usize = 4_000_000;

/// Finds the longest run of expectations met in order, so that one packet too many or too few is
/// reported as that and not as a difference of every packet behind it.
fn align(
    expects: &[usize],
    packets: &[usize],
    fits: impl Fn(usize, usize) -> bool,
    verdicts: &mut Vec<Verdict>,
) {
    let (rows, columns) = (expects.len(), packets.len());
    if rows.saturating_mul(columns) > MAX_PAIRS {
        let met = |(&e, &r): (&usize, &usize)| match fits(e, r) {
            true => Verdict::Met {
                expected: e,
                received: r,
            },
            false => Verdict::Differs {
                expected: e,
                received: r,
            },
        };
        verdicts.extend(expects.iter().zip(packets).map(met));
        return gap(
            &expects[rows.min(columns)..],
            &packets[rows.min(columns)..],
            verdicts,
        );
    }
    let width = columns + 1;
    let mut longest = vec![0u32; (rows + 1) * width];
    let mut fit = vec![false; rows * columns];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            fit[i * columns + j] = fits(expects[i], packets[j]);
            longest[i * width + j] = if fit[i * columns + j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut from) = (0, 0, (0, 0));
    while i < rows && j < columns {
        if fit[i * columns + j] {
            gap(&expects[from.0..i], &packets[from.1..j], verdicts);
            verdicts.push(Verdict::Met {
                expected: expects[i],
                received: packets[j],
            });
            (i, j) = (i + 1, j + 1);
            from = (i, j);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    gap(&expects[from.0..], &packets[from.1..], verdicts);
}

/// Between two met expectations: what is left over is paired in order, then missing or unexpected.
fn gap(expects: &[usize], packets: &[usize], verdicts: &mut Vec<Verdict>) {
    let pairs = expects.iter().zip(packets);
    verdicts.extend(pairs.map(|(&expected, &received)| Verdict::Differs { expected, received }));
    let paired = expects.len().min(packets.len());
    verdicts.extend(
        expects[paired..]
            .iter()
            .map(|&expected| Verdict::Missing { expected }),
    );
    verdicts.extend(
        packets[paired..]
            .iter()
            .map(|&received| Verdict::Unexpected { received }),
    );
}
