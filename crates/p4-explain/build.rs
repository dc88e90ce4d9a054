//! Puts the pages of docs/errors into the crate, so that a wheel carries them and the folder is
//! their only source.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    println!("cargo:rerun-if-changed={}", folder.display());
    let folder = folder.canonicalize()?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let is_page = path.extension().is_some_and(|ending| ending == "md");
        if is_page && path.file_stem().is_some_and(|stem| stem != "README") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut table = String::from("&[\n");
    for path in &paths {
        println!("cargo:rerun-if-changed={}", path.display());
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        table.push_str(&format!("({stem:?}, include_str!({path:?})),\n"));
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("pages.rs"), table)
}
