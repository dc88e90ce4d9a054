//! What the tests of whole fabrics share.

use p4_fabric::{Class, Fabric, Flow, Outcome, Parameters, PortId, Setup, Time};
use p4_net::Rng;

pub const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// A fabric with these parameters and flows that has run for so many microseconds, of which a quarter
/// is warm-up; its books are right.
pub fn run(text: &str, leaves: usize, flows: &[Flow], micros: u64, seed: u64) -> Fabric {
    let setup = Setup {
        parameters: Parameters::read(text).unwrap(),
        leaves,
        seed,
        warm: Time::from_micros(micros / 4),
        interval: Time::from_micros(50),
        watched: 0,
    };
    let mut fabric = Fabric::new(setup).unwrap();
    for flow in flows {
        fabric.add(flow.clone()).unwrap();
    }
    let outcome = fabric.run_until(Time::from_micros(micros), u64::MAX);
    assert_eq!(
        outcome,
        Outcome::Reached,
        "seed {seed}: {:?}",
        fabric.stuck()
    );
    assert_eq!(fabric.audit(), Ok(()), "seed {seed}");
    fabric
}

/// One sender's frames of 1522 bytes at 99 Gb/s to several ports.
pub fn one_to_many(from: PortId, to: &[PortId]) -> Flow {
    Flow {
        tree: vec![(from, to.to_vec())],
        ..Flow::unicast(Class::Lossy, from, to[0], 1522, 99_000)
    }
}

/// Gb/s of all sinks, in their order.
pub fn rates(fabric: &Fabric) -> Vec<f64> {
    let measures = fabric.measures();
    let sinks = 0..measures.sinks.len();
    sinks
        .map(|sink| measures.gbps(sink, fabric.now()))
        .collect()
}

/// Some flows that a generator draws: one to one, one to many, over surrogates, of both classes.
pub fn drawn(rng: &mut Rng, leaves: u32) -> Vec<Flow> {
    let any = |rng: &mut Rng, below: u32| rng.up_to(u64::from(below) - 1) as u32;
    let flow = |rng: &mut Rng| {
        let (from, leaf) = (any(rng, 5), any(rng, leaves - 1) + 1);
        let class = [Class::Lossy, Class::Lossless][any(rng, 2) as usize];
        let sizes = [64, 300, 512, 1522, 9022];
        let bytes = sizes[any(rng, 5) as usize];
        let mut flow = Flow::unicast(class, from, leaf * 8, bytes, 5000 + 40_000 * rng.up_to(2));
        if rng.chance(0.7) {
            let local = (from + 1) % 5;
            let children: Vec<u32> = (0..5).map(|place| leaf * 8 + place).collect();
            flow.tree = vec![(from, vec![local, leaf * 8 + 5]), (leaf * 8 + 5, children)];
        }
        flow
    };
    (0..6).map(|_| flow(rng)).collect()
}
