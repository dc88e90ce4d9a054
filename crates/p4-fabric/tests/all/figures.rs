//! The shapes of the paper's figures: orders, ratios, crossovers. Their numbers and plots are made by
//! `p4lab experiment fabric` from longer runs.

use crate::common;

use common::{one_to_many, rates, run, SEEDS};
use p4_fabric::{Class, Fabric, Flow, Time};

/// Four ports of the sender's leaf, and four of others
const FOUR_AND_FOUR: [u32; 8] = [1, 2, 3, 4, 8, 16, 24, 32];

fn near(got: f64, wanted: f64, tolerance: f64) -> bool {
    (got - wanted).abs() <= tolerance
}

// If this fails every figure is off by what its zero-load delay is: section 5.3 has six of them.
#[test]
fn zero_load_delays_are_the_calibrated_ones() {
    for (bytes, to, paper) in [
        (512, 1, 143),
        (1522, 1, 350),
        (9022, 1, 1900),
        (512, 8, 1880),
        (1522, 8, 2100),
        (9022, 8, 3600),
    ] {
        let flow = Flow::unicast(Class::Lossy, 0, to, bytes, 1000);
        let fabric = run("", 2, &[flow], 400, 1);
        let mean = fabric.measures().delays[0].mean().unwrap().picos() as f64 / 1e3;
        let off = mean / f64::from(paper) - 1.0;
        let most = if bytes == 512 { 0.02 } else { 0.13 };
        assert!(
            off.abs() < most,
            "{bytes} bytes to {to}: {mean} ns, paper {paper}"
        );
    }
}

// Figure 2c: the cache makes copies for nothing; without it they share the payload interface.
#[test]
fn figure_2c_the_cache_makes_fan_out_free() {
    let interface = 1522.0 * 8.0 / (6.0 * 17.621);
    for fanout in [1, 2, 4, 8] {
        let flow = one_to_many(0, &FOUR_AND_FOUR[..fanout]);
        let with = rates(&run("", 5, std::slice::from_ref(&flow), 300, 1));
        assert!(
            with.iter().all(|rate| near(*rate, 99.0, 1.0)),
            "{fanout}: {with:?}"
        );
        let text = "[cache]\nlines = 0\n[sync]\non = false\n[voq]\ndrop = \"off\"\n";
        let without = rates(&run(text, 5, &[flow], 1000, 1));
        let wanted = 99f64.min(interface / fanout as f64);
        let mean = without.iter().sum::<f64>() / fanout as f64;
        assert!(near(mean, wanted, 1.5), "{fanout}: {without:?}, {wanted}");
    }
}

// Figure 4: unsynchronised copies need a cache of a round trip's worth, synchronised ones do not.
#[test]
fn figure_4_synchronisation_saves_a_small_cache() {
    let least = |lines: u32, sync: bool, spare: u32, bytes: u64| {
        let text = format!(
            "[voq]\ndrop = \"off\"\n[cache]\nlines = {lines}\nspare = {spare}\n[sync]\non = {sync}\n"
        );
        let flow = Flow {
            bytes,
            ..one_to_many(0, &FOUR_AND_FOUR)
        };
        let got = rates(&run(&text, 5, &[flow], 400, 2));
        got.into_iter().fold(f64::MAX, f64::min)
    };
    assert!(least(32, false, 10, 1522) < 60.0);
    assert!(least(48, false, 10, 512) < 60.0);
    assert!(least(64, false, 10, 1522) > 98.0, "1100 ns are 54 cells");
    assert!(least(32, true, 10, 1522) > 98.0);
    assert!(least(16, true, 0, 512) > 98.0, "all 16 lines in use");
    assert!(
        least(16, true, 0, 9022) < 60.0,
        "a Jumbo frame alone is 36 cells"
    );
}

// Figure 5: the first headers of a burst win, random order is fair, RED nearly so.
#[test]
fn figure_5_fixed_header_order_is_unfair() {
    let to = [1, 8, 16, 24, 32, 40, 48, 56];
    let got = |more: &str, seed| {
        let text = format!("[voq]\ndrop = \"off\"\n[headers]\nhigh = 100\n{more}");
        rates(&run(&text, 8, &[one_to_many(0, &to)], 1000, seed))
    };
    let spread = |rates: &[f64]| {
        let most = rates[1..].iter().fold(0.0, |a: f64, b| a.max(*b));
        most - rates[1..].iter().fold(f64::MAX, |a: f64, b| a.min(*b))
    };
    for seed in SEEDS {
        let fixed = got("low = 100\n", seed);
        assert!(
            fixed.windows(2).all(|two| two[0] > two[1]),
            "seed {seed}: {fixed:?}"
        );
        assert!(spread(&fixed) > 40.0, "seed {seed}: {fixed:?}");
        let random = got("low = 100\norder = \"random\"\n", seed);
        assert!(spread(&random) < 5.0, "seed {seed}: {random:?}");
        let red = got("low = 70\nprobability = 0.5\n", seed);
        assert!(spread(&red) < 0.25 * spread(&fixed), "seed {seed}: {red:?}");
    }
}

/// Gb/s of a sink from one moment to another, in microseconds.
fn between(fabric: &Fabric, sink: usize, from: usize, to: usize) -> f64 {
    let series = &fabric.measures().sinks[sink].series;
    let bytes: u64 = series[from / 50..to / 50].iter().sum();
    bytes as f64 * 8.0 / ((to - from) as f64 * 1e3)
}

/// Figure 6's flows: 4 + 4 copies; from 0.5 ms on seven unicast flows to the first receiver as well.
fn congested() -> Vec<Flow> {
    let mut flows = vec![one_to_many(0, &FOUR_AND_FOUR)];
    flows.extend((5..12).map(|leaf| Flow {
        start: Time::from_micros(500),
        stop: Time::from_micros(1500),
        ..Flow::unicast(Class::Lossy, leaf * 8, 1, 1522, 99_000)
    }));
    flows
}

// Figure 6: who suffers from one congested receiver, by drop policy and synchronisation.
#[test]
fn figure_6_only_drop_from_head_goes_with_synchronisation() {
    for seed in SEEDS {
        let got = |sync: bool, drop: &str| {
            let text = format!("[voq]\ndrop = \"{drop}\"\n[sync]\non = {sync}\n");
            let fabric = run(&text, 12, &congested(), 2000, seed);
            let slow = between(&fabric, 0, 1000, 1500);
            (
                slow,
                between(&fabric, 1, 1000, 1500),
                between(&fabric, 1, 1750, 2000),
            )
        };
        let (a, b, d, e) = (
            got(false, "off"),
            got(true, "off"),
            got(true, "tail"),
            got(true, "head"),
        );
        assert!(
            a.1 < 20.0 && b.1 < 20.0 && d.1 < 25.0,
            "seed {seed}: {a:?} {b:?} {d:?}"
        );
        assert!(
            a.2 < 65.0 && b.2 > 95.0,
            "thrashing stays, seed {seed}: {a:?} {b:?}"
        );
        assert!(
            near(e.0, 12.5, 2.0) && e.1 > 85.0 && e.2 > 97.0,
            "seed {seed}: {e:?}"
        );
        let c = got(false, "tail");
        assert!(c.1 > 95.0, "seed {seed}: {c:?}");
    }
}

fn lossless(flow: Flow) -> Flow {
    Flow {
        class: Class::Lossless,
        ..flow
    }
}

// Figure 9: with points at outputs every copy of a frame may be notified.
#[test]
fn figure_9_points_at_outputs_are_unfair_to_multicast() {
    let mut flows = vec![one_to_many(0, &[1, 2, 3, 4])];
    flows.extend((1..4).map(|n| Flow::unicast(Class::Lossless, n * 8, n, 1522, 99_000)));
    let flows: Vec<_> = flows.into_iter().map(lossless).collect();
    for seed in SEEDS {
        let got = |points: &str| {
            rates(&run(
                &format!("[qcn]\npoints = \"{points}\"\n"),
                4,
                &flows,
                3000,
                seed,
            ))
        };
        let (outputs, inputs) = (got("outputs"), got("inputs"));
        assert!(outputs[4] > 1.5 * outputs[0], "seed {seed}: {outputs:?}");
        assert!(
            near(inputs[4] / inputs[0], 1.0, 0.15),
            "seed {seed}: {inputs:?}"
        );
    }
}

// Figure 10: only points that find the culprit let its neighbour go.
#[test]
fn figure_10_occupancy_sampling_finds_the_culprit() {
    let mut flows = vec![one_to_many(0, &[1, 2]), one_to_many(0, &[3, 4])];
    flows.extend((1..4).map(|n| Flow::unicast(Class::Lossless, n * 8, 1, 1522, 99_000)));
    let flows: Vec<_> = flows.into_iter().map(lossless).collect();
    for seed in SEEDS {
        let other = |points: &str, marking: &str| {
            let text = format!("[qcn]\npoints = \"{points}\"\nmarking = \"{marking}\"\n");
            let got = rates(&run(&text, 4, &flows, 3000, seed));
            assert!(near(got[0], 25.0, 10.0), "seed {seed}: {got:?}");
            got[2]
        };
        let (none, arrivals) = (other("off", "standard"), other("inputs", "standard"));
        assert!(
            none < 30.0 && arrivals < 40.0,
            "seed {seed}: {none}, {arrivals}"
        );
        for marking in ["random", "largest"] {
            let freed = other("inputs", marking);
            assert!(freed > 65.0, "seed {seed}, {marking}: {freed}");
        }
        assert!(other("outputs", "standard") > 65.0, "seed {seed}");
    }
}

/// 3 copies go on from each surrogate of a list, five stay: figure 14's tree without its names.
fn broadcast(leaves: u32) -> Vec<(u32, Vec<u32>)> {
    let rest: Vec<u32> = (1..leaves).collect();
    let mut tree = vec![(0, vec![1, 2, 3, 4, rest[0] * 8 + 5])];
    for (at, leaf) in rest.iter().enumerate() {
        let mut children: Vec<u32> = (0..5).map(|place| leaf * 8 + place).collect();
        let more = (3 * at + 1..3 * at + 4).filter_map(|place| rest.get(place));
        children.extend(more.map(|leaf| leaf * 8 + 5));
        tree.push((leaf * 8 + 5, children));
    }
    tree
}

// Figures 15 and 16: a rack gets a broadcast at the rate it is sent; each level adds its delay.
#[test]
fn figures_15_and_16_a_broadcast_keeps_its_rate_and_pays_for_levels() {
    for (bytes, mbps) in [(512, 99_000), (1522, 50_000), (9022, 90_000)] {
        let flow = Flow {
            bytes,
            mbps,
            tree: broadcast(32),
            ..Flow::unicast(Class::Lossy, 0, 1, bytes, mbps)
        };
        let fabric = run("", 32, &[flow], 120, 1);
        let got = rates(&fabric);
        assert_eq!(got.len(), 159);
        let load = mbps as f64 / 1e3;
        assert!(
            got.iter().all(|rate| near(*rate, load, 3.0)),
            "{bytes}: {got:?}"
        );
        let delays: Vec<_> = fabric
            .measures()
            .delays
            .iter()
            .filter_map(|one| one.mean())
            .collect();
        assert_eq!(delays.len(), 5, "0 to 4 surrogates");
        let steps = delays.windows(2).map(|two| (two[1] - two[0]).picos());
        assert!(steps.into_iter().all(|step| step > 1_200_000), "{delays:?}");
    }
}
