//! Broken programs that still pass the checker. Lowering them must end with a well-formed program
//! or with diagnostics; if this fails, a strange submission takes the grader down.

#[path = "../../../p4-check/tests/support/mod.rs"]
mod support;

use p4_ir::lower::{lower, Binding};
use p4_syntax::{parse, Severity};
use proptest::prelude::*;
use support::{change, changed, samples, Sample};

struct V1model;

impl Binding for V1model {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        if package != "V1Switch" {
            return None;
        }
        let first = usize::from(block == "p" || block == "dep");
        let names = ["hdr", "meta", "standard_metadata"];
        names.get(param.checked_sub(first)?).copied()
    }
}

/// Programs that have something to run.
fn whole_programs() -> Vec<Sample> {
    let mut samples = samples();
    samples.retain(|sample| sample.text().contains(" main;"));
    assert!(samples.len() > 3, "only {} programs", samples.len());
    samples
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn lowering_ends_well_formed_or_explained(
        sample in proptest::sample::select(whole_programs()),
        changes in prop::collection::vec(change(), 0..4),
    ) {
        let files = sample.with(changed(sample.text(), &changes));
        let parsed = parse(&sample.main, &files, &sample.options());
        let checked = p4_check::check(&parsed.program);
        let mut said = parsed.diagnostics.iter().chain(&checked.diagnostics);
        if said.any(|d| d.severity == Severity::Error) {
            return Ok(());
        }
        match lower(&checked, &V1model) {
            Ok(program) => prop_assert_eq!(p4_ir::verify(&program), Ok(())),
            Err(diagnostics) => {
                prop_assert!(!diagnostics.is_empty());
                for diagnostic in diagnostics {
                    prop_assert!(diagnostic.hint.is_some(), "{diagnostic:?}");
                }
            }
        }
    }
}
