//! If this fails, controllers that know the ids of p4/bier meet others: a change of names that
//! needs saying, or a mistake.

use p4_syntax::{parse, FileProvider, Options};
use std::path::Path;

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Some(Ok(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

#[test]
fn p4info_of_bier_is_the_golden() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = here.join("../../p4/bier/v1model.p4");
    let parsed = parse(&file.to_string_lossy(), &Disk, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let info = p4_info::p4info(&checked, &parsed.sources).expect("P4Info");
    let golden = std::fs::read_to_string(here.join("tests/bier.p4info.txtpb")).unwrap_or_default();
    assert_eq!(info.text(), golden);
}
