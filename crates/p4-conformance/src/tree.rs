//! A checkout of p4c: which version it is, and which files of `testdata` are programs.

use std::fs;
use std::path::{Path, PathBuf};

/// What a checkout says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The text of `Version.txt`
    pub release: Option<String>,
    /// The commit that `.git` has checked out
    pub commit: Option<String>,
}

/// A checkout whose `testdata` is there.
#[derive(Clone, Debug)]
pub struct Checkout {
    pub root: PathBuf,
    pub version: Version,
}

/// Where a program lies, and so what it is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// p4_16_samples
    Samples,
    /// p4_16_errors
    Errors,
    /// p4_14_samples, read as the translations in p4_14_samples_outputs
    P4_14,
}

impl Set {
    pub fn folder(self) -> &'static str {
        match self {
            Set::Samples => "p4_16_samples",
            Set::Errors => "p4_16_errors",
            Set::P4_14 => "p4_14_samples",
        }
    }
}

/// A program of the checkout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    pub set: Set,
    /// Path below the folder of the set, with `/`
    pub name: String,
}

impl Program {
    /// Path below `testdata`.
    pub fn file(&self) -> String {
        format!("{}/{}", self.set.folder(), self.name)
    }

    /// `file` with another ending than `.p4`.
    pub fn beside(&self, ending: &str) -> String {
        let file = self.file();
        format!("{}{ending}", file.strip_suffix(".p4").unwrap_or(&file))
    }

    /// The golden output with this ending, such as `.p4-stderr`, below `testdata`.
    pub fn golden(&self, ending: &str) -> String {
        let stem = self.name.strip_suffix(".p4").unwrap_or(&self.name);
        format!("{}_outputs/{stem}{ending}", self.set.folder())
    }
}

impl Checkout {
    /// The error is one sentence that says what is missing.
    pub fn open(root: &Path) -> Result<Checkout, String> {
        let checkout = Checkout {
            root: root.to_path_buf(),
            version: version(root),
        };
        for folder in [Set::Samples, Set::Errors] {
            let path = checkout.path(folder.folder());
            if !path.is_dir() {
                return Err(format!(
                    "{} is not a checkout of p4c: it has no folder testdata/{}; give the folder that \
                     a clone of p4lang/p4c made.",
                    root.display(),
                    folder.folder()
                ));
            }
        }
        Ok(checkout)
    }

    /// A path below `testdata` as one of this system.
    pub fn path(&self, file: &str) -> PathBuf {
        let mut path = self.root.join("testdata");
        path.extend(file.split('/'));
        path
    }

    /// Every `.p4` file of the sets that are judged, sorted; the error names what cannot be read.
    pub fn programs(&self) -> Result<Vec<Program>, String> {
        let mut programs = Vec::new();
        for set in [Set::Samples, Set::Errors, Set::P4_14] {
            let folder = self.path(set.folder());
            if folder.is_dir() {
                let mut names = Vec::new();
                list(&folder, "", 0, &mut names)?;
                programs.extend(names.into_iter().map(|name| Program { set, name }));
            }
        }
        programs.sort();
        Ok(programs)
    }

    /// The text of a file below `testdata`; `None` if there is none.
    pub fn read(&self, file: &str) -> Option<Result<String, String>> {
        let path = self.path(file);
        path.is_file().then(|| read(&path))
    }
}

/// The largest file that is read, in bytes
const MAX_BYTES: u64 = 16 << 20;

/// The text of a regular file; the error is half a sentence.
pub fn read(path: &Path) -> Result<String, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_string());
    }
    if metadata.len() > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    // Two of p4c's programs are Latin-1 in their comments.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        error
            .into_bytes()
            .iter()
            .map(|&byte| char::from(byte))
            .collect()
    }))
}

/// Links that lead in a circle end here.
const MAX_DEPTH: u32 = 16;

fn list(folder: &Path, below: &str, depth: u32, names: &mut Vec<String>) -> Result<(), String> {
    let unreadable = |error| format!("I cannot read the folder {}: {error}.", folder.display());
    if depth > MAX_DEPTH {
        return Err(format!("{} has folders {depth} deep.", folder.display()));
    }
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list(&entry.path(), &format!("{name}/"), depth + 1, names)?;
        } else if name.ends_with(".p4") {
            names.push(name);
        }
    }
    Ok(())
}

fn version(root: &Path) -> Version {
    let line = |path: PathBuf| {
        let text = read(&path).ok()?;
        let line = text.lines().next()?.trim().to_string();
        (!line.is_empty()).then_some(line)
    };
    let git = root.join(".git");
    let commit = line(git.join("HEAD")).and_then(|head| match head.strip_prefix("ref: ") {
        None => Some(head),
        Some(name) => line(git.join(name)).or_else(|| packed(&git, name)),
    });
    Version {
        release: line(root.join("Version.txt")),
        commit,
    }
}

/// The commit of a reference that git has packed away.
fn packed(git: &Path, name: &str) -> Option<String> {
    let text = read(&git.join("packed-refs")).ok()?;
    text.lines().find_map(|line| {
        let (commit, reference) = line.split_once(' ')?;
        (reference == name).then(|| commit.to_string())
    })
}
