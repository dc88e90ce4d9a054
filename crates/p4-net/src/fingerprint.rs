//! One number for a whole run, to compare two runs by.

use p4_time::Time;

/// FNV-1a over deliveries. Not cryptographic: it guards against accidents, not against forgers.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    pub(crate) fn add(&mut self, time: Time, wire: u32, frame: &[u8]) {
        self.bytes(&time.picos().to_le_bytes());
        self.bytes(&wire.to_le_bytes());
        self.bytes(&(frame.len() as u64).to_le_bytes());
        self.bytes(frame);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}
