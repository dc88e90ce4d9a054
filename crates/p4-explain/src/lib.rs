//! What each code of the compiler means, for somebody who meets it for the first time.
//!
//! The pages are the files of `docs/errors`, all of one form:
//!
//! ```text
//! # E0305: No such member
//! ## Wrong      a program, the line of the mistake marked `// <-- E0305`
//! ## Why        three to six sentences, which may quote programs
//! ## Right      the program without the mistake
//! ## See        where the specification says so
//! ```
//!
//! The tests of this crate compile every program on them.
#![forbid(unsafe_code)]

/// A page, cut into its parts; all text is Markdown without headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// `E0305`, `W0612`
    pub code: &'static str,
    pub title: &'static str,
    pub wrong: &'static str,
    pub why: &'static str,
    pub right: &'static str,
    pub see: &'static str,
}

/// File stems and texts, sorted by stem.
static TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

const PARTS: [&str; 4] = ["\n## Wrong\n", "\n## Why\n", "\n## Right\n", "\n## See\n"];

/// All pages, errors before warnings, by number.
pub fn pages() -> impl Iterator<Item = Page> {
    TEXTS.iter().filter_map(|(_, text)| Page::read(text))
}

/// Files of `docs/errors` that do not have the form of a page.
pub fn malformed() -> Vec<&'static str> {
    let bad = |(stem, text): &&(&'static str, &'static str)| {
        Page::read(text).is_none_or(|page| page.code != *stem)
    };
    TEXTS.iter().filter(bad).map(|(stem, _)| *stem).collect()
}

/// The page of a code, written in upper or lower case.
pub fn page(code: &str) -> Option<Page> {
    let code = code.trim();
    pages().find(|page| page.code.eq_ignore_ascii_case(code))
}

/// Codes that somebody who wrote `code` may have meant, the likeliest first: the fewest characters
/// differ, then the nearest number.
pub fn nearest(code: &str) -> Vec<&'static str> {
    const SHOWN: usize = 5;
    let wanted = code.trim().to_ascii_uppercase();
    let mut ranked: Vec<(usize, u32, &'static str)> = pages()
        .map(|page| {
            let (differ, far) = (
                differences(&wanted, page.code),
                distance(&wanted, page.code),
            );
            (differ, far, page.code)
        })
        .collect();
    ranked.sort_unstable();
    ranked
        .into_iter()
        .take(SHOWN)
        .map(|(_, _, code)| code)
        .collect()
}

fn differences(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).filter(|(a, b)| a == b).count();
    a.len().max(b.len()) - same
}

fn distance(a: &str, b: &str) -> u32 {
    let number = |text: &str| -> u32 {
        let digits: String = text.chars().filter(char::is_ascii_digit).take(6).collect();
        digits.parse().unwrap_or(0)
    };
    number(a).abs_diff(number(b))
}

/// What the codes that begin alike have in common, by their first three characters.
pub fn group(code: &str) -> &'static str {
    match code.get(..3).unwrap_or(code) {
        "E00" => "Characters, macros and included files",
        "E01" => "Grammar",
        "E02" => "Names",
        "E03" => "Types, calls and statements",
        "E04" => "Parsers and tables",
        "E05" => "Numbers known at compile time",
        "E06" => "Programs that cannot be executed",
        "E09" => "What the architecture refuses",
        "W04" => "Parsers and tables: probably not meant",
        "W05" => "Values: probably not meant",
        "W06" => "Not portable to bmv2 (--lint bmv2)",
        "W07" => "Not portable to Tofino (--lint tofino)",
        _ => "Others",
    }
}

impl Page {
    fn read(text: &'static str) -> Option<Page> {
        let (heading, mut rest) = text.split_once('\n')?;
        let (code, title) = heading.strip_prefix("# ")?.split_once(": ")?;
        rest = rest.trim_start_matches('\n');
        let mut parts = [""; 4];
        rest = rest.strip_prefix(&PARTS[0][1..])?;
        for (index, part) in parts.iter_mut().enumerate() {
            let next = PARTS.get(index + 1);
            let (this, after) = match next {
                Some(next) => rest.split_once(next)?,
                None => (rest, ""),
            };
            (*part, rest) = (this.trim(), after);
        }
        let [wrong, why, right, see] = parts;
        let whole = parts.iter().all(|part| !part.is_empty());
        whole.then_some(Page {
            code,
            title: title.trim(),
            wrong,
            why,
            right,
            see,
        })
    }
}

/// The contents of the fenced blocks of a part whose info string is `language`.
pub fn blocks<'a>(part: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let mut found = Vec::new();
    let mut rest = part;
    while let Some((_, after)) = rest.split_once(open.as_str()) {
        let Some((block, after)) = after.split_once("```") else {
            break;
        };
        found.push(block);
        rest = after;
    }
    found
}
