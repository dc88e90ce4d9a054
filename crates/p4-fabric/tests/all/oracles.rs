//! Fabrics against closed forms and against what must never happen.

use crate::common;

use common::{drawn, one_to_many, rates, run, SEEDS};
use p4_fabric::{Class, Fabric, Flow, Outcome, Parameters, Setup, Spacing, Time};
use p4_net::Rng;

// If this fails delays under load are those of another queue: Pollaczek and Khinchin's mean wait of an
// M/D/1 queue is S rho / (2 (1 - rho)).
#[test]
fn an_output_under_poisson_traffic_waits_as_m_d_1() {
    // A slow line, so that nothing else has a queue worth the name
    let (senders, service) = (12, 1_217_600.0);
    let mean = |rho: f64, seed| {
        let flow = |leaf: u32| Flow {
            spacing: Spacing::Poisson,
            ..Flow::unicast(
                Class::Lossy,
                leaf * 8,
                0,
                1522,
                (rho * 10_000.0) as u64 / senders,
            )
        };
        let flows: Vec<_> = (1..=senders as u32).map(flow).collect();
        let fabric = run("[line]\ngbps = 10\n", 13, &flows, 20_000, seed);
        fabric.measures().delays[0].mean().unwrap().picos() as f64
    };
    let idle = mean(0.01, 1);
    for rho in [0.5, 0.8] {
        let waits = SEEDS.map(|seed| mean(rho, seed) - idle);
        let wait = waits.iter().sum::<f64>() / 5.0;
        let known = service * rho / (2.0 * (1.0 - rho));
        assert!(
            (wait / known - 1.0).abs() < 0.15,
            "rho {rho}: {wait} ps, M/D/1 {known} ps"
        );
    }
}

// If this fails lossless traffic is lost: what still comes after STOP is more than the head-room.
#[test]
fn a_lossless_pool_never_holds_more_than_stop_and_head_room() {
    for (bytes, cable) in [(64, 0), (1522, 25_000), (9022, 200_000)] {
        let text = format!("[lossless]\ncable_ps = {cable}\npayload = 800\n");
        let parameters = Parameters::read(&text).unwrap();
        let flow = |from| Flow::unicast(Class::Lossless, from, 0, bytes, 100_000);
        let flows: Vec<_> = [8, 16, 24].map(flow).into();
        let fabric = run(&text, 4, &flows, 400, 1);
        let totals = &fabric.measures().totals;
        assert!(totals.pauses > 10 && totals.overrun == 0, "{totals:?}");
        let most = u64::from(fabric.most_payload(8));
        let room = parameters.head_room();
        assert!(
            most <= parameters.stop + room,
            "{bytes} bytes: {most} units"
        );
        let sum: f64 = rates(&fabric).iter().sum();
        // A frame of 64 bytes takes a slot as others do.
        let least = if bytes < 256 { 25.0 } else { 97.0 };
        assert!(sum > least, "{bytes} bytes: {sum} Gb/s");
    }
}

// If this fails a corrupted frame is lost, comes twice, or comes late and out of order.
#[test]
fn what_is_corrupted_is_sent_again_and_stays_in_order() {
    let text = "[errors]\nframe_loss = 0.02\n[voq]\ndrop = \"off\"\n";
    for seed in SEEDS {
        let mut flow = one_to_many(0, &[1, 2, 8, 16]);
        flow.mbps = 10_000;
        let fabric = run(text, 3, &[flow], 1000, seed);
        let measures = fabric.measures();
        assert!(
            measures.totals.retransmitted > 20,
            "seed {seed}: nothing was tested"
        );
        for sink in &measures.sinks {
            assert_eq!(
                (sink.missing, sink.disordered),
                (0, 0),
                "seed {seed}: {sink:?}"
            );
        }
    }
}

/// Flows through the surrogates of two leaves, in both orders, more than the second can take: without
/// lanes of their own, what waits at the first for the second waits for itself.
fn crossing() -> Vec<Flow> {
    let tree = |from: u32, first: u32, second: u32| Flow {
        tree: vec![
            (from, vec![first * 8 + 5]),
            (first * 8 + 5, vec![second * 8 + 5]),
            (second * 8 + 5, vec![second * 8 + from]),
        ],
        ..Flow::unicast(Class::Lossless, from, 0, 1522, 99_000)
    };
    vec![tree(0, 1, 2), tree(1, 1, 2), tree(2, 2, 1), tree(3, 2, 1)]
}

// If this fails a deadlock runs on for ever, or a tree that merely is slow is called one.
#[test]
fn lanes_prevent_the_deadlock_that_the_watchdog_finds_without_them() {
    run("", 3, &crossing(), 2000, 1);
    let setup = Setup {
        parameters: Parameters::read("[lanes]\nincrement = false\n").unwrap(),
        leaves: 3,
        seed: 1,
        warm: Time::ZERO,
        interval: Time::from_micros(50),
        watched: 0,
    };
    let mut fabric = Fabric::new(setup).unwrap();
    for flow in crossing() {
        fabric.add(flow).unwrap();
    }
    let outcome = fabric.run_until(Time::from_millis(2), u64::MAX);
    assert_eq!(outcome, Outcome::Deadlock);
    assert_eq!(fabric.audit(), Ok(()));
    let stuck = fabric.stuck();
    assert!(
        stuck.contains(&(1, 5)) && stuck.contains(&(2, 5)),
        "{stuck:?}"
    );
}

// If this fails packets, cells or credits come from nowhere or get lost, or a seed does not say what
// happened: the books are compared with what is there at many moments of random runs.
#[test]
fn nothing_is_lost_from_the_books_and_seeds_repeat() {
    let texts = [
        "",
        "[voq]\ndrop = \"tail\"\nmost = 60\n[cache]\nlines = 16\n[link]\nspray = \"random\"\n",
        "[headers]\norder = \"random\"\nlow = 20\nhigh = 40\nprobability = 0.5\n[sync]\nentries = 2\n",
        "[errors]\nframe_loss = 0.05\n[link]\ncredits = 2\ncount = 8\n[egress]\nbuffer = 40\n",
        "[qcn]\npoints = \"inputs\"\nmarking = \"random\"\n[cache]\nlines = 0\n",
        "[qcn]\npoints = \"outputs\"\nsample = 20000\n[voq]\nmost = 40\n",
    ];
    for (text, seed) in texts.iter().flat_map(|text| [(text, 11), (text, 12)]) {
        let build = || {
            let setup = Setup {
                parameters: Parameters::read(text).unwrap(),
                leaves: 4,
                seed,
                warm: Time::ZERO,
                interval: Time::from_micros(10),
                watched: 1,
            };
            let mut fabric = Fabric::new(setup).unwrap();
            for flow in drawn(&mut Rng::new(seed, 5), 4) {
                fabric.add(flow).unwrap();
            }
            fabric
        };
        let (mut stepped, mut whole) = (build(), build());
        let end = Time::from_micros(150);
        while stepped.run_until(end, 2_000) == Outcome::Paused {
            assert_eq!(
                stepped.audit(),
                Ok(()),
                "seed {seed}, {text:?}, {}",
                stepped.now()
            );
        }
        assert_eq!(
            whole.run_until(end, u64::MAX),
            Outcome::Reached,
            "seed {seed}, {text:?}"
        );
        assert_eq!(
            stepped.fingerprint(),
            whole.fingerprint(),
            "seed {seed}, {text:?}"
        );
        let totals = &whole.measures().totals;
        assert!(totals.delivered > 500 && totals.overrun == 0, "{totals:?}");
        let late: u64 = whole
            .measures()
            .sinks
            .iter()
            .map(|sink| sink.disordered)
            .sum();
        assert_eq!(late, 0, "seed {seed}, {text:?}");
    }
}

// If this fails a tree with a loop hangs the run instead of being refused.
#[test]
fn what_is_not_a_tree_is_refused() {
    let mut fabric = {
        let setup = Setup {
            parameters: Parameters::default(),
            leaves: 4,
            seed: 1,
            warm: Time::ZERO,
            interval: Time::from_micros(10),
            watched: 0,
        };
        Fabric::new(setup).unwrap()
    };
    let all: Vec<u32> = (8..13).chain(16..20).collect();
    for (tree, word) in [
        (vec![(0, vec![13]), (13, vec![21]), (21, vec![13])], "loop"),
        (vec![(0, vec![8, 8])], "twice"),
        (vec![(0, all)], "9 copies"),
        (vec![(0, vec![13])], "makes no copy"),
        (vec![(0, vec![8]), (13, vec![9])], "feeds it"),
        (vec![(0, vec![40])], "not in a fabric"),
        (vec![(5, vec![8])], "cannot send"),
        (vec![(0, vec![6])], "can only receive or not at all"),
    ] {
        let flow = Flow {
            tree,
            ..Flow::unicast(Class::Lossy, 0, 8, 1522, 1000)
        };
        let refused = fabric.add(flow).unwrap_err().to_string();
        assert!(refused.contains(word), "{word:?}: {refused}");
    }
}
