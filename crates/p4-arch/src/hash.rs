//! Hash algorithms over bytes: those of v1model, and CRCs of any width.

/// `HashAlgorithm`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Crc32,
    Crc16,
    /// A CRC with parameters that the control plane sets: index in the switch's list
    Custom(u32),
    /// No function of the data: a number of the switch's own generator
    Random,
    Identity,
    Csum16,
    Xor16,
}

impl Algorithm {
    /// The algorithm that the enum member `name` means. The custom variants have the parameters
    /// that simple_switch starts with, which are those of the plain ones.
    pub fn named(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "identity" => Algorithm::Identity,
            "csum16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "random" => Algorithm::Random,
            _ => return None,
        })
    }

    /// The hash of `data`; [`Algorithm::Custom`] and [`Algorithm::Random`] need the switch's state
    /// and give 0 here.
    pub fn hash(self, data: &[u8]) -> u64 {
        match self {
            Algorithm::Custom(_) | Algorithm::Random => 0,
            Algorithm::Crc32 => crc32(data).into(),
            Algorithm::Crc16 => crc16(data).into(),
            Algorithm::Identity => data
                .iter()
                .take(8)
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            Algorithm::Csum16 => csum16(data).into(),
            Algorithm::Xor16 => words(data).fold(0, |sum, word| sum ^ word).into(),
        }
    }
}

/// Big-endian words of 16 bits; a last odd byte is the upper half of a word.
fn words(data: &[u8]) -> impl Iterator<Item = u16> + '_ {
    data.chunks(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

/// The Internet checksum (RFC 1071). 2^16 is 1 in ones' complement arithmetic, so words of 64 bits
/// add up to the same as words of 16.
fn csum16(data: &[u8]) -> u16 {
    let mut sum = 0u64;
    let (chunks, rest) = data.as_chunks::<8>();
    for chunk in chunks {
        let (wrapped, carry) = sum.overflowing_add(u64::from_be_bytes(*chunk));
        sum = wrapped + u64::from(carry);
    }
    let mut sum = (sum & 0xffff_ffff) + (sum >> 32) + words(rest).map(u64::from).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// CRC-32 of IEEE 802.3.
fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, byte| {
        crc >> 8 ^ CRC32[((crc ^ u32::from(*byte)) & 0xff) as usize]
    })
}

/// CRC-16/ARC.
fn crc16(data: &[u8]) -> u16 {
    let step =
        |crc: u16, byte: &u8| crc >> 8 ^ CRC16[((crc ^ u16::from(*byte)) & 0xff) as usize] as u16;
    data.iter().fold(0, step)
}

/// The parameters of a CRC of 16 or 32 bits, as `set_crc16_parameters` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// Bits
    pub width: u32,
    /// Without its highest term, the next term in the highest bit
    pub polynomial: u64,
    pub initial: u64,
    /// Added at the end
    pub xor: u64,
    /// The bits of each byte are taken from the lowest.
    pub reflect_data: bool,
    /// The bits of the remainder are turned round at the end.
    pub reflect_remainder: bool,
}

impl CrcParameters {
    /// What `crc16_custom` and `crc32_custom` are until they are told otherwise: the plain ones.
    pub fn standard(width: u32) -> CrcParameters {
        let (polynomial, ones) = match width {
            32 => (0x04c1_1db7, 0xffff_ffff),
            _ => (0x8005, 0),
        };
        CrcParameters {
            width,
            polynomial,
            initial: ones,
            xor: ones,
            reflect_data: true,
            reflect_remainder: true,
        }
    }
}

/// A CRC of 1 to 64 bits ready for use. Remainders stand at the upper end of a word.
#[derive(Clone, Debug)]
pub(crate) struct Crc {
    parameters: CrcParameters,
    /// What one byte does to a remainder
    table: Box<[u64; 256]>,
}

impl Crc {
    pub fn new(parameters: CrcParameters) -> Crc {
        let polynomial = parameters.polynomial << (64 - parameters.width);
        let mut table = Box::new([0; 256]);
        for (byte, entry) in (0u64..).zip(table.iter_mut()) {
            *entry = (0..8).fold(byte << 56, |rest, _| match rest >> 63 {
                0 => rest << 1,
                _ => rest << 1 ^ polynomial,
            });
        }
        Crc { parameters, table }
    }

    pub fn width(&self) -> u32 {
        self.parameters.width
    }

    pub fn hash(&self, data: &[u8]) -> u64 {
        let p = &self.parameters;
        let unused = 64 - p.width;
        let step = |rest: u64, byte: &u8| {
            let byte = match p.reflect_data {
                true => byte.reverse_bits(),
                false => *byte,
            };
            rest << 8 ^ self.table[usize::from((rest >> 56) as u8 ^ byte)]
        };
        let rest = data.iter().fold(p.initial << unused, step);
        let rest = match p.reflect_remainder {
            true => rest.reverse_bits(),
            false => rest >> unused,
        };
        (rest ^ p.xor) & low(p.width)
    }
}

/// Ones in the lowest `width` bits
fn low(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// What one byte does to a reflected CRC with polynomial `poly`.
const fn table(poly: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ poly
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

static CRC32: [u32; 256] = table(0xedb8_8320);
static CRC16: [u32; 256] = table(0xa001);

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, hashes differ from bmv2's and from every other implementation. The values for
    // "123456789" are the published check values of the CRC catalogue.
    #[test]
    fn check_values() {
        let digits = b"123456789";
        assert_eq!(Algorithm::Crc32.hash(digits), 0xcbf4_3926);
        assert_eq!(Algorithm::Crc16.hash(digits), 0xbb3d);
        assert_eq!(Algorithm::Identity.hash(digits), 0x3132_3334_3536_3738);
        assert_eq!(Algorithm::Identity.hash(&[0xab]), 0xab);
        assert_eq!(Algorithm::Xor16.hash(&[1, 2, 3, 4]), 0x0206);
    }

    // If this fails, custom CRCs are not those that a control plane asked for. The values for
    // "123456789" are the published check values of the CRC catalogue, and what bmv2 gave.
    #[test]
    fn custom_check_values() {
        let crc = |width, polynomial, initial, xor, reflected| {
            Crc::new(CrcParameters {
                width,
                polynomial,
                initial,
                xor,
                reflect_data: reflected,
                reflect_remainder: reflected,
            })
            .hash(b"123456789")
        };
        let ones = 0xffff_ffff;
        assert_eq!(
            Crc::new(CrcParameters::standard(32)).hash(b"123456789"),
            0xcbf4_3926
        );
        assert_eq!(
            Crc::new(CrcParameters::standard(16)).hash(b"123456789"),
            0xbb3d
        );
        assert_eq!(crc(32, 0x04c1_1db7, 0, 0, false), 0x89a1_897f);
        assert_eq!(crc(32, 0x1edc_6f41, ones, ones, true), 0xe306_9283); // CRC-32C
        assert_eq!(crc(16, 0x1021, 0xffff, 0, false), 0x29b1); // CCITT-FALSE
        assert_eq!(crc(16, 0x1021, 0xffff, 0xffff, true), 0x906e);
        assert_eq!(crc(8, 0x07, 0, 0, false), 0xf4); // CRC-8
        assert_eq!(crc(10, 0x233, 0, 0, false), 0x199); // CRC-10/ATM
        assert_eq!(crc(5, 0x05, 0x1f, 0x1f, true), 0x19); // CRC-5/USB
        assert_eq!(
            crc(64, 0x42f0_e1eb_a9ea_3693, 0, 0, false),
            0x6c40_df5f_0b49_7347
        ); // ECMA-182
    }

    // If this fails, receivers drop what a switch sends: the header of RFC 1071's example family,
    // and the corner cases seen on bmv2.
    #[test]
    fn internet_checksum() {
        let header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        assert_eq!(Algorithm::Csum16.hash(&header), 0xb861);
        assert_eq!(Algorithm::Csum16.hash(&[]), 0xffff);
        assert_eq!(Algorithm::Csum16.hash(&[0xff; 3]), 0x00ff);
        assert_eq!(Algorithm::Csum16.hash(&[0xff; 19]), 0x00ff);
        // All lengths against the sum word by word
        let data: Vec<u8> = (0..400u32).map(|i| (i * i % 251) as u8 | 0xc0).collect();
        for n in 0..data.len() {
            let mut sum: u32 = words(&data[..n]).map(u32::from).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(
                Algorithm::Csum16.hash(&data[..n]),
                u64::from(!(sum as u16)),
                "{n} bytes"
            );
        }
    }
}
