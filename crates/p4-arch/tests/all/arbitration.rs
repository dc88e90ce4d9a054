//! Who is lost when a recirculation port is overloaded, against limits computed by hand.

use p4_arch::tna::{Arbitration, Config, Image, LoopConfig, Switch, Tna};
use p4_arch::{Port, Time};
use std::sync::Arc;

/// A packet goes round port 68 as often as its first byte says, then leaves by port 2. With the first
/// bit set it goes round port 69 before.
const ROUNDS: &str = "
    #include <core.p4>
    #include <tna.p4>
    header h_t { bit<8> left; }
    struct headers { h_t h; }
    struct meta { }
    parser IP(packet_in p, out headers h, out meta m, out ingress_intrinsic_metadata_t ig) {
        state start {
            p.extract(ig);
            p.advance(PORT_METADATA_SIZE);
            p.extract(h.h);
            transition accept;
        }
    }
    control I(inout headers h, inout meta m, in ingress_intrinsic_metadata_t ig,
              in ingress_intrinsic_metadata_from_parser_t pr,
              inout ingress_intrinsic_metadata_for_deparser_t d,
              inout ingress_intrinsic_metadata_for_tm_t tm) {
        apply {
            if (h.h.left[7:7] == 1) {
                tm.ucast_egress_port = 69;
                h.h.left[7:7] = 0;
            } else if (h.h.left == 0) {
                tm.ucast_egress_port = 2;
            } else {
                tm.ucast_egress_port = 68;
                h.h.left = h.h.left - 1;
            }
        }
    }
    control ID(packet_out p, inout headers h, in meta m,
               in ingress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
    parser EP(packet_in p, out headers h, out meta m, out egress_intrinsic_metadata_t eg) {
        state start { p.extract(eg); transition accept; }
    }
    control E(inout headers h, inout meta m, in egress_intrinsic_metadata_t eg,
              in egress_intrinsic_metadata_from_parser_t pr,
              inout egress_intrinsic_metadata_for_deparser_t d,
              inout egress_intrinsic_metadata_for_output_port_t o) { apply { } }
    control ED(packet_out p, inout headers h, in meta m,
               in egress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
    Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
    Switch(pipe) main;";

const BYTES: usize = 100;
const OVERHEAD: u64 = 24;
/// Picoseconds of a packet on the wire at 100 Gb/s
const SERVICE: u64 = (BYTES as u64 + OVERHEAD) * 80;

struct Ran {
    /// Of what came in, the share that made all rounds
    share: f64,
    offered: u64,
    accounted: u64,
    out: Vec<Time>,
}

/// As many packets come in as the port can send, for so many packets, the first third not counted.
fn run(rounds: u8, config: LoopConfig, packets: u64, seed: u64) -> Ran {
    let parsed = p4_syntax::parse_text("rounds.p4", ROUNDS);
    let checked = p4_check::check(&parsed.program);
    assert_eq!(parsed.diagnostics, []);
    let program = p4_ir::lower::lower(&checked, &Tna).expect("a program that lowers");
    let image = Image::new(Arc::new(program)).expect("a program for TNA");
    let seeded = Config {
        seed,
        ..Config::default()
    };
    let mut switch = Switch::new(Arc::new(image), seeded).expect("a switch");
    switch.set_loop(68, Some(config));
    switch.set_loop(69, Some(saturated(Arbitration::TailDrop)));
    let mut packet = vec![0; BYTES];
    packet[0] = rounds;
    let mut out = Vec::new();
    let warm = packets / 3;
    for number in 0..packets {
        let now = Time::from_picos(number * SERVICE);
        while let Some(next) = switch.next_departure().filter(|next| *next <= now) {
            switch.advance(next, &mut |_: Port, _: &[u8]| out.push(next));
        }
        switch.process(now, 1, &packet, &mut |_: Port, _: &[u8]| out.push(now));
    }
    let counted = out.iter().filter(|time| time.picos() >= warm * SERVICE);
    let share = counted.count() as f64 / (packets - warm) as f64;
    while let Some(next) = switch.next_departure() {
        switch.advance(next, &mut |_: Port, _: &[u8]| out.push(next));
    }
    let stats = switch.loop_stats(68).expect("it is looped");
    Ran {
        share,
        offered: stats.offered,
        accounted: stats.dropped + stats.returned,
        out,
    }
}

fn saturated(arbitration: Arbitration) -> LoopConfig {
    LoopConfig {
        rate: Some(100_000_000_000),
        queue: 200 * (BYTES as u64 + 4),
        overhead: OVERHEAD,
        latency: 0,
        arbitration,
    }
}

// If this fails, the lab's numbers are those of another arbitration than the one it names. The limits
// are the balance of the port: what it sends is 1 = x + xy + xyy.. with shares of what is offered.
#[test]
fn each_arbitration_has_its_limit() {
    let golden = (5f64.sqrt() - 1.0) / 2.0; // y + y * y = 1
    for (arbitration, rounds, limit) in [
        (Arbitration::EqualDrop, 2, golden * golden),
        (Arbitration::EqualDrop, 3, 0.160_713), // y + yy + yyy = 1
        (Arbitration::Random, 2, 1.0 / 3.0),    // a returned packet has a chance of a half
        (Arbitration::Random, 3, 1.0 / 7.0),
        (Arbitration::LoopedFirst, 2, 0.5), // every packet that is let in makes all rounds
        (Arbitration::LoopedFirst, 3, 1.0 / 3.0),
        (Arbitration::FreshFirst, 2, 0.0), // fresh packets alone fill the port
        // A packet is back at the very moment at which a place becomes free.
        (Arbitration::TailDrop, 2, 0.5),
    ] {
        let ran = run(rounds, saturated(arbitration), 60_000, 7);
        let name = arbitration.name();
        assert!(
            (ran.share - limit).abs() < 0.006,
            "{name}, {rounds} rounds, seed 7: {} instead of {limit}",
            ran.share
        );
        assert_eq!(ran.offered, ran.accounted, "{name}: packets are missing");
    }
}

// If this fails, packets that come from another loop, in step with this one, are counted to the wrong
// service time: the lab's set-up with encapsulation has other limits than that without.
#[test]
fn fresh_packets_may_come_from_a_loop() {
    for (arbitration, rounds, limit) in [
        (Arbitration::Random, 2, 1.0 / 3.0),
        (Arbitration::FreshFirst, 2, 0.0),
        (Arbitration::LoopedFirst, 2, 0.5),
    ] {
        let ran = run(0x80 | rounds, saturated(arbitration), 60_000, 7);
        let name = arbitration.name();
        assert!((ran.share - limit).abs() < 0.006, "{name}: {}", ran.share);
    }
}

// If this fails, an arbitration loses packets of a port that has room for all.
#[test]
fn nothing_is_lost_without_need() {
    for arbitration in Arbitration::ALL {
        let ran = run(1, saturated(arbitration), 2_000, 1);
        assert_eq!(ran.out.len(), 2_000, "{}", arbitration.name());
    }
}

// If this fails, the time from a port back to ingress is not what it was set to.
#[test]
fn latency_delays_and_loses_nothing() {
    let at_once = run(1, saturated(Arbitration::TailDrop), 100, 1);
    let config = LoopConfig {
        latency: 600_000,
        ..saturated(Arbitration::TailDrop)
    };
    let later = run(1, config, 100, 1);
    let moved = at_once.out.iter().map(|time| time.picos() + 600_000);
    let found: Vec<u64> = later.out.iter().map(|time| time.picos()).collect();
    assert_eq!(found, moved.collect::<Vec<_>>());
}

// If this fails, a run with the same seed is another run.
#[test]
fn the_same_seed_is_the_same_run() {
    for arbitration in [Arbitration::EqualDrop, Arbitration::Random] {
        let again = |seed| run(2, saturated(arbitration), 3_000, seed).out;
        assert_eq!(again(3), again(3));
        assert_ne!(again(3), again(4));
    }
}

// If this fails, a misspelt arbitration is taken for another one.
#[test]
fn names() {
    for arbitration in Arbitration::ALL {
        assert_eq!(Arbitration::named(arbitration.name()), Ok(arbitration));
    }
    let error = Arbitration::named("fifo").expect_err("no such arbitration");
    assert!(error.contains("tail-drop, equal-drop"), "{error}");
}
