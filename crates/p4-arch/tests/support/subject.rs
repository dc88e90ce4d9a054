// Programs, their entries and their packets, for tests and benches of this crate and of p4-jit.

use num_bigint::BigUint;
use p4_arch::v1model::{Image, V1Model};
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, Match, Target, Update};
use p4_syntax::{FileProvider, MemoryFiles, Options, Parsed};
use std::path::Path;
use std::sync::Arc;

/// Reads files as they are named.
pub struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let found = Path::new(path).is_file();
        found.then(|| std::fs::read_to_string(path).map_err(|error| error.to_string()))
    }
}

/// A program of the repository, by its path from the root.
pub fn compile(path: &str, defines: &[(&str, &str)]) -> Arc<Image> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    let defines = defines.iter();
    let options = Options {
        defines: defines
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
        ..Options::default()
    };
    lower(p4_syntax::parse(&path.to_string_lossy(), &Disk, &options))
}

/// A program given as text.
pub fn compile_text(text: &str) -> Arc<Image> {
    let mut files = MemoryFiles::default();
    files.0.insert("program.p4".into(), text.into());
    lower(p4_syntax::parse("program.p4", &files, &Options::default()))
}

fn lower(parsed: Parsed) -> Arc<Image> {
    let checked = p4_check::check(&parsed.program);
    let program = p4_ir::lower::lower(&checked, &V1Model).expect("the program is right");
    Arc::new(Image::new(Arc::new(program)).expect("the program runs on v1model"))
}

/// The key of an entry.
pub fn key(table: &str, matches: &[(&str, Match)], priority: u32) -> EntryKey {
    let matches = matches
        .iter()
        .map(|(name, given)| (name.to_string(), given.clone()));
    EntryKey {
        table: table.into(),
        matches: matches.collect(),
        priority,
    }
}

/// What an entry leads to.
pub fn target(action: &str, args: &[BigUint]) -> Target {
    Target::Action(ActionSpec {
        name: action.into(),
        args: Args::InOrder(args.to_vec()),
    })
}

pub fn entry(
    table: &str,
    matches: &[(&str, Match)],
    priority: u32,
    action: &str,
    args: &[BigUint],
) -> Update {
    Update::Insert(Entry {
        key: key(table, matches, priority),
        target: target(action, args),
    })
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let pairs = digits.chunks(2);
    pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// The IPv4 router of the benches, with 256 routes.
pub fn router() -> (Arc<Image>, Vec<Update>) {
    let image = compile("crates/p4-arch/benches/route.p4", &[]);
    let args = [BigUint::from(0x0200_0000_0102u64), BigUint::from(2u8)];
    let route = |i: u32| {
        let value = BigUint::from(0x0a00_0000u32 + (i << 8));
        let prefix = Match::Lpm { value, length: 24 };
        entry("routes", &[("hdr.ipv4.dst", prefix)], 0, "forward", &args)
    };
    (image, (0..256).map(route).collect())
}

/// A packet of `bytes` bytes for it.
pub fn ipv4_packet(bytes: usize) -> Vec<u8> {
    let mut packet =
        hex("020000000101 020000000001 0800 4500002e000000004011665f 0a000001 0a000102");
    packet.resize(bytes, 7);
    packet
}

/// The BIFT-id of the first set.
pub fn bift_id(bsl: u32) -> BigUint {
    BigUint::from((bsl.trailing_zeros() - 5) << 16)
}

/// The key of the row for `bit` in the BIFT.
pub fn row_key(bsl: u32, bit: u32) -> EntryKey {
    let value = BigUint::from(1u8) << bit;
    let remaining = Match::Ternary {
        mask: value.clone(),
        value,
    };
    let matches = [
        ("bift_id", Match::Exact(bift_id(bsl))),
        ("remaining", remaining),
    ];
    key("bift", &matches, bsl - bit)
}

/// The F-BM of the next hop behind `bit`, if bits take turns.
pub fn mask_of(bsl: u32, next_hops: u32, bit: u32) -> BigUint {
    let mut mask = BigUint::default();
    let behind = (0..bsl).filter(|b| b % next_hops == bit % next_hops);
    behind.for_each(|b| mask.set_bit(b.into(), true));
    mask
}

/// A BIER router with `next_hops` neighbours, at ports from 2 on, and one receiver behind each bit.
pub fn bier(bsl: u32, next_hops: u32) -> (Arc<Image>, Vec<Update>) {
    let image = compile("p4/bier/v1model.p4", &[("BSL", &bsl.to_string())]);
    let to = Some(CloneSession {
        port: Some(509),
        ..CloneSession::default()
    });
    let mut updates = vec![Update::SetSession { session: 1, to }];
    for bit in 0..bsl {
        let port = BigUint::from(2 + bit % next_hops);
        updates.push(Update::Insert(Entry {
            key: row_key(bsl, bit),
            target: target("forward", &[mask_of(bsl, next_hops, bit), port]),
        }));
    }
    for port in 1..next_hops + 2 {
        let macs = [0x0200_0000_0100u64, 0x0200_0000_0200].map(BigUint::from);
        let port = [("port", Match::Exact(port.into()))];
        updates.push(entry("port_mac", &port, 0, "rewrite", &macs));
    }
    (image, updates)
}

/// A BIER packet with an IPv4 packet in it, for the receivers at `bits`.
pub fn bier_packet(bsl: u32, bits: &[u32]) -> Vec<u8> {
    let code = (bsl.trailing_zeros() - 5) as u8;
    let mut packet = hex("020000000104 020000000901 ab37");
    packet.extend([code << 4, 0, 0x01, 64, 0x00, code << 4, 0xbc, 0xde]);
    packet.extend([0, 4, 0, 9]);
    let mut string = vec![0u8; bsl as usize / 8];
    let last = string.len() - 1;
    bits.iter()
        .for_each(|bit| string[last - *bit as usize / 8] |= 1 << (bit % 8));
    packet.extend(string);
    packet.extend(hex(
        "45000020000000000f11a7c80a000901ef010203 1388138a000c000042494552",
    ));
    packet
}
