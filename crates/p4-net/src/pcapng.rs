//! pcapng, the part of it that a capture in virtual time needs (draft-ietf-opsawg-pcapng).
//!
//! Three kinds of blocks, little-endian: section header, interface description, enhanced packet.
//! Timestamps count nanoseconds of virtual time since 1970, so a run begins at the epoch.

use p4_time::Time;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_ETHERNET: u16 = 1;
const OPT_IF_NAME: u16 = 2;
const OPT_IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;

/// A capture file being written, in memory: where it goes is the caller's matter.
#[derive(Clone, Debug)]
pub struct PcapNg {
    bytes: Vec<u8>,
    interfaces: u32,
}

impl Default for PcapNg {
    fn default() -> PcapNg {
        PcapNg::new()
    }
}

impl PcapNg {
    pub fn new() -> PcapNg {
        let mut file = PcapNg {
            bytes: Vec::new(),
            interfaces: 0,
        };
        file.block(SECTION_HEADER, |body| {
            body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
            body.extend(1u16.to_le_bytes());
            body.extend(0u16.to_le_bytes());
            // The section's length is not known yet.
            body.extend(u64::MAX.to_le_bytes());
        });
        file
    }

    /// Describes one more interface and returns its number.
    pub fn interface(&mut self, name: &str) -> u32 {
        self.block(INTERFACE_DESCRIPTION, |body| {
            body.extend(LINKTYPE_ETHERNET.to_le_bytes());
            body.extend([0; 2]);
            // No limit on captured lengths.
            body.extend(0u32.to_le_bytes());
            option(body, OPT_IF_NAME, name.as_bytes());
            option(body, OPT_IF_TSRESOL, &[NANOSECONDS]);
            body.extend([0; 4]);
        });
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// Adds a whole frame, seen at `time` on an interface that [`PcapNg::interface`] has numbered.
    pub fn packet(&mut self, interface: u32, time: Time, frame: &[u8]) {
        let nanos = time.nanos();
        self.block(ENHANCED_PACKET, |body| {
            body.extend(interface.to_le_bytes());
            body.extend(((nanos >> 32) as u32).to_le_bytes());
            body.extend((nanos as u32).to_le_bytes());
            body.extend((frame.len() as u32).to_le_bytes());
            body.extend((frame.len() as u32).to_le_bytes());
            body.extend(frame);
        });
    }

    /// The file so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes what has been written since the last call, to append to a file; numbering goes on.
    pub fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Type, length, body padded to four bytes, length again.
    fn block(&mut self, kind: u32, write_body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend([0; 4]);
        write_body(&mut self.bytes);
        pad(&mut self.bytes, start);
        let length = ((self.bytes.len() - start + 4) as u32).to_le_bytes();
        self.bytes.extend(length);
        self.bytes[start + 4..start + 8].copy_from_slice(&length);
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Longer names than an option can hold are cut, not refused: they only label a capture.
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    let start = body.len();
    body.extend(value);
    pad(body, start);
}

fn pad(bytes: &mut Vec<u8>, start: usize) {
    let length = bytes.len() - start;
    bytes.resize(start + length.next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails Wireshark refuses the files that `--pcap` writes.
    #[test]
    fn blocks_are_laid_out_as_the_draft_says() {
        let mut file = PcapNg::new();
        assert_eq!(file.interface("r1"), 0);
        file.packet(0, Time::from_secs(5), &[1, 2, 3, 4, 5]);
        let mut expected = vec![
            0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0,
        ];
        expected.extend([0xFF; 8]);
        expected.extend([28, 0, 0, 0]);
        expected.extend([1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend([
            2, 0, 2, 0, b'r', b'1', 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0,
        ]);
        expected.extend([6, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0]);
        // 5 s = 0x1_2A05F200 ns
        expected.extend([1, 0, 0, 0, 0x00, 0xF2, 0x05, 0x2A, 5, 0, 0, 0, 5, 0, 0, 0]);
        expected.extend([1, 2, 3, 4, 5, 0, 0, 0, 40, 0, 0, 0]);
        assert_eq!(file.bytes(), expected);
    }
}
