//! What sort of mistake each code stands for, in the words of p4c's `--Werror=` tags, so that
//! verdicts of the two compilers can be compared and a reader finds both under one name.

/// Codes of one class. A code is in one class only; where p4c has several for what one of our
/// codes says, it is in the one that p4c uses most.
const CLASSES: &[(&str, &[&str])] = &[
    // The text is not of the grammar, whoever noticed: lexer, preprocessor, parser.
    (
        "syntax error",
        &[
            "E0001", "E0002", "E0003", "E0004", "E0012", "E0013", "E0014", "E0015", "E0016",
            "E0017", "E0018", "E0020", "E0021", "E0022", "E0028", "E0029", "E0100", "E0101",
            "E0102", "E0103", "E0104", "E0105", "E0106", "E0107", "E0109", "E0110", "E0111",
            "E0112", "E0113", "E0114", "E0115", "E0116", "E0117", "E0118", "E0119", "E0120",
            "E0121", "E0368",
        ],
    ),
    // A name, file or member of a list that is not there.
    ("not-found", &["E0006", "E0010", "E0201", "E0403", "E0410"]),
    (
        "duplicate",
        &[
            "E0202", "E0357", "E0366", "E0406", "E0411", "E0425", "E0701", "E0704",
        ],
    ),
    ("shadow", &["E0206"]),
    // Two things that do not go together by their types or kinds.
    (
        "type-error",
        &[
            "E0203", "E0302", "E0304", "E0305", "E0306", "E0307", "E0308", "E0309", "E0310",
            "E0313", "E0314", "E0315", "E0317", "E0318", "E0321", "E0322", "E0323", "E0324",
            "E0326", "E0330", "E0331", "E0332", "E0333", "E0334", "E0335", "E0337", "E0339",
            "E0340", "E0341", "E0342", "E0347", "E0348", "E0351", "E0352", "E0353", "E0354",
            "E0355", "E0356", "E0358", "E0359", "E0360", "E0367", "E0404", "E0405", "E0408",
            "E0409", "E0412", "E0413", "E0415", "E0416", "E0422", "E0501", "E0504",
        ],
    ),
    // Well-typed, but at a place or of a form that the language does not allow.
    (
        "invalid",
        &[
            "E0023", "E0024", "E0205", "E0303", "E0311", "E0320", "E0325", "E0336", "E0338",
            "E0343", "E0346", "E0349", "E0350", "E0364", "E0401", "E0402", "E0421", "E0424",
            "E0503", "E0508", "E0601", "E0901", "E0702", "E0706", "E0708", "E0709", "E0710",
        ],
    ),
    // Something must have another value or form than it has.
    (
        "expected",
        &[
            "E0327", "E0365", "E0407", "E0417", "E0418", "E0506", "E0509", "E0606",
        ],
    ),
    ("insufficient", &["E0316"]),
    // Division by zero in a constant.
    ("expr", &["E0502"]),
    // More than this compiler takes.
    (
        "overlimit",
        &["E0011", "E0026", "E0108", "E0319", "E0602", "E0605"],
    ),
    (
        "unsupported",
        &[
            "E0207", "E0312", "E0507", "E0603", "E0703", "E0705", "E0707", "E0711",
        ],
    ),
    ("Target model error", &["E0414"]),
    ("keys", &["E0419", "W0419"]),
    ("unreachable", &["E0420", "W0404"]),
    ("parser-transition", &["W0426"]),
    ("mismatch", &["W0505"]),
];

/// The class of a diagnostic's code, as p4c names it in `[--Werror=CLASS]` or `[--Wwarn=CLASS]`:
/// "syntax error" for what p4c reports without a class, "warning" for warnings that p4c does not
/// give, and empty for what is not a code of ours.
pub fn class(code: &str) -> &'static str {
    let listed = CLASSES.iter().find(|(_, codes)| codes.contains(&code));
    match listed {
        Some((class, _)) => class,
        None if code.starts_with('W') => "warning",
        None => "",
    }
}
