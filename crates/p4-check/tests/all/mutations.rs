//! Half-written and broken programs. Checking them must end with diagnostics that can be shown;
//! if these fail, a student's typo takes the tool down instead of being explained.
//!
//! A failing case prints its changes; proptest keeps it in `proptest-regressions`.

use crate::support;

use p4_syntax::{parse, render};
use proptest::prelude::*;
use support::{change, changed, samples, Change, Sample};

fn sample_and_changes() -> impl Strategy<Value = (Sample, Vec<Change>)> {
    (
        proptest::sample::select(samples()),
        prop::collection::vec(change(), 1..6),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn broken_programs_are_explained((sample, changes) in sample_and_changes()) {
        let files = sample.with(changed(sample.text(), &changes));
        let parsed = parse(&sample.main, &files, &sample.options());
        let checked = p4_check::check(&parsed.program);
        for diagnostic in &checked.diagnostics {
            let span = diagnostic.span;
            prop_assert!(span.lo <= span.hi, "{diagnostic:?}");
            prop_assert!(parsed.sources.locate(span.lo).is_some(), "{diagnostic:?}");
            prop_assert!(diagnostic.message.ends_with(['.', '?', '!']), "{diagnostic:?}");
            prop_assert!(diagnostic.hint.is_some(), "{diagnostic:?}");
        }
        let shown = render(&checked.diagnostics, &parsed.sources, false);
        prop_assert_eq!(shown.is_empty(), checked.diagnostics.is_empty());
    }
}

/// What is mutated must be right to begin with, or the mutants test little.
#[test]
fn the_lab_programs_are_right() {
    let mut seen = 0;
    for sample in samples().iter().filter(|s| s.main.starts_with("p4/")) {
        let files = sample.with(sample.text().to_string());
        let parsed = parse(&sample.main, &files, &sample.options());
        let checked = p4_check::check(&parsed.program);
        let text = render(&checked.diagnostics, &parsed.sources, false);
        assert_eq!(parsed.diagnostics, [], "{}", sample.main);
        assert!(checked.diagnostics.is_empty(), "{}: {text}", sample.main);
        seen += 1;
    }
    assert!(seen > 0, "no program of the lab was found");
}
