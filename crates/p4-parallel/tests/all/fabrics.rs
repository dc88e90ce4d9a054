//! Fabrics by several threads: the same as by one, whatever they are asked.

use std::num::NonZeroUsize;

use p4_fabric::{Class, Fabric, Flow, Outcome, Parameters, Setup, Spacing, Time};
use p4_net::Rng;

fn built(text: &str, leaves: usize, seed: u64, flows: &[Flow]) -> Fabric {
    let setup = Setup {
        parameters: Parameters::read(text).unwrap(),
        leaves,
        seed,
        warm: Time::ZERO,
        interval: Time::from_micros(10),
        watched: leaves / 2,
    };
    let mut fabric = Fabric::new(setup).unwrap();
    for flow in flows {
        fabric.add(flow.clone()).unwrap();
    }
    fabric
}

fn run(fabric: &mut Fabric, end: Time, events: u64, threads: usize) -> Outcome {
    let threads = NonZeroUsize::new(threads).unwrap();
    fabric.run_by(end, events, |rounds| {
        p4_parallel::carry_out(rounds, threads)
    })
}

/// All that can be seen of a run.
fn seen(fabric: &Fabric) -> impl PartialEq + std::fmt::Debug {
    let measures = fabric.measures();
    let sink = |sink: &p4_fabric::Sink| (sink.frames, sink.bytes, sink.delays, sink.series.clone());
    let sinks: Vec<_> = measures.sinks.iter().map(sink).collect();
    let leaves: Vec<_> = (0..3).map(|leaf| fabric.snapshot(leaf)).collect();
    let delays: Vec<_> = measures.delays.iter().map(|one| one.mean()).collect();
    let rest = (sinks, leaves, delays, measures.cache, fabric.loads());
    (fabric.fingerprint(), fabric.now(), measures.totals, rest)
}

/// Flows of a small rack: unicast and trees over surrogates, both classes, any spacing.
fn drawn(rng: &mut Rng, leaves: u64) -> Vec<Flow> {
    let flow = |rng: &mut Rng| {
        let from = (rng.up_to(leaves - 1) * 8 + rng.up_to(4)) as u32;
        let leaf = (u64::from(from) / 8 + 1 + rng.up_to(leaves - 2)) % leaves;
        let first = leaf as u32 * 8;
        let class = [Class::Lossy, Class::Lossless][rng.up_to(1) as usize];
        let bytes = [64, 300, 1522, 9022][rng.up_to(3) as usize];
        let mbps = 5_000 + 40_000 * rng.up_to(2);
        let mut flow = Flow::unicast(class, from, first + 1, bytes, mbps);
        flow.spacing = [Spacing::Even, Spacing::Poisson][rng.up_to(1) as usize];
        if rng.chance(0.6) {
            let near = from / 8 * 8 + (from % 8 + 1) % 5;
            let children = (first..first + 5).collect();
            flow.tree = vec![(from, vec![near, first + 5]), (first + 5, children)];
        }
        flow
    };
    (0..8).map(|_| flow(rng)).collect()
}

// If this fails a run with `--threads` is another run than without.
#[test]
fn small_racks_do_not_depend_on_the_number_of_threads() {
    let texts = [
        "",
        "[voq]\ndrop = \"tail\"\nmost = 60\n[cache]\nlines = 16\n[link]\nspray = \"random\"\n",
        "[headers]\norder = \"random\"\nlow = 20\nhigh = 40\nprobability = 0.5\n[sync]\nentries = 2\n",
        "[errors]\nframe_loss = 0.05\n[link]\ncredits = 2\ncount = 8\n[egress]\nbuffer = 40\n",
        "[qcn]\npoints = \"inputs\"\nmarking = \"random\"\n[link]\ncable_ps = 7\n",
        "[qcn]\npoints = \"outputs\"\nsample = 20000\ncnm_ps = 90000\n[voq]\nmost = 40\n",
    ];
    let end = Time::from_micros(60);
    for (seed, text) in (1u64..).zip(texts) {
        let mut rng = Rng::new(seed, 5);
        let leaves = 3 + rng.up_to(6);
        let flows = drawn(&mut rng, leaves);
        let build = || built(text, leaves as usize, seed, &flows);
        let mut alone = build();
        assert_eq!(alone.run_until(end, u64::MAX), Outcome::Reached);
        assert!(alone.totals().delivered > 200, "nothing was tested");
        for threads in [1, 2, 3, 7] {
            let mut fabric = build();
            // In pieces, which are others for each number of threads
            while run(&mut fabric, end, 3000 * threads as u64, threads) == Outcome::Paused {
                assert_eq!(fabric.audit(), Ok(()), "{threads} threads, {text:?}");
            }
            assert_eq!(fabric.audit(), Ok(()), "{threads} threads, {text:?}");
            assert_eq!(seen(&fabric), seen(&alone), "{threads} threads, {text:?}");
        }
    }
}

/// All servers from the first one, over the surrogates of figure 14.
fn broadcast(leaves: u32) -> Flow {
    let rest: Vec<u32> = (1..leaves).collect();
    let onward = |first: usize, count: usize| {
        let part = rest.iter().skip(first).take(count);
        part.map(|leaf| leaf * 8 + 5)
    };
    let mut tree = vec![(0, (1..5).chain(onward(0, 4)).collect())];
    for (at, leaf) in rest.iter().enumerate() {
        let servers = leaf * 8..leaf * 8 + 5;
        tree.push((leaf * 8 + 5, servers.chain(onward(4 + 3 * at, 3)).collect()));
    }
    Flow {
        tree,
        ..Flow::unicast(Class::Lossy, 0, 1, 1522, 99_000)
    }
}

// If this fails the machine that threads are for is not the one that is measured without.
#[test]
fn the_whole_machine_does_not_depend_on_the_number_of_threads() {
    let flows: Vec<Flow> = std::iter::once(broadcast(128))
        .chain((1..128).map(|leaf| {
            let to = (leaf * 37 + 11) % 128 * 8 + leaf % 5;
            Flow::unicast(Class::Lossless, leaf * 8, to, 1522, 20_000)
        }))
        .collect();
    let end = Time::from_micros(12);
    let mut alone = built("", 128, 1, &flows);
    assert_eq!(alone.run_until(end, u64::MAX), Outcome::Reached);
    assert!(alone.totals().looped > 2000, "the broadcast has not spread");
    for threads in [1, 2, 3, 7] {
        let mut fabric = built("", 128, 1, &flows);
        assert_eq!(run(&mut fabric, end, u64::MAX, threads), Outcome::Reached);
        assert_eq!(fabric.audit(), Ok(()));
        assert_eq!(seen(&fabric), seen(&alone), "{threads} threads");
    }
}

// If this fails threads find another deadlock, or find it at another time.
#[test]
fn a_deadlock_is_found_at_the_same_moment() {
    let tree = |from: u32, first: u32, second: u32| Flow {
        tree: vec![
            (from, vec![first * 8 + 5]),
            (first * 8 + 5, vec![second * 8 + 5]),
            (second * 8 + 5, vec![second * 8 + from]),
        ],
        ..Flow::unicast(Class::Lossless, from, 0, 1522, 99_000)
    };
    let flows = [tree(0, 1, 2), tree(1, 1, 2), tree(2, 2, 1), tree(3, 2, 1)];
    let moments = [1, 2, 3].map(|threads| {
        let mut fabric = built("[lanes]\nincrement = false\n", 3, 1, &flows);
        let mut end = Time::ZERO;
        loop {
            end += Time::from_micros(1 + 700 * (threads as u64 - 1));
            match run(&mut fabric, end, u64::MAX, threads) {
                Outcome::Deadlock => break,
                outcome => assert_eq!(outcome, Outcome::Reached),
            }
            assert!(end < Time::from_millis(3), "no deadlock");
        }
        (fabric.now(), fabric.fingerprint(), fabric.stuck())
    });
    assert!(moments.iter().all(|one| *one == moments[0]), "{moments:?}");
}
