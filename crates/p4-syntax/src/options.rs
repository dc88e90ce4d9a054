//! What a caller chooses: where files come from, which macros exist, and how much is too much.

use std::collections::BTreeMap;

/// The only way to the outside: included files are read through it.
pub trait FileProvider {
    /// Reads a file. `path` is already joined to the including file's directory or to an include
    /// directory. `None` when there is no such file, `Some(Err(reason))` when it cannot be read.
    fn read(&self, path: &str) -> Option<Result<String, String>>;
}

/// Files by path, for tests and for programs that are not on a disk. Paths have neither `.` nor
/// `..`; where a program asks for such a path, it means what it would on a disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub BTreeMap<String, String>);

impl FileProvider for MemoryFiles {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        self.0.get(&plain(path)?).cloned().map(Ok)
    }
}

/// The path without `.` and `..`; `None` if it leads out of the root.
fn plain(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Preprocessor settings and limits.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Searched in order for `#include`.
    pub include_dirs: Vec<String>,
    /// Macros as if by `#define name value` before the first line.
    pub defines: Vec<(String, String)>,
    pub limits: Limits,
}

/// Bounds that no sensible program meets; they keep hostile ones from using up memory or time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Files that include each other in a row.
    pub max_include_depth: usize,
    /// Files included in all, counting repetitions.
    pub max_includes: usize,
    /// Tokens of the preprocessed program, and tokens produced by macros along the way.
    pub max_tokens: usize,
    /// Bytes of one file.
    pub max_file_bytes: usize,
    /// Depth of nested declarations, statements, types and expressions.
    pub max_nesting: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_include_depth: 64,
            max_includes: 4096,
            max_tokens: 2_000_000,
            max_file_bytes: 4 << 20,
            max_nesting: 256,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graded program is in memory, in the folders that it has on a disk; an `#include` that
    /// climbs out of them must find nothing.
    #[test]
    fn includes_climb_within_the_root_only() {
        let files = MemoryFiles([("include/a.p4".to_string(), "text".to_string())].into());
        assert_eq!(
            files.read("bier/../include/a.p4"),
            Some(Ok("text".to_string()))
        );
        assert_eq!(files.read("./include/./a.p4"), Some(Ok("text".to_string())));
        assert_eq!(files.read("../include/a.p4"), None);
        assert_eq!(files.read("bier/../../include/a.p4"), None);
        assert_eq!(files.read("/include/a.p4"), None);
    }
}
