//! Programs, compiled as the command line does.

use p4_arch::{AnyArchitecture, Image};
use p4_ir::native::Native;
use p4_syntax::{FileProvider, MemoryFiles, Options, Severity};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What came of a text.
pub struct Compiled {
    pub errors: Vec<String>,
    pub image: Option<Image>,
    /// Everything that there is to say, as for a terminal
    pub rendered: String,
}

/// All passes, as far as they go.
pub fn compile(name: &str, files: &dyn FileProvider, options: &Options) -> Compiled {
    let parsed = p4_syntax::parse(name, files, options);
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(checked.diagnostics.iter().cloned());
    let mut image = None;
    let clean = |all: &[p4_syntax::Diagnostic]| all.iter().all(|d| d.severity != Severity::Error);
    if clean(&diagnostics) && checked.main.is_some() {
        match p4_ir::lower::lower(&checked, &AnyArchitecture::default()) {
            Err(errors) => diagnostics.extend(errors),
            Ok(program) => image = Image::new(Arc::new(program)).ok(),
        }
    }
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    Compiled {
        errors: errors
            .map(|d| format!("{} {}", d.code, d.message))
            .collect(),
        image,
        rendered: p4_syntax::render(&diagnostics, &parsed.sources, false),
    }
}

/// A program ready to run.
pub struct Named {
    pub name: String,
    pub image: Image,
    code: OnceLock<Option<Arc<dyn Native>>>,
}

impl Named {
    /// The program as native code, if it can be had, made once.
    pub fn code(&self) -> Option<Arc<dyn Native>> {
        let make = || {
            let code = p4_jit::compile(self.image.prepared()).ok()?;
            Some(Arc::new(code) as Arc<dyn Native>)
        };
        self.code.get_or_init(make).clone()
    }
}

/// Every program for v1model or TNA in `fuzz/programs`, `p4`, and the folders that
/// `P4LAB_FUZZ_PROGRAMS` names (separated by colons), in the order of their names. The corpora hold
/// indices into this list.
pub fn programs() -> Vec<Named> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("programs"), here.join("../p4")];
    if let Some(more) = std::env::var_os("P4LAB_FUZZ_PROGRAMS") {
        folders.extend(std::env::split_paths(&more));
    }
    let mut programs = Vec::new();
    for folder in folders {
        let mut paths = p4_files(&folder, 0);
        paths.sort();
        programs.extend(paths.iter().filter_map(|path| ready(path)));
    }
    assert!(!programs.is_empty(), "no program compiles");
    programs
}

fn p4_files(folder: &Path, depth: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && depth < 4 {
            found.extend(p4_files(&path, depth + 1));
        } else if path.extension().is_some_and(|e| e == "p4") {
            found.push(path);
        }
    }
    found
}

fn ready(path: &Path) -> Option<Named> {
    let name = path.to_string_lossy().into_owned();
    let image = compile(&name, &Disk, &Options::default()).image?;
    let code = OnceLock::new();
    Some(Named { name, image, code })
}

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        Path::new(path)
            .is_file()
            .then(|| std::fs::read_to_string(path).map_err(|error| error.to_string()))
    }
}

/// A text as the only file there is.
pub fn alone(text: &str) -> MemoryFiles {
    MemoryFiles(BTreeMap::from([("fuzz.p4".to_string(), text.to_string())]))
}
