//! If this fails, clients written for an SDE look for tables, actions or fields that our schema
//! calls otherwise, or numbers in another way.
//!
//! A checkout of p4lang/open-p4studio in P4LAB_OPEN_P4STUDIO has schemas that bf-p4c wrote for three of its
//! examples, for the tests of its drivers. They are from an older compiler, so sizes differ.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

struct Disk(PathBuf);

impl p4_syntax::FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let here = [PathBuf::from(path), self.0.join(path)];
        let found = here.into_iter().find(|path| path.is_file())?;
        Some(std::fs::read_to_string(found).map_err(|error| error.to_string()))
    }
}

fn schema(program: &Path, include: &Path) -> p4_bfrt::Schema {
    let options = p4_syntax::Options {
        include_dirs: vec![include.to_string_lossy().into_owned()],
        ..Default::default()
    };
    let parsed = p4_syntax::parse(&program.to_string_lossy(), &Disk(include.into()), &options);
    let checked = p4_check::check(&parsed.program);
    let info = p4_info::p4info(&checked, &parsed.sources).expect("P4Info");
    p4_bfrt::Schema::of(&info)
}

/// Tables by their names, without sizes and without what a snapshot shows.
fn tables(schema: &Value) -> BTreeMap<String, Value> {
    let tables = schema["tables"].as_array().expect("tables").iter();
    let tables = tables.filter(|table| {
        let kind = table["table_type"].as_str().expect("a type");
        !kind.starts_with("Snapshot")
    });
    let tables = tables.map(|table| {
        let mut table = table.clone();
        table["size"] = Value::Null;
        (table["name"].as_str().expect("a name").to_string(), table)
    });
    tables.collect()
}

#[test]
fn tables_are_those_that_the_compiler_lists() {
    let Some(sdk) = std::env::var_os("P4LAB_OPEN_P4STUDIO") else {
        println!("skipped: P4LAB_OPEN_P4STUDIO names no checkout of p4lang/open-p4studio");
        return;
    };
    let source = Path::new(&sdk).join("pkgsrc");
    let programs = source.join("p4-examples/p4_16_programs");
    let recorded = source.join("bf-drivers/src/tdi_tofino/tests/tofino_context_json_files");
    for name in [
        "tna_exact_match",
        "tna_action_profile",
        "tna_action_selector",
    ] {
        let own = schema(&programs.join(name).join(format!("{name}.p4")), &programs);
        let own: Value = serde_json::from_str(&own.json()).expect("JSON");
        let theirs = std::fs::read_to_string(recorded.join(name).join("bf-rt.json"));
        let theirs: Value = serde_json::from_str(&theirs.expect("bf-rt.json")).expect("JSON");
        let (own, theirs) = (tables(&own), tables(&theirs));
        assert_eq!(
            own.keys().collect::<Vec<_>>(),
            theirs.keys().collect::<Vec<_>>(),
            "{name}"
        );
        for (table, expected) in &theirs {
            assert_eq!(&own[table], expected, "{name}: {table}");
        }
    }
}
