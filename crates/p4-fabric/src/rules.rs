//! What parameters may not be, alone and together, and which line of a user's file is to blame.

use crate::parameters::Parameters;
use crate::settings::{Fault, Setting};

/// A condition that parameters have to meet.
pub(crate) struct Rule {
    fine: fn(&Parameters) -> bool,
    /// Whose values it is about, the most telling first
    keys: &'static [&'static str],
    /// Why it has to be so, with the values that there are
    reason: String,
}

const MOST: u64 = 1 << 24;
const FASTEST: u64 = 10_000;

impl Parameters {
    /// The first rule that is not met.
    pub(crate) fn broken(&self) -> Option<Rule> {
        self.rules().into_iter().find(|rule| !(rule.fine)(self))
    }

    fn rules(&self) -> Vec<Rule> {
        let of = |fine, keys, reason: &str| Rule {
            fine,
            keys,
            reason: reason.to_string(),
        };
        let frame = self.units(self.frame_most.max(1));
        let holds = format!("a buffer has to hold the largest frame, {frame} units");
        vec![
            of(
                |p| (64..=4096).contains(&p.cell),
                &["cell.bytes"],
                "a cell has 64 to 4096 bytes",
            ),
            of(
                |p| (64..=9216).contains(&p.frame_most) && p.units(p.frame_most) <= 144,
                &["line.frame_most", "cell.bytes"],
                "a frame has 64 to 9216 bytes",
            ),
            of(
                |p| {
                    (1..=FASTEST).contains(&p.line_gbps) && (1..=FASTEST).contains(&p.link_gbps)
                },
                &["line.gbps", "link.gbps"],
                &format!("a rate is 1 to {FASTEST} Gb/s"),
            ),
            of(
                |p| p.slot >= 100,
                &["cell.slot_ps"],
                "a slot takes at least 100 ps",
            ),
            of(
                |p| (1..=8).contains(&p.headers_a_slot),
                &["cell.headers"],
                "a port issues 1 to 8 headers a slot",
            ),
            of(
                |p| (1..=64).contains(&p.links) && p.links.is_multiple_of(8),
                &["link.count"],
                "a leaf has 8, 16, ... or 64 links",
            ),
            of(
                |p| p.hop_credits > 0 && p.ahead > 0 && p.spine_output > 0,
                &["link.credits", "link.ahead", "spine.output"],
                "without credits for a cell nothing ever moves",
            ),
            of(
                |p| (1..=8).contains(&p.speedup),
                &["spine.speedup"],
                "a spine's speed-up is 1 to 8",
            ),
            of(
                |p| {
                    p.cache_lines == 0 || (p.cache_spare < p.cache_lines && p.cache_lines < 65_535)
                },
                &["cache.lines", "cache.spare"],
                "a cache has more lines than it keeps free, and fewer than 65535; 0 is not a cache",
            ),
            of(
                |p| p.resume <= p.block && p.block > 0,
                &["sync.block", "sync.resume"],
                &format!(
                    "a VOQ is suspended {} cells ahead and would resume {} ahead: resume may not be larger",
                    self.block, self.resume
                ),
            ),
            of(
                |p| (1..=255).contains(&p.sync_entries),
                &["sync.entries"],
                "the CAM has 1 to 255 entries",
            ),
            of(
                |p| (1..=1 << 20).contains(&p.window),
                &["voq.window"],
                "a VOQ that may not ask for anything sends nothing",
            ),
            of(
                |p| p.headers_low <= p.headers_high && p.headers_high > 0,
                &["headers.low", "headers.high"],
                &format!(
                    "the low threshold of headers, {}, may not be above the high one, {}",
                    self.headers_low, self.headers_high
                ),
            ),
            of(
                |p| p.go < p.stop,
                &["lossless.go", "lossless.stop"],
                &format!("GO at {} has to be below STOP at {}", self.go, self.stop),
            ),
            of(
                |p| {
                    [p.lossy_payload, p.lossless_payload, p.egress_buffer, p.voq_most]
                        .iter()
                        .all(|size| (p.units(p.frame_most)..=MOST).contains(size))
                },
                &[
                    "egress.buffer",
                    "lossless.payload",
                    "lossy.payload",
                    "voq.most",
                    "line.frame_most",
                    "cell.bytes",
                ],
                &holds,
            ),
            of(
                |p| p.stop.saturating_add(p.head_room()) <= p.lossless_payload,
                &[
                    "lossless.stop",
                    "lossless.payload",
                    "lossless.cable_ps",
                    "line.gbps",
                    "line.frame_most",
                    "cell.bytes",
                ],
                &format!(
                    "STOP at {} leaves less than the {} units that still come: make the pool larger or stop earlier",
                    self.stop,
                    self.head_room()
                ),
            ),
            of(
                |p| p.quantum >= p.frame_most,
                &["egress.quantum", "line.frame_most"],
                "a quantum below the largest frame makes DRR turn in vain",
            ),
            of(
                |p| p.qcn_sample > 0 && p.byte_reset > 0 && p.time_reset > 0 && p.stages > 0,
                &[
                    "qcn.sample",
                    "qcn.byte_reset",
                    "qcn.time_reset_ps",
                    "qcn.threshold",
                ],
                "QCN's periods may not be zero",
            ),
            of(
                |p| p.equilibrium_in > 0 && p.equilibrium_out > 0 && p.least_mbps > 0,
                &[
                    "qcn.equilibrium_in",
                    "qcn.equilibrium_out",
                    "qcn.least_mbps",
                ],
                "QCN's set point and least rate may not be zero",
            ),
            of(
                |p| p.cable > 0 && p.request_remote > 0 && p.cnm > 0 && p.retransmit > 0,
                &[
                    "link.cable_ps",
                    "latency.request_remote_ps",
                    "qcn.cnm_ps",
                    "errors.timeout_ps",
                ],
                "what goes from leaf to leaf takes at least 1 ps",
            ),
            of(
                |p| p.quiet > 10 * 2 * p.request_remote && p.quiet > p.retransmit,
                &[
                    "watchdog.quiet_ps",
                    "latency.request_remote_ps",
                    "errors.timeout_ps",
                ],
                "the watchdog has to wait for longer than ten round trips and a retransmission",
            ),
        ]
    }
}

impl Rule {
    /// What breaks the rule in `own`, which has been taken over `base`: the last setting without
    /// which it would be met, or else the last that it is about.
    pub(crate) fn fault(&self, base: &Parameters, own: &[Setting]) -> Fault {
        let about = || {
            let latest = own.iter().rev();
            latest.filter(|one| self.keys.contains(&one.key.as_str()))
        };
        let blamed = about()
            .find(|one| self.is_met_without(one, base, own))
            .or_else(|| about().next());
        let key = blamed.map_or(self.keys[0], |one| one.key.as_str());
        Fault {
            line: blamed.map_or(0, |one| one.line),
            message: format!("{key}: {}", self.reason),
        }
    }

    fn is_met_without(&self, left_out: &Setting, base: &Parameters, own: &[Setting]) -> bool {
        let mut tried = base.clone();
        for one in own.iter().filter(|one| one.key != left_out.key) {
            let _ = tried.take(one); // has been taken before
        }
        (self.fine)(&tried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::DEFAULTS;
    use crate::settings::{read, Value};

    // If this fails a run with impossible buffers hangs or lies, and no one says which line it was.
    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        for (text, line, word) in [
            ("[sync]\nblock = 5\nresume = 9\n", 2, "resume"),
            ("[sync]\nresume = 19\n", 2, "resume"),
            ("[egress]\n\nbuffer = 20\n", 3, "egress.buffer: "),
            (
                "[egress]\nbuffer = 20\n[lossy]\npayload = 900\n",
                2,
                "36 units",
            ),
            ("[link]\ncredits = 0\n", 2, "credits"),
            ("[lossless]\nstop = 380\n", 2, "still come"),
            ("[lossless]\ngo = 300\n", 2, "GO"),
            ("[headers]\nlow = 9\nhigh = 5\n", 3, "low"),
            ("[headers]\nprobability = 1.5\n", 2, "probability"),
            ("[voq]\ndrop = \"front\"\n", 2, "\"tail\""),
            ("[cache]\nlines = 10\n", 2, "lines"),
            ("[cache]\nline = 10\n", 2, "not a parameter"),
            ("[cache]\nlines = -1\n", 2, "whole number"),
        ] {
            let fault = Parameters::read(text).unwrap_err();
            assert_eq!(fault.line, line, "{text:?}: {fault}");
            assert!(fault.message.contains(word), "{text:?}: {fault}");
        }
    }

    // If this fails there is a parameter that breaks a rule without a line, or without an end.
    #[test]
    fn each_parameter_alone_is_fine_or_has_its_line() {
        for one in read(DEFAULTS).unwrap() {
            let (section, name) = one.key.split_once('.').unwrap();
            let Value::Number(_) = one.value else {
                continue;
            };
            for value in ["0", "1", "64", "8999999999999999"] {
                let text = format!("[{section}]\n{name} = {value}\n");
                if let Err(fault) = Parameters::read(&text) {
                    assert_eq!(fault.line, 2, "{text}{fault}");
                    assert!(fault.message.contains(&one.key), "{text}{fault}");
                }
            }
        }
    }

    // If this fails a user is sent to a line that the file does not have: a figure has settings, too.
    #[test]
    fn lines_are_those_of_the_users_file() {
        let figure = "[sync]\nblock = 8\n[sync]\nresume = 2\n";
        let fault = Parameters::over(figure, "[sync]\nresume = 9\n").unwrap_err();
        assert_eq!((fault.line, fault.message.contains("8 cells")), (2, true));
        assert_eq!(
            Parameters::over("[sync]\nblock = 8\n", "")
                .unwrap_err()
                .line,
            0
        );
        let both = Parameters::over(figure, "[sync]\nblock = 5\n").unwrap();
        assert_eq!((both.block, both.resume), (5, 2));
    }
}
