//! What is judged, and what came of it.

use std::fmt;

/// One column of the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Board {
    /// A program of p4_16_samples for v1model: compiles up to a ready switch
    AcceptedV1model,
    /// One that includes no known architecture: passes the front end
    AcceptedCore,
    /// One for another architecture, read from p4c's p4include: passes the front end
    AcceptedOther,
    /// A program of p4_16_errors: is refused
    Rejected,
    /// ... at a line where p4c's golden output has an error
    RejectedLine,
    /// ... there with an error of the same class
    RejectedClass,
    /// A script for a v1model program of p4_16_samples, judged as p4c's runner does
    StfLax,
    /// ... with every packet on every port accounted for
    StfStrict,
    /// A script of p4_14_samples on p4c's translation of the program
    P4_14StfLax,
    P4_14StfStrict,
    /// P4Info of a v1model program of p4_16_samples beside p4c's
    P4Info,
}

impl Board {
    pub const ALL: [Board; 11] = [
        Board::AcceptedV1model,
        Board::AcceptedCore,
        Board::AcceptedOther,
        Board::Rejected,
        Board::RejectedLine,
        Board::RejectedClass,
        Board::StfLax,
        Board::StfStrict,
        Board::P4_14StfLax,
        Board::P4_14StfStrict,
        Board::P4Info,
    ];

    /// The name that manifest lines, `--only` and data formats use.
    pub fn word(self) -> &'static str {
        match self {
            Board::AcceptedV1model => "accepted-v1model",
            Board::AcceptedCore => "accepted-core",
            Board::AcceptedOther => "accepted-other",
            Board::Rejected => "rejected",
            Board::RejectedLine => "rejected-line",
            Board::RejectedClass => "rejected-class",
            Board::StfLax => "stf-lax",
            Board::StfStrict => "stf-strict",
            Board::P4_14StfLax => "p4_14-stf-lax",
            Board::P4_14StfStrict => "p4_14-stf-strict",
            Board::P4Info => "p4info",
        }
    }

    pub fn from_word(word: &str) -> Option<Board> {
        Board::ALL.into_iter().find(|board| board.word() == word)
    }
}

/// How far a program came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The file, an include or a golden output is missing or unreadable
    Read,
    Parse,
    Check,
    Lower,
    /// The architecture refused the program
    Image,
    /// There is no P4Info for the program
    P4Info,
    /// The STF script has errors
    Script,
    /// The STF script ran and something was not as expected
    Run,
    /// A program that must be refused was accepted
    Accepted,
    /// It was refused at another line
    Line,
    /// It was refused for another reason
    Class,
    /// The output is not the golden one
    Differs,
    Panic,
}

const STAGES: [(Stage, &str); 13] = [
    (Stage::Read, "read"),
    (Stage::Parse, "parse"),
    (Stage::Check, "check"),
    (Stage::Lower, "lower"),
    (Stage::Image, "image"),
    (Stage::P4Info, "p4info"),
    (Stage::Script, "script"),
    (Stage::Run, "run"),
    (Stage::Accepted, "accepted"),
    (Stage::Line, "line"),
    (Stage::Class, "class"),
    (Stage::Differs, "differs"),
    (Stage::Panic, "panic"),
];

impl Stage {
    pub fn word(self) -> &'static str {
        let (_, word) = STAGES[STAGES
            .iter()
            .position(|(stage, _)| *stage == self)
            .unwrap_or(0)];
        word
    }

    pub fn from_word(word: &str) -> Option<Stage> {
        STAGES
            .into_iter()
            .find(|(_, w)| *w == word)
            .map(|(stage, _)| stage)
    }
}

/// Why a case does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub stage: Stage,
    /// Of the first error; `-` where there is none
    pub code: String,
    /// One line for a person
    pub detail: String,
}

impl Failure {
    pub fn new(stage: Stage, code: impl Into<String>, detail: impl Into<String>) -> Failure {
        Failure {
            stage,
            code: code.into(),
            detail: first_line(&detail.into()),
        }
    }
}

/// Long messages are cut; a scoreboard has a line for each.
fn first_line(text: &str) -> String {
    const MAX: usize = 300;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}

pub type Result = std::result::Result<(), Failure>;

/// A file on a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub board: Board,
    /// Path below `testdata`, with `/` on every system
    pub file: String,
    pub result: Result,
}

impl Case {
    /// `board/file`, as manifest lines name it.
    pub fn id(&self) -> String {
        id(self.board, &self.file)
    }
}

pub fn id(board: Board, file: &str) -> String {
    format!("{}:{file}", board.word())
}

/// A file that no board judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Path below `testdata`
    pub file: String,
    pub reason: String,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
