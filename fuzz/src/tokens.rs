//! Mutations that keep most of a text a program: whole tokens are dropped, doubled, swapped and
//! replaced, where bytes would mostly make words that nobody knows.

/// A generator of its own: libFuzzer gives a seed per mutation.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

const WORDS: &[&str] = &[
    "abstract",
    "action",
    "actions",
    "apply",
    "bit<1>",
    "bit<8>",
    "bit<0>",
    "bit<2048>",
    "bool",
    "break",
    "const",
    "continue",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "int<8>",
    "key",
    "list<bit<8>>",
    "match_kind",
    "out",
    "package",
    "parser",
    "pragma",
    "priority",
    "return",
    "select",
    "state",
    "static_assert",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple<bit<8>, bool>",
    "type",
    "typedef",
    "valueset",
    "value_set<bit<8>>",
    "varbit<32>",
    "void",
    "_",
    "{#}",
    "...",
    "&&&",
    "..",
    "++",
    "|+|",
    "|-|",
    "<<",
    ">>",
    "==",
    "!=",
    "<=",
    ">=",
    "&&",
    "||",
    "!",
    "~",
    "-",
    "+",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "=",
    "+=",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    ";",
    ":",
    ",",
    ".",
    "?",
    "@name",
    "@(",
    "#define A ",
    "#if ",
    "#endif\n",
    "#include <core.p4>\n",
    "accept",
    "reject",
    "start",
    "main",
    "isValid()",
    "setValid()",
    "setInvalid()",
    "push_front(1)",
    "pop_front(1)",
    ".next",
    ".last",
    ".lastIndex",
    ".size",
    "extract",
    "lookahead<bit<8>>()",
    "advance(8)",
    "emit",
    "verify",
    "hit",
    "action_run",
    "NoAction",
    "exact",
    "lpm",
    "ternary",
    "range",
    "optional",
    "selector",
    "standard_metadata",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "8",
    "31",
    "32",
    "63",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "511",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "1w1",
    "8w255",
    "8s127",
    "8s128",
    "0x0",
    "0xFFFF_FFFF",
    "2048w1",
    "0w0",
    "1000000000000000000000000000000000000000",
    "32w0b1",
    "-9223372036854775808",
];

/// Byte ranges of the tokens of a text, with the space before them.
fn split(text: &[u8]) -> Vec<(usize, usize)> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        while at < text.len() && text[at].is_ascii_whitespace() {
            at += 1;
        }
        if at < text.len() {
            if word(text[at]) {
                while at < text.len() && word(text[at]) {
                    at += 1;
                }
            } else {
                at += 1;
            }
        }
        tokens.push((start, at));
    }
    tokens
}

/// Another text, of at most `max` bytes.
pub fn mutate(text: &[u8], max: usize, seed: u32) -> Vec<u8> {
    let mut random = Random(u64::from(seed));
    let mut out = text.to_vec();
    for _ in 0..=random.below(3) {
        out = once(&out, &mut random);
    }
    out.truncate(max);
    out
}

fn once(text: &[u8], random: &mut Random) -> Vec<u8> {
    let tokens = split(text);
    if tokens.is_empty() {
        return WORDS[random.below(WORDS.len())].into();
    }
    // A run of tokens: mostly short, sometimes a whole declaration's worth.
    let run = |random: &mut Random| {
        let first = random.below(tokens.len());
        let long = random.below(4) == 0;
        let length = 1 + random.below(if long { 40 } else { 3 });
        let last = (first + length).min(tokens.len()) - 1;
        (tokens[first].0, tokens[last].1)
    };
    let (from, to) = run(random);
    let (other, end) = run(random);
    let mut out = Vec::with_capacity(text.len() + 64);
    match random.below(8) {
        0 => splice(&mut out, text, from, to, &[]),
        1 => splice(&mut out, text, to, to, &text[from..to]),
        2 => splice(&mut out, text, from, to, &text[other..end]),
        3 => splice(&mut out, text, to, to, &text[other..end]),
        4 => splice(
            &mut out,
            text,
            from,
            to,
            &spaced(WORDS[random.below(WORDS.len())]),
        ),
        5 => splice(
            &mut out,
            text,
            to,
            to,
            &spaced(WORDS[random.below(WORDS.len())]),
        ),
        6 => splice(
            &mut out,
            text,
            from,
            to,
            &spaced(NUMBERS[random.below(NUMBERS.len())]),
        ),
        _ => {
            // A number for a number keeps the rest meaningful.
            let numbers: Vec<_> = tokens
                .iter()
                .filter(|(a, b)| {
                    text[*a..*b]
                        .trim_ascii_start()
                        .first()
                        .is_some_and(u8::is_ascii_digit)
                })
                .collect();
            let Some(&&(from, to)) = numbers.get(random.below(numbers.len())) else {
                return text.to_vec();
            };
            splice(
                &mut out,
                text,
                from,
                to,
                &spaced(NUMBERS[random.below(NUMBERS.len())]),
            );
        }
    }
    out
}

fn spaced(word: &str) -> Vec<u8> {
    format!(" {word}").into_bytes()
}

fn splice(out: &mut Vec<u8>, text: &[u8], from: usize, to: usize, with: &[u8]) {
    out.extend_from_slice(&text[..from]);
    out.extend_from_slice(with);
    out.extend_from_slice(&text[to.max(from)..]);
}

/// The beginning of one text with some of another put in.
pub fn cross(a: &[u8], b: &[u8], max: usize, seed: u32) -> Vec<u8> {
    let mut random = Random(u64::from(seed) ^ 0x5eed);
    let (ours, theirs) = (split(a), split(b));
    let mut out = a.to_vec();
    if let (Some(&(_, at)), false) = (ours.get(random.below(ours.len())), theirs.is_empty()) {
        let first = random.below(theirs.len());
        let last = (first + 1 + random.below(60)).min(theirs.len()) - 1;
        out.splice(at..at, b[theirs[first].0..theirs[last].1].iter().copied());
    }
    out.truncate(max);
    out
}
