//! Deadlocks: the paper's argument that there is none, and what happens where it does not hold.

use crate::common;

use common::{drawn, SEEDS};
use p4_fabric::{
    circle, Class, Explored, Fabric, Flow, Outcome, Parameters, Place, PortId, Reach, Setup, Time,
    Wait,
};
use p4_net::Rng;

/// Picoseconds of 1522 bytes on a line
const FRAME: u64 = 121_760;

fn built(text: &str, leaves: usize, seed: u64, flows: Vec<Flow>) -> Fabric {
    let setup = Setup {
        parameters: Parameters::read(text).unwrap(),
        leaves,
        seed,
        warm: Time::ZERO,
        interval: Time::from_micros(50),
        watched: 0,
    };
    let mut fabric = Fabric::new(setup).unwrap();
    for flow in flows {
        fabric.add(flow).unwrap();
    }
    fabric
}

/// Two leaves with small buffers and without a timeout, and flows whose frames are offered.
fn small(more: &str, trees: &[(PortId, Vec<PortId>)]) -> Fabric {
    let text =
        "[line]\nframe_most = 1522\n[latency]\nrequest_remote_ps = 244000\n[link]\ncount = 8\n\
                cable_ps = 20000\n[sync]\nblock = 8\nresume = 2\ntimeout_ps = 0\n";
    let flow = |(from, to): &(PortId, Vec<PortId>)| Flow {
        tree: vec![(*from, to.clone())],
        stop: Time::ZERO,
        ..Flow::unicast(Class::Lossy, *from, to[0], 1522, 99_000)
    };
    let flows = trees.iter().map(flow).collect();
    built(&format!("{text}{more}"), 2, 1, flows)
}

fn explored(fabric: &Fabric, frames: u32) -> Explored {
    let reach = Reach {
        frames,
        step: Time::from_picos(FRAME),
        states: 20_000,
    };
    fabric.explore(reach, &mut || false).unwrap()
}

/// Carries a schedule out.
fn replay(mut fabric: Fabric, schedule: &[u32]) -> Fabric {
    for (step, set) in schedule.iter().enumerate() {
        for flow in (0..8).filter(|flow| set >> flow & 1 == 1) {
            assert!(fabric.offer(flow), "step {step}");
        }
        fabric.run_until(Time::from_picos(FRAME * (step as u64 + 1)), u64::MAX);
    }
    fabric
}

/// Whether somewhere in a run VOQs are ahead of each other in a circle.
fn has_circle(text: &str, seed: u64) -> bool {
    let mut flows = drawn(&mut Rng::new(seed, 5), 4);
    flows.push(common::one_to_many(0, &[1, 2, 8, 16]));
    let mut fabric = built(text, 4, seed, flows);
    let end = Time::from_micros(60);
    while fabric.run_until(end, 1_000) == Outcome::Paused {
        if circle(&fabric.leads()).is_some() {
            return true;
        }
    }
    false
}

// If this fails section 3.1's argument does not hold here: VOQs that send in the order of arrival
// wait for each other in a circle. In the wrong variant they do.
#[test]
fn voqs_in_the_order_of_arrival_never_wait_in_a_circle() {
    let rest = "[sync]\nentries = 3\n[headers]\norder = \"random\"\n[voq]\nwindow = 40\n";
    for drop in ["off", "tail", "head"] {
        for seed in SEEDS {
            let text = format!("{rest}drop = \"{drop}\"\n");
            assert!(!has_circle(&text, seed), "seed {seed}, drop {drop}");
        }
    }
    let wrong = format!("{rest}order = \"newest\"\n");
    let found = SEEDS.iter().filter(|seed| has_circle(&wrong, **seed));
    assert!(found.count() >= 3, "nothing was tested");
}

// If this fails the search overlooks a deadlock, finds one that is none, or does not tell who waits.
#[test]
fn the_search_finds_the_wrong_variants_deadlock_and_none_without_it() {
    let siblings = [(0, vec![1, 8])];
    let right = explored(&small("[voq]\nwindow = 6\n", &siblings), 5);
    assert!(right.complete && right.ends > 100, "{right:?}");
    assert_eq!(right.stuck, None);

    let wrong = small("[voq]\nwindow = 6\norder = \"newest\"\n", &siblings);
    assert_eq!(explored(&wrong, 3).stuck, None, "three frames do not do it");
    let schedule = explored(&wrong, 4).stuck.unwrap();
    let mut stuck = replay(wrong, &schedule);
    let found: Vec<(Place, Place)> = circle(&stuck.waits())
        .unwrap()
        .iter()
        .map(|one| (one.who, one.whom))
        .collect();
    let (local, remote) = (Place::Voq(0), Place::Voq(1));
    assert_eq!(found, [(local, remote), (remote, local)]);
    // The watchdog, which knows nothing of the search, agrees.
    let end = Time::from_millis(1);
    assert_eq!(stuck.run_until(end, u64::MAX), Outcome::Deadlock);
    assert_eq!(stuck.audit(), Ok(()));
}

// If this fails nobody learns what the timeout is for: VOQs that wait for siblings keep credits that
// others need, a circle that the order of arrival does not prevent.
#[test]
fn credits_close_a_circle_that_only_the_timeout_opens() {
    let more = "block = 5\nresume = 0\n[egress]\nbuffer = 6\n[voq]\nwindow = 12\n";
    let trees = [(0, vec![1, 9]), (8, vec![9, 1])];
    let found = explored(&small(more, &trees), 4);
    let stuck = replay(small(more, &trees), &found.stuck.unwrap());
    let waits: Vec<Wait> = circle(&stuck.waits()).unwrap();
    let full = |wait: &&Wait| matches!(wait.whom, Place::Egress(..));
    assert_eq!((waits.len(), waits.iter().filter(full).count()), (6, 2));
    assert_eq!(circle(&stuck.leads()), None, "siblings alone are in order");

    let with_timeout = small(&format!("timeout_ps = 3000000\n{more}"), &trees);
    let found = explored(&with_timeout, 4);
    assert!(found.stuck.is_none() && found.timeouts > 0, "{found:?}");
}

// If this fails a small cache is called good, or one that synchronisation protects is called bad.
#[test]
fn the_search_finds_what_a_cache_loses() {
    let more = "[cache]\nlines = 8\nspare = 1\n[voq]\nwindow = 6\n";
    let trees = [(0, vec![1, 8])];
    let lost = explored(&small(&format!("on = false\n{more}"), &trees), 4);
    assert!(lost.complete && lost.evicted > 10, "{lost:?}");
    let kept = explored(&small(&format!("block = 1\nresume = 0\n{more}"), &trees), 4);
    assert!(kept.complete && kept.evicted == 0, "{kept:?}");
}

/// Whether the watchdog ends some run, and the most cells that a cache loses in one: frames come in
/// the first step and in up to three of the next seven, and nothing is remembered from run to run.
fn tried_one_by_one(fabric: &Fabric) -> (bool, u64) {
    let (mut stuck, mut evicted) = (false, 0);
    for chosen in (0..128u32).filter(|chosen| chosen.count_ones() <= 3) {
        let schedule: Vec<u32> = (0..8).map(|step| (chosen << 1 | 1) >> step & 1).collect();
        let mut run = replay(fabric.clone(), &schedule);
        stuck |= run.run_until(Time::from_micros(200), u64::MAX) == Outcome::Deadlock;
        evicted = evicted.max(run.measures().totals.evicted);
    }
    (stuck, evicted)
}

// If this fails states that differ are taken for the same, and what follows one of them is not seen.
#[test]
fn the_search_sees_what_single_runs_see() {
    let thrash = "on = false\n[cache]\nlines = 8\nspare = 1\n[voq]\nwindow = 6\n";
    let newest = "[voq]\nwindow = 6\norder = \"newest\"\n";
    for more in [thrash, newest, "[voq]\nwindow = 6\n"] {
        let fabric = small(more, &[(0, vec![1, 8])]);
        let found = explored(&fabric, 4);
        let (stuck, evicted) = tried_one_by_one(&fabric);
        assert_eq!(found.stuck.is_some(), stuck, "{more}");
        assert!(found.evicted >= evicted, "{more}: {evicted}, {found:?}");
        assert_eq!(evicted > 0, more == thrash, "{more}: nothing was tested");
    }
}

// If this fails a search runs on parameters that make its answer wrong.
#[test]
fn a_search_refuses_what_draws_and_what_sends_by_itself() {
    let siblings = [(0, vec![1, 8])];
    let reach = Reach {
        frames: 1,
        step: Time::from_picos(FRAME),
        states: 10,
    };
    let refused = |fabric: Fabric| {
        fabric
            .explore(reach, &mut || false)
            .unwrap_err()
            .to_string()
    };
    let draws = small("[errors]\nframe_loss = 0.1\n", &siblings);
    assert!(refused(draws).contains("chance"));
    let sends = built("", 2, 1, vec![common::one_to_many(0, &[1, 8])]);
    assert!(refused(sends).contains("stop"));
    assert!(refused(small("", &[])).contains("0 flows"));
}

// If this fails Ctrl-C is heard when millions of states have been tried, and not before.
#[test]
fn a_search_ends_when_it_is_told_to() {
    let fabric = small("[voq]\nwindow = 6\n", &[(0, vec![1, 8])]);
    let reach = Reach {
        frames: 6,
        step: Time::from_picos(FRAME),
        states: 20_000,
    };
    let found = fabric.explore(reach, &mut || true).unwrap();
    assert!(!found.complete && found.states < 1_000, "{found:?}");
    let drawn = fabric.wander(reach, 10_000, 1, &mut || true).unwrap();
    assert!(drawn.states < 1_000, "{drawn:?}");
}
