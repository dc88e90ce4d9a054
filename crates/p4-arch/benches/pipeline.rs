//! How long a packet takes through whole programs: `cargo bench -p p4-arch`.

use num_bigint::BigUint;
use p4_arch::v1model::{Config, Image, Switch, V1Model};
use p4_arch::{Port, Time};
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, Match, Target, Update};
use p4_syntax::{FileProvider, Options};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        Path::new(path)
            .is_file()
            .then(|| std::fs::read_to_string(path).map_err(|e| e.to_string()))
    }
}

fn compile(path: &str, defines: &[(&str, &str)]) -> Arc<Image> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let defines = defines
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    let options = Options {
        defines,
        ..Options::default()
    };
    let began = Instant::now();
    let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &options);
    let checked = p4_check::check(&parsed.program);
    let program = p4_ir::lower::lower(&checked, &V1Model).expect("the program is right");
    let image = Image::new(Arc::new(program)).expect("the program runs on v1model");
    println!(
        "{}: {} instructions, frame of {} words, ready in {:.1} ms",
        path.file_stem().unwrap_or_default().to_string_lossy(),
        image.program().code.len(),
        image.program().frame_words,
        began.elapsed().as_secs_f64() * 1e3
    );
    Arc::new(image)
}

fn entry(
    table: &str,
    matches: &[(&str, Match)],
    priority: u32,
    action: &str,
    args: &[&BigUint],
) -> Update {
    let matches = matches
        .iter()
        .map(|(name, given)| (name.to_string(), given.clone()))
        .collect();
    let args = Args::InOrder(args.iter().map(|arg| (*arg).clone()).collect());
    Update::Insert(Entry {
        key: EntryKey {
            table: table.into(),
            matches,
            priority,
        },
        target: Target::Action(ActionSpec {
            name: action.into(),
            args,
        }),
    })
}

/// Best of several rounds, in nanoseconds per packet taken in; checks how many packets come out.
fn measure(name: &str, switch: &mut Switch, packet: &[u8], expected: u64) {
    const ROUND: u64 = 20_000;
    let mut best = f64::MAX;
    for _ in 0..15 {
        let mut sent = 0;
        let began = Instant::now();
        for i in 0..ROUND {
            let mut sink = |port: Port, data: &[u8]| {
                black_box((port, data));
                sent += 1;
            };
            switch.process(Time::from_nanos(i), 1, black_box(packet), &mut sink);
        }
        best = best.min(began.elapsed().as_nanos() as f64 / ROUND as f64);
        assert_eq!(sent, expected * ROUND, "{name}");
    }
    println!("{name:46} {best:8.0} ns  {:6.2} M packets/s", 1e3 / best);
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

fn routing() {
    let image = compile("benches/route.p4", &[]);
    let mut switch = Switch::new(image, Config::default()).expect("a switch");
    let mac = BigUint::from(0x0200_0000_0102u64);
    let port = BigUint::from(2u8);
    let mut updates = Vec::new();
    for i in 0..256u32 {
        let value = BigUint::from(0x0a00_0000u32 + (i << 8));
        let prefix = Match::Lpm { value, length: 24 };
        updates.push(entry(
            "routes",
            &[("hdr.ipv4.dst", prefix)],
            0,
            "forward",
            &[&mac, &port],
        ));
    }
    switch.write(&updates).expect("entries");
    let mut packet =
        hex("020000000101 020000000001 0800 4500002e000000004011665f 0a000001 0a000102");
    packet.resize(64, 7);
    measure(
        "IPv4 routing with checksums, 64 bytes",
        &mut switch,
        &packet,
        1,
    );
    packet.resize(1500, 7);
    measure("the same, 1500 bytes", &mut switch, &packet, 1);
}

/// A router with `next_hops` neighbours and one receiver behind each bit.
fn bier(bsl: u32, next_hops: u32) -> Switch {
    let image = compile("../../p4/bier/v1model.p4", &[("BSL", &bsl.to_string())]);
    let mut switch = Switch::new(image, Config::default()).expect("a switch");
    let code = bsl.trailing_zeros() - 6;
    let id = BigUint::from((1 + code) << 16);
    let to = Some(CloneSession {
        port: Some(509),
        ..CloneSession::default()
    });
    let mut updates = vec![Update::SetSession { session: 1, to }];
    for bit in 0..bsl {
        let mut mask = BigUint::default();
        (0..bsl)
            .filter(|b| b % next_hops == bit % next_hops)
            .for_each(|b| mask.set_bit(b.into(), true));
        let value = BigUint::from(1u8) << bit;
        let remaining = Match::Ternary {
            mask: value.clone(),
            value,
        };
        let matches = [
            ("bift_id", Match::Exact(id.clone())),
            ("remaining", remaining),
        ];
        let port = BigUint::from(2 + bit % next_hops);
        updates.push(entry(
            "bift",
            &matches,
            bsl - bit,
            "forward",
            &[&mask, &port],
        ));
    }
    for port in 1..next_hops + 2 {
        let (src, dst) = (
            BigUint::from(0x0200_0000_0100u64),
            BigUint::from(0x0200_0000_0200u64),
        );
        let port = [("port", Match::Exact(port.into()))];
        updates.push(entry("port_mac", &port, 0, "rewrite", &[&src, &dst]));
    }
    switch.write(&updates).expect("entries");
    switch
}

/// A BIER packet for the receivers at `bits`.
fn bier_packet(bsl: u32, bits: &[u32]) -> Vec<u8> {
    let code = bsl.trailing_zeros() - 6;
    let mut packet = hex("020000000104 020000000901 ab37");
    packet.extend([
        (((1 + code) << 4) as u8),
        0,
        0x01,
        64,
        0x00,
        ((1 + code) << 4) as u8,
        0xbc,
        0xde,
    ]);
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

fn main() {
    routing();
    for bsl in [64, 256] {
        let mut one = bier(bsl, 1);
        let name = format!("BIER {bsl}, one next hop, lowest bit");
        measure(&name, &mut one, &bier_packet(bsl, &[0, 3]), 1);
        let name = format!("BIER {bsl}, one next hop, highest bit");
        measure(&name, &mut one, &bier_packet(bsl, &[bsl - 1]), 1);
        let mut four = bier(bsl, 4);
        let name = format!("BIER {bsl}, four next hops, four copies");
        measure(&name, &mut four, &bier_packet(bsl, &[0, 1, 2, 3]), 4);
    }
}
