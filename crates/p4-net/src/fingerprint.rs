//! One number for a whole run, to compare two runs by.

use p4_time::Time;

/// FNV-1a over the deliveries of each wire, and over the wires. So it does not matter in which order
/// wires that have nothing to do with each other deliver. Not cryptographic: it guards against
/// accidents, not against forgers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fingerprint(Vec<u64>);

const START: u64 = 0xCBF2_9CE4_8422_2325;

impl Fingerprint {
    pub(crate) fn add(&mut self, time: Time, wire: u32, frame: &[u8]) {
        let wire = wire as usize;
        if self.0.len() <= wire {
            self.0.resize(wire + 1, START);
        }
        let sum = &mut self.0[wire];
        mix(sum, &time.picos().to_le_bytes());
        mix(sum, &(frame.len() as u64).to_le_bytes());
        mix(sum, frame);
    }

    /// Takes what another one has of a wire.
    pub(crate) fn take(&mut self, wire: u32, other: &Fingerprint) {
        let wire = wire as usize;
        let Some(sum) = other.0.get(wire) else { return };
        if self.0.len() <= wire {
            self.0.resize(wire + 1, START);
        }
        self.0[wire] = *sum;
    }

    pub(crate) fn value(&self) -> u64 {
        let mut sum = START;
        let used = self.0.iter().enumerate().filter(|(_, one)| **one != START);
        for (wire, one) in used {
            mix(&mut sum, &(wire as u64).to_le_bytes());
            mix(&mut sum, &one.to_le_bytes());
        }
        sum
    }
}

fn mix(sum: &mut u64, bytes: &[u8]) {
    for &byte in bytes {
        *sum = (*sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
}
