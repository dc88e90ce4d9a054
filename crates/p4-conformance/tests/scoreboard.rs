//! The scoreboard over a small tree of our own, laid out like p4c's: a wrong score would say that
//! the engine agrees with p4c where it does not, or hide what changed.

use p4_conformance::{open, run, Board, Manifest, Scoreboard, Stage, Tally, MANIFEST};
use std::path::{Path, PathBuf};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/p4c")
}

/// Everything in the tree that does not pass, and why.
const EXCEPTIONS: &str = "
accepted-core:p4_16_samples/garbage.p4       parse    E0001 it is not text
accepted-core:p4_16_samples/unknown-name.p4  check    E0201 it uses a name that nobody declares
rejected:p4_16_errors/taken.p4               accepted -     nothing is wrong with it
rejected-line:p4_16_errors/taken.p4          accepted -     nothing is wrong with it
rejected-class:p4_16_errors/taken.p4         accepted -     nothing is wrong with it
rejected-line:p4_16_errors/elsewhere.p4      line     E0201 the golden line is wrong
rejected-class:p4_16_errors/elsewhere.p4     class    E0201 the golden class is wrong
rejected-line:p4_16_errors/golden-missing.p4  read    -     there is no golden output
rejected-class:p4_16_errors/golden-missing.p4 read    -     there is no golden output
stf-strict:p4_16_samples/swap-bmv2.p4        run      -     a packet leaves by a port that is not named
p4_14-stf-lax:p4_14_samples/old.p4           run      -     the script is wrong
p4_14-stf-strict:p4_14_samples/old.p4        run      -     the script is wrong
p4info:p4_16_samples/swap-bmv2.p4            differs  -     the golden P4Info is empty
@p4c 0.0.1 0123
@count stf-lax 1
";

fn judged(manifest: &str, only: Option<&str>) -> Scoreboard {
    let manifest = Manifest::parse(manifest).expect("a readable manifest");
    let checkout = open(&tree()).expect("the tree is part of the repository");
    let board = run(&checkout, &manifest, only, |_| true).expect("a readable tree");
    board.expect("nobody stops it")
}

#[test]
fn what_the_manifest_foresees_is_right() {
    let board = judged(EXCEPTIONS, None);
    assert_eq!(board.unexpected_failures, []);
    assert_eq!(board.unexpected_passes, []);
    assert_eq!(board.stale, []);
    assert!(board.ok());
    let tally = |total, passed| Tally {
        total,
        passed,
        expected: total - passed,
    };
    let expected = [
        (Board::AcceptedV1model, tally(1, 1)),
        (Board::AcceptedCore, tally(3, 1)),
        (Board::AcceptedOther, tally(1, 1)),
        (Board::Rejected, tally(5, 4)),
        (Board::RejectedLine, tally(4, 1)),
        (Board::RejectedClass, tally(5, 2)),
        (Board::StfLax, tally(1, 1)),
        (Board::StfStrict, tally(1, 0)),
        (Board::P4_14StfLax, tally(1, 0)),
        (Board::P4_14StfStrict, tally(1, 0)),
        (Board::P4Info, tally(1, 0)),
    ];
    assert_eq!(board.tallies.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn what_no_board_judges_is_named() {
    let mut excluded: Vec<_> = judged(EXCEPTIONS, None)
        .excluded
        .into_iter()
        .map(|excluded| excluded.file)
        .collect();
    excluded.sort();
    let expected = [
        "p4_14_samples/unscripted.p4",
        "p4_16_errors/placeless.p4",
        "p4_16_samples/other.stf",
    ];
    assert_eq!(excluded, expected);
}

/// A failure that nobody looked at would count as a known one.
#[test]
fn a_failure_without_its_line_fails_the_run() {
    let fewer = EXCEPTIONS.replace("accepted-core:p4_16_samples/unknown-name.p4 ", "# ");
    let board = judged(&fewer, None);
    assert!(!board.ok());
    let [(case, None)] = &board.unexpected_failures[..] else {
        panic!("{:?}", board.unexpected_failures);
    };
    assert_eq!(case.id(), "accepted-core:p4_16_samples/unknown-name.p4");
    let failure = case.result.as_ref().expect_err("it fails");
    assert_eq!((failure.stage, &*failure.code), (Stage::Check, "E0201"));
    assert!(failure.detail.contains("unknown-name.p4:2"), "{failure:?}");
}

/// A program that fails for another reason than before is news.
#[test]
fn a_failure_of_another_kind_fails_the_run() {
    for (from, to) in [
        ("check    E0201", "check    E0202"),
        ("check    E0201", "parse    E0201"),
    ] {
        let board = judged(&EXCEPTIONS.replace(from, to), None);
        assert!(!board.ok());
        assert!(matches!(&board.unexpected_failures[..], [(_, Some(_))]));
    }
}

/// Lines that say less than the engine can do would stay for ever.
#[test]
fn an_unexpected_pass_fails_the_run() {
    let more = format!("{EXCEPTIONS}\naccepted-core:p4_16_samples/fine.p4 check E0201 no more");
    let board = judged(&more, None);
    assert!(!board.ok());
    assert_eq!(board.unexpected_passes.len(), 1);
    assert_eq!(board.unexpected_passes[0].file, "p4_16_samples/fine.p4");
}

#[test]
fn a_line_about_nothing_fails_the_run() {
    let more = format!("{EXCEPTIONS}\nstf-lax:p4_16_samples/gone.p4 run - moved away");
    let board = judged(&more, None);
    assert!(!board.ok());
    assert_eq!(board.stale.len(), 1);
    assert_eq!(board.stale[0].file, "p4_16_samples/gone.p4");
}

/// Programs that vanish from a board would look like a better score.
#[test]
fn boards_of_another_size_are_told() {
    let other = EXCEPTIONS.replace("@count stf-lax 1", "@count stf-lax 204");
    let board = judged(&other, None);
    assert_eq!(board.sizes.len(), 1);
    // The tree has no .git, so it may be another release: then it is not a failure.
    assert!(board.ok());
}

#[test]
fn only_what_fits_is_judged() {
    let board = judged(EXCEPTIONS, Some("stf-*:*swap*"));
    assert!(board.ok());
    assert_eq!(
        board.tallies.keys().copied().collect::<Vec<_>>(),
        [Board::StfLax, Board::StfStrict]
    );
    assert!(judged(EXCEPTIONS, Some("nothing")).tallies.is_empty());
}

#[test]
fn a_run_can_be_stopped() {
    let checkout = open(&tree()).expect("the tree is part of the repository");
    let stopped = run(&checkout, &Manifest::default(), None, |_| false);
    assert!(matches!(stopped, Ok(None)));
}

#[test]
fn a_folder_that_is_no_checkout_is_told_in_a_sentence() {
    let error = open(&tree().join("testdata")).expect_err("it has no testdata");
    assert!(
        error.contains("not a checkout of p4c") && error.ends_with('.'),
        "{error}"
    );
}

#[test]
fn mistakes_in_a_manifest_have_their_line() {
    let wrong = "\
stf-lax:a.p4 run - reason
nonsense
stf-fast:a.p4 run - reason
stf-lax:b.p4 walk - reason
stf-lax:c.p4 run -
stf-lax:a.p4 run - again
@count stf-lax many
@p4c 1
";
    let errors = Manifest::parse(wrong).expect_err("it has mistakes");
    let said = [
        "Line 2 of the manifest: `nonsense` is no BOARD:FILE",
        "Line 3 of the manifest: there is no board `stf-fast`",
        "Line 4 of the manifest: there is no stage `walk`",
        "Line 5 of the manifest: write BOARD:FILE",
        "Line 6 of the manifest: `stf-lax:a.p4` is in line 1 already",
        "Line 7 of the manifest: `many` is not a number",
        "Line 8 of the manifest: write `@p4c",
    ];
    assert_eq!(errors.len(), said.len(), "{errors:?}");
    for (error, said) in errors.iter().zip(said) {
        assert!(error.starts_with(said), "{error}");
    }
}

/// The command would refuse to start.
#[test]
fn the_projects_own_manifest_is_readable() {
    let manifest = Manifest::parse(MANIFEST).expect("a readable manifest");
    assert!(manifest.p4c.is_some());
}
