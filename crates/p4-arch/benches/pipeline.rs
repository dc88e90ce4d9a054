//! How long a packet takes through whole programs: `cargo bench -p p4-arch`.

#[path = "../tests/support/subject.rs"]
#[allow(dead_code)] // what tests need
mod subject;

use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::{Port, Time};
use p4_state::Update;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use subject::{bier, bier_packet, ipv4_packet, router};

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

fn ready((image, updates): (Arc<Image>, Vec<Update>)) -> Switch {
    let mut switch = Switch::new(image, Config::default()).expect("a switch");
    switch.write(&updates).expect("entries");
    switch
}

fn routing() {
    let mut switch = ready(router());
    let mut name = "IPv4 routing with checksums, 64 bytes";
    for bytes in [64, 1500] {
        measure(name, &mut switch, &ipv4_packet(bytes), 1);
        name = "the same, 1500 bytes";
    }
}

fn main() {
    routing();
    for bsl in [64, 256] {
        let mut one = ready(bier(bsl, 1));
        let name = format!("BIER {bsl}, one next hop, lowest bit");
        measure(&name, &mut one, &bier_packet(bsl, &[0, 3]), 1);
        let name = format!("BIER {bsl}, one next hop, highest bit");
        measure(&name, &mut one, &bier_packet(bsl, &[bsl - 1]), 1);
        let mut four = ready(bier(bsl, 4));
        let name = format!("BIER {bsl}, four next hops, four copies");
        measure(&name, &mut four, &bier_packet(bsl, &[0, 1, 2, 3]), 4);
    }
}
