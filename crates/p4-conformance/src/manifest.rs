//! The exceptions: what does not pass, and why that is so.
//!
//! ```text
//! # comment
//! @p4c 1.2.5.16 34b86e9bacb9          the checkout that the numbers below were counted in
//! @count stf-lax 204                  how many cases a board had there
//! stf-lax:p4_16_samples/x.p4  run  -  reason
//! ```

use crate::verdict::{Board, Stage};
use std::collections::{BTreeMap, HashMap};

/// An exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// 1-based line of the manifest
    pub number: u32,
    /// `board:file`
    pub id: String,
    pub board: Board,
    /// Path below `testdata`
    pub file: String,
    pub stage: Stage,
    pub code: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default)]
pub struct Manifest {
    pub lines: Vec<Line>,
    /// Release and commit of the checkout that it was made for
    pub p4c: Option<(String, String)>,
    /// Cases per board there
    pub counts: BTreeMap<Board, usize>,
}

impl Manifest {
    /// Reads a manifest; the errors are one sentence each, with the line.
    pub fn parse(text: &str) -> Result<Manifest, Vec<String>> {
        let mut manifest = Manifest::default();
        let mut errors = Vec::new();
        let mut seen = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let read = match line.split_whitespace().next() {
                None => Ok(()),
                Some(word) if word.starts_with('#') => Ok(()),
                Some(word) if word.starts_with('@') => manifest.fact(line),
                Some(_) => exception(number, line).and_then(|line| {
                    if let Some(first) = seen.insert(line.id.clone(), number) {
                        return Err(format!("`{}` is in line {first} already", line.id));
                    }
                    manifest.lines.push(line);
                    Ok(())
                }),
            };
            if let Err(error) = read {
                errors.push(format!("Line {number} of the manifest: {error}."));
            }
        }
        match errors.is_empty() {
            true => Ok(manifest),
            false => Err(errors),
        }
    }

    fn fact(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["@p4c", release, commit] => {
                self.p4c = Some((release.to_string(), commit.to_string()));
                Ok(())
            }
            ["@count", board, count] => {
                let board = known_board(board)?;
                let count = count
                    .parse()
                    .map_err(|_| format!("`{count}` is not a number"))?;
                self.counts.insert(board, count);
                Ok(())
            }
            _ => Err("write `@p4c RELEASE COMMIT` or `@count BOARD NUMBER`".to_string()),
        }
    }
}

fn exception(number: u32, line: &str) -> Result<Line, String> {
    let mut rest = line;
    let mut word = || {
        let (word, tail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = tail.trim_start();
        word
    };
    let (id, stage, code) = (word(), word(), word());
    let (board, file) = id
        .split_once(':')
        .ok_or_else(|| format!("`{id}` is no BOARD:FILE"))?;
    if rest.is_empty() {
        return Err("write BOARD:FILE, stage, code and a reason".to_string());
    }
    Ok(Line {
        number,
        id: id.to_string(),
        board: known_board(board)?,
        file: file.to_string(),
        stage: Stage::from_word(stage).ok_or_else(|| format!("there is no stage `{stage}`"))?,
        code: code.to_string(),
        reason: rest.to_string(),
    })
}

fn known_board(word: &str) -> Result<Board, String> {
    Board::from_word(word).ok_or_else(|| {
        let words = Board::ALL.map(Board::word).join(", ");
        format!("there is no board `{word}`, only {words}")
    })
}
