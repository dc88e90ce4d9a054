//! Programs for Tofino 2: they compile, and no switch runs them.

use crate::support;

use p4_arch::tna::{Config, Image, Switch, Tna};
use p4_syntax::{MemoryFiles, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use support::*;

fn for_tofino2(parts: &Parts<'_>) -> String {
    text(parts).replace("#include <tna.p4>", "#include <t2na.p4>")
}

// If this fails, a program that is for both chips does not compile for the second, or runs as if it were
// for the first, with all headers in the wrong places.
#[test]
fn a_program_compiles_and_is_not_run() {
    let parts = Parts {
        ingress: "apply {
            tm.ucast_egress_port = 2; tm.qid = 7w127; d.mirror_type = 4w15; d.mirror_io_select = 1;
        }",
        egress: "apply { h.h.c = eg.enq_tstamp; d.mirror_qid = 7w100; }",
        ..PLAIN
    };
    let image = image_of(&for_tofino2(&parts)).expect("a program for Tofino 2");
    let refused = Switch::new(Arc::new(image), Config::default());
    let error = refused.err().expect("no switch").to_string();
    assert!(error.contains("Tofino 2"), "{error}");
}

// Sizes as bf-p4c's files for the two chips add up. If this fails, parsers that count bytes are wrong.
#[test]
fn metadata_have_their_sizes() {
    for (chip, egress, port) in [("tna.p4", 27, 64), ("t2na.p4", 28, 192)] {
        let parts = Parts {
            egress: "apply { h.h.c = PORT_METADATA_SIZE; }",
            ..PLAIN
        };
        let text = text(&parts).replace("<tna.p4>", &format!("<{chip}>"));
        let image = image_of(&text).expect("a program");
        let program = image.program();
        let mut layouts = program.layouts.iter();
        let own = layouts.find(|own| own.name.contains("egress_intrinsic_metadata_t"));
        assert_eq!(own.map(|own| own.fixed_bits), Some(egress * 8), "{chip}");
        assert!(program.constants.contains(&port), "{chip}");
    }
}

/// All files below a folder, by their path from there.
fn files(folder: &Path, at: &str, found: &mut BTreeMap<String, String>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the checkout");
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let name = format!("{at}{}", entry.file_name().to_string_lossy());
        match entry.path() {
            path if path.is_dir() => files(&path, &format!("{name}/"), found),
            path if name.ends_with(".p4") => {
                found.insert(name, std::fs::read_to_string(path).expect("a program"));
            }
            _ => {}
        }
    }
}

// If this fails, an example of the SDE that is for both chips does not compile for the second.
#[test]
fn the_examples_of_the_sde_compile() {
    let Some(sdk) = std::env::var_os("P4LAB_OPEN_P4STUDIO") else {
        println!("skipped: P4LAB_OPEN_P4STUDIO names no checkout of p4lang/open-p4studio");
        return;
    };
    let examples = Path::new(&sdk).join("pkgsrc/p4-examples/p4_16_programs");
    let mut found = BTreeMap::new();
    files(&examples, "", &mut found);
    let mains = found
        .iter()
        .filter(|(name, text)| name.starts_with("tna_") && text.contains(") main;"));
    let mains: Vec<String> = mains.map(|(name, _)| name.clone()).collect();
    assert!(mains.len() >= 35, "{mains:?}");
    let provider = MemoryFiles(found);
    for main in mains {
        let options = Options {
            defines: vec![("__TARGET_TOFINO__".to_string(), "2".to_string())],
            include_dirs: vec![String::new()],
            ..Options::default()
        };
        let parsed = p4_syntax::parse(&main, &provider, &options);
        let checked = p4_check::check(&parsed.program);
        let all = [parsed.diagnostics.clone(), checked.diagnostics.clone()].concat();
        let errors: Vec<_> = all
            .iter()
            .filter(|own| own.severity == p4_syntax::Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{main}: {errors:?}");
        let program = p4_ir::lower::lower(&checked, &Tna).expect(&main);
        Image::new(Arc::new(program)).expect(&main);
    }
}
