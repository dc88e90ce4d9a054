//! From a file to a switch, noting how far it came.

use crate::tree;
use crate::verdict::{Failure, Stage};
use p4_arch::v1model::{Image, V1Model};
use p4_arch::{Argument, NativeExterns};
use p4_syntax::{Diagnostic, FileProvider, Options, Severity, SourceMap};
use std::path::Path;
use std::sync::Arc;

/// What came of a program.
pub struct Compiled {
    /// The architecture whose file it includes
    pub architecture: Option<&'static str>,
    /// Where it failed first, and at which places it has errors
    pub failure: Option<(Stage, Vec<Mistake>)>,
    /// Whether it declares `main`
    pub has_main: bool,
    /// For a v1model program without errors
    pub image: Option<Arc<Image>>,
    /// P4Info as text, or the errors in its place, for a program that the checker passes and whose
    /// architecture p4c writes P4Info for
    pub p4info: Option<Result<String, Vec<Mistake>>>,
}

/// An error as far as it is compared with p4c's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub code: &'static str,
    /// File names without folders, and lines: its own first, then those of its labels
    pub places: Vec<(String, u32)>,
    pub message: String,
}

/// Files that make a program one of an architecture, by their names.
const ARCHITECTURES: [(&str, &str); 6] = [
    ("v1model.p4", "v1model"),
    ("psa.p4", "psa"),
    ("pna.p4", "pna"),
    ("ubpf_model.p4", "ubpf"),
    ("ebpf_model.p4", "ebpf"),
    ("xdp_model.p4", "xdp"),
];

struct Disk;

impl FileProvider for Disk {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let path = Path::new(path);
        path.exists().then(|| tree::read(path))
    }
}

/// Compiles the program in the file `path`; `include` is searched for what it includes.
pub fn compile(path: &Path, include: &Path) -> Compiled {
    let options = Options {
        include_dirs: vec![include.to_string_lossy().into_owned()],
        ..Options::default()
    };
    let parsed = p4_syntax::parse(&path.to_string_lossy(), &Disk, &options);
    let sources = &parsed.sources;
    let mut compiled = Compiled {
        architecture: architecture(sources),
        failure: None,
        has_main: false,
        image: None,
        p4info: None,
    };
    if has_error(&parsed.diagnostics) {
        let unreadable = |d: &Diagnostic| matches!(d.code, "E0006" | "E0010" | "E0013");
        let stage = match parsed.diagnostics.iter().any(unreadable) {
            true => Stage::Read,
            false => Stage::Parse,
        };
        compiled.failure = Some((stage, mistakes(&parsed.diagnostics, sources)));
        return compiled;
    }
    let checked = p4_check::check(&parsed.program);
    compiled.has_main = checked.main.is_some();
    if has_error(&checked.diagnostics) {
        compiled.failure = Some((Stage::Check, mistakes(&checked.diagnostics, sources)));
        return compiled;
    }
    if matches!(compiled.architecture, Some("v1model" | "psa" | "ubpf")) {
        let info = p4_info::p4info(&checked, sources);
        let info = info.map(|info| info.text());
        compiled.p4info = Some(info.map_err(|errors| mistakes(&errors, sources)));
    }
    if compiled.architecture != Some("v1model") || !compiled.has_main {
        return compiled;
    }
    match p4_ir::lower::lower(&checked, &V1Model) {
        Err(errors) => compiled.failure = Some((Stage::Lower, mistakes(&errors, sources))),
        Ok(program) => match Image::with_externs(Arc::new(program), &plug_ins()) {
            Ok(image) => compiled.image = Some(Arc::new(image)),
            Err(error) => {
                let error = Diagnostic::error("E0901", error.span, error.message);
                compiled.failure = Some((Stage::Image, mistakes(&[error], sources)));
            }
        },
    }
    compiled
}

/// What p4c gives bmv2 as a module for one of its programs (extern-funcs-bmv2): the first argument
/// becomes what the second one is.
fn plug_ins() -> NativeExterns {
    NativeExterns::default().with("extern_func", |arguments: &mut [Argument]| {
        if let [to, from] = arguments {
            to.values = from.values.clone();
        }
    })
}

impl Compiled {
    /// The failure as a line of the scoreboard.
    pub fn failed(&self) -> Option<Failure> {
        let (stage, mistakes) = self.failure.as_ref()?;
        Some(failed(*stage, mistakes))
    }
}

/// Mistakes as a line of the scoreboard.
pub fn failed(stage: Stage, mistakes: &[Mistake]) -> Failure {
    match mistakes.first() {
        None => Failure::new(stage, "-", "no error has a message"),
        Some(first) => {
            let place = match first.places.first() {
                Some((file, line)) => format!("{file}:{line}: "),
                None => String::new(),
            };
            Failure::new(stage, first.code, format!("{place}{}", first.message))
        }
    }
}

fn architecture(sources: &SourceMap) -> Option<&'static str> {
    sources.files().find_map(|(name, _)| {
        let name = base(name).trim_matches(['<', '>']);
        ARCHITECTURES
            .iter()
            .find(|(file, _)| *file == name)
            .map(|(_, architecture)| *architecture)
    })
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn mistakes(diagnostics: &[Diagnostic], sources: &SourceMap) -> Vec<Mistake> {
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    errors
        .map(|error| Mistake {
            code: error.code,
            places: error
                .places(sources)
                .iter()
                .map(|at| (base(&at.file).to_string(), at.line))
                .collect(),
            message: error.message.clone(),
        })
        .collect()
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
