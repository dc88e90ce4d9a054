//! Captures to be sent again: pcap and pcapng, read with bounds.
//!
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. Both byte orders; Ethernet only.

use std::fmt;

use p4_time::Time;

const SECOND: u128 = 1_000_000_000_000;
const ETHERNET: u32 = 1;
/// Longest frame that is believed, tcpdump's own bound
const LONGEST: usize = 1 << 18;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const OPT_IF_TSRESOL: u16 = 9;

/// Why a capture cannot be sent again, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCapture {
    /// Byte of the file
    pub at: usize,
    what: &'static str,
}

impl fmt::Display for BadCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the capture cannot be replayed: byte {}: {}",
            self.at, self.what
        )
    }
}

/// The frames of a capture, by their times since its first.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    data: Vec<u8>,
    /// Time, and where the frame is in `data`
    frames: Vec<(Time, std::ops::Range<usize>)>,
}

impl Recording {
    /// Reads a pcap or pcapng file. `speed` divides the times: 2 is twice as fast.
    pub fn read(file: &[u8], speed: f64) -> Result<Recording, BadCapture> {
        let mut stamped = match file.first_chunk::<4>() {
            Some(first) if u32::from_le_bytes(*first) == SECTION_HEADER => pcapng(file)?,
            Some(_) => pcap(file)?,
            None => return Err(bad(0, "this is neither pcap nor pcapng: it ends at once")),
        };
        // Interfaces of one capture need not agree on the order.
        stamped.sort_by_key(|(picos, _)| *picos);
        let zero = stamped.first().map_or(0, |(picos, _)| *picos);
        let mut recording = Recording::default();
        for (picos, frame) in stamped {
            let since = (picos - zero) as f64 / speed;
            let start = recording.data.len();
            recording.data.extend_from_slice(frame);
            // A cast of what is too large saturates.
            let time = Time::from_picos((since + 0.5) as u64);
            recording.frames.push((time, start..recording.data.len()));
        }
        Ok(recording)
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Length of the shortest frame
    pub fn shortest(&self) -> Option<usize> {
        self.frames.iter().map(|(_, range)| range.len()).min()
    }

    /// Time of a frame since the first; that of the last for what is beyond it.
    pub fn time(&self, index: usize) -> Time {
        let frame = self.frames.get(index).or(self.frames.last());
        frame.map_or(Time::ZERO, |(time, _)| *time)
    }

    /// A frame; nothing for what is beyond the last.
    pub fn frame(&self, index: usize) -> &[u8] {
        let range = self.frames.get(index).map(|(_, range)| range.clone());
        range.and_then(|range| self.data.get(range)).unwrap_or(&[])
    }
}

type Stamped<'a> = Vec<(u128, &'a [u8])>;

fn bad(at: usize, what: &'static str) -> BadCapture {
    BadCapture { at, what }
}

/// The numbers of a file in its byte order.
#[derive(Clone, Copy)]
struct Reader<'a> {
    file: &'a [u8],
    big: bool,
}

impl<'a> Reader<'a> {
    fn bytes(&self, at: usize, length: usize) -> Result<&'a [u8], BadCapture> {
        let end = at.checked_add(length);
        let bytes = end.and_then(|end| self.file.get(at..end));
        bytes.ok_or(bad(at, "the file ends within this; it was cut off"))
    }

    fn u16(&self, at: usize) -> Result<u16, BadCapture> {
        let bytes = self.bytes(at, 2)?;
        let bytes = [bytes[0], bytes[1]];
        Ok(if self.big {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    }

    fn u32(&self, at: usize) -> Result<u32, BadCapture> {
        let bytes = self.bytes(at, 4)?;
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        Ok(if self.big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    /// A frame of which all bytes must be there.
    fn frame(&self, at: usize, captured: u32, original: u32) -> Result<&'a [u8], BadCapture> {
        let length = captured as usize;
        if length > LONGEST {
            return Err(bad(
                at,
                "a frame of more than 262144 bytes; the file is damaged",
            ));
        }
        if captured < original {
            return Err(bad(
                at,
                "only a part of this frame was captured; capture whole frames (tcpdump -s 0)",
            ));
        }
        self.bytes(at, length)
    }
}

fn pcap(file: &[u8]) -> Result<Stamped<'_>, BadCapture> {
    let magic = |big| Reader { file, big }.u32(0);
    let (big, per_second) = match (magic(false)?, magic(true)?) {
        (0xA1B2_C3D4, _) => (false, 1_000_000),
        (0xA1B2_3C4D, _) => (false, 1_000_000_000),
        (_, 0xA1B2_C3D4) => (true, 1_000_000),
        (_, 0xA1B2_3C4D) => (true, 1_000_000_000),
        _ => return Err(bad(0, "this is neither pcap nor pcapng")),
    };
    let reader = Reader { file, big };
    // Above the link type are flags about checksums.
    if reader.u32(20)? & 0xFFFF != ETHERNET {
        return Err(bad(
            20,
            "its frames are not Ethernet; capture on an Ethernet interface",
        ));
    }
    let mut frames = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let (seconds, fraction) = (reader.u32(at)?, reader.u32(at + 4)?);
        let frame = reader.frame(at + 16, reader.u32(at + 8)?, reader.u32(at + 12)?)?;
        let picos = u128::from(seconds) * SECOND + u128::from(fraction) * SECOND / per_second;
        frames.push((picos, frame));
        at += 16 + frame.len();
    }
    Ok(frames)
}

fn pcapng(file: &[u8]) -> Result<Stamped<'_>, BadCapture> {
    let mut frames = Vec::new();
    let mut reader = Reader { file, big: false };
    // Units per second of each interface
    let mut interfaces: Vec<u128> = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let kind = reader.u32(at)?;
        if kind == SECTION_HEADER {
            reader.big = match reader.u32(at + 8)? {
                BYTE_ORDER_MAGIC => reader.big,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => !reader.big,
                _ => {
                    return Err(bad(
                        at + 8,
                        "a section without a byte order; the file is damaged",
                    ))
                }
            };
            interfaces.clear();
        }
        let length = reader.u32(at + 4)? as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Err(bad(
                at + 4,
                "a block of an impossible length; the file is damaged",
            ));
        }
        reader.bytes(at, length)?;
        let body = Reader {
            file: &file[..at + length - 4],
            ..reader
        };
        match kind {
            INTERFACE_DESCRIPTION => interfaces.push(interface(body, at + 8)?),
            ENHANCED_PACKET => {
                let number = body.u32(at + 8)? as usize;
                let per_second = *interfaces.get(number).ok_or(bad(
                    at + 8,
                    "a frame of an interface that was not described",
                ))?;
                let units = u128::from(body.u32(at + 12)?) << 32 | u128::from(body.u32(at + 16)?);
                let frame = body.frame(at + 28, body.u32(at + 20)?, body.u32(at + 24)?)?;
                frames.push((scaled(units, per_second), frame));
            }
            SIMPLE_PACKET => {
                return Err(bad(
                    at,
                    "a frame without a time; write enhanced packet blocks",
                ));
            }
            _ => {}
        }
        at += length;
    }
    Ok(frames)
}

/// Units per second of the interface described at `at`.
fn interface(body: Reader, at: usize) -> Result<u128, BadCapture> {
    if u32::from(body.u16(at)?) != ETHERNET {
        return Err(bad(
            at,
            "its frames are not Ethernet; capture on an Ethernet interface",
        ));
    }
    let mut option = at + 8;
    while option + 4 <= body.file.len() {
        let (code, length) = (body.u16(option)?, body.u16(option + 2)?);
        let value = body.bytes(option + 4, length.into())?;
        match (code, value) {
            (0, _) => break,
            (OPT_IF_TSRESOL, [power, ..]) => {
                let (base, power): (u128, _) = match power {
                    binary if binary & 0x80 != 0 => (2, u32::from(binary & 0x7F)),
                    decimal => (10, u32::from(*decimal)),
                };
                return base
                    .checked_pow(power)
                    .filter(|units| *units <= 1 << 64)
                    .ok_or(bad(option + 4, "a resolution of times finer than 2^-64 s"));
            }
            _ => option += 4 + usize::from(length).next_multiple_of(4),
        }
    }
    Ok(1_000_000)
}

/// Picoseconds of a time in units; neither number has more than 64 bits.
fn scaled(units: u128, per_second: u128) -> u128 {
    let (whole, part) = (units / per_second, units % per_second);
    whole * SECOND + part * SECOND / per_second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::PcapNg;
    use proptest::prelude::*;

    fn written(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut file = PcapNg::new();
        file.interface("a");
        for (nanos, frame) in frames {
            file.packet(0, Time::from_nanos(*nanos), frame);
        }
        file.bytes().to_vec()
    }

    fn classic(big: bool, magic: u32, link: u32, frames: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
        let number = |value: u32| {
            if big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            }
        };
        let mut file: Vec<u8> = [magic, 0x0004_0002, 0, 0, 65535, link].map(number).concat();
        for (seconds, fraction, frame) in frames {
            let length = frame.len() as u32;
            file.extend([*seconds, *fraction, length, length].map(number).concat());
            file.extend(frame);
        }
        file
    }

    fn of(recording: &Recording) -> Vec<(u64, Vec<u8>)> {
        (0..recording.len())
            .map(|index| {
                (
                    recording.time(index).picos(),
                    recording.frame(index).to_vec(),
                )
            })
            .collect()
    }

    // If this fails a replay is not what was captured.
    #[test]
    fn both_formats_give_frames_and_times_since_the_first() {
        let (a, b) = (vec![1; 60], vec![2; 61]);
        let file = written(&[(5_000_000_300, b.clone()), (5_000_000_100, a.clone())]);
        let expected = vec![(0, a.clone()), (100_000, b.clone())];
        assert_eq!(of(&Recording::read(&file, 2.0).unwrap()), expected);
        for big in [false, true] {
            let frames = [(7, 999_999, a.clone()), (8, 1, b.clone())];
            let file = classic(big, 0xA1B2_C3D4, 1, &frames);
            let expected = vec![(0, a.clone()), (2_000_000, b.clone())];
            assert_eq!(of(&Recording::read(&file, 1.0).unwrap()), expected);
            let file = classic(big, 0xA1B2_3C4D, 1, &frames[1..]);
            assert_eq!(of(&Recording::read(&file, 1.0).unwrap()), [(0, b.clone())]);
        }
    }

    #[test]
    fn what_cannot_be_replayed_is_refused_with_place_and_reason() {
        let whole = written(&[(1, vec![3; 60])]);
        let mut part = whole.clone();
        let original = whole.len() - 60 - 4 - 4;
        part[original] = 61;
        let files = [
            (vec![1, 2], "it ends at once"),
            (vec![9; 40], "neither pcap nor pcapng"),
            (whole[..whole.len() - 5].to_vec(), "cut off"),
            (part, "captured; capture whole frames"),
            (classic(false, 0xA1B2_C3D4, 101, &[]), "not Ethernet"),
        ];
        for (file, reason) in files {
            let error = Recording::read(&file, 1.0).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        // If this fails a damaged capture crashes the notebook.
        #[test]
        fn no_damage_does_harm(
            lengths in prop::collection::vec(0usize..80, 0..5),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            cut in any::<prop::sample::Index>(),
            kind in 0..3,
        ) {
            let frames: Vec<_> = lengths.iter().map(|n| (*n as u64, vec![7; *n])).collect();
            let mut file = match kind {
                0 => written(&frames),
                _ => {
                    let frames: Vec<_> =
                        lengths.iter().map(|n| (1, *n as u32, vec![7; *n])).collect();
                    classic(kind == 1, 0xA1B2_C3D4, 1, &frames)
                }
            };
            for (place, value) in damage {
                let index = place.index(file.len());
                file[index] = value;
            }
            file.truncate(cut.index(file.len() + 1));
            if let Ok(recording) = Recording::read(&file, 1.0) {
                let bytes: usize = (0..recording.len()).map(|i| recording.frame(i).len()).sum();
                prop_assert!(bytes <= file.len());
            }
        }
    }
}
