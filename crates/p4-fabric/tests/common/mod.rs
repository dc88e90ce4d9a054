//! What the tests of whole fabrics share.

use p4_fabric::{Class, Fabric, Flow, Outcome, Parameters, PortId, Setup, Time};

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
