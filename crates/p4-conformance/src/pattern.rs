//! Names chosen by a pattern.

/// Whether `name` fits `pattern`, in which `*` is any text (also with `/`) and `?` any character.
/// Takes at most pattern length times name length steps.
pub fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Where to go on when the text after the last star does not fit: one character further.
    let (mut star, mut from) = (None, 0);
    let (mut p, mut n) = (0, 0);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some(p);
                from = n;
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some(star) = star else { return false };
                from += 1;
                n = from;
                p = star + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    /// `--only` would run other programs than the ones asked for.
    #[test]
    fn stars_and_question_marks() {
        assert!(matches("*", ""));
        assert!(matches(
            "stf-*:*issue5?1*",
            "stf-lax:p4_16_samples/issue561-1-bmv2.p4"
        ));
        assert!(matches("*a*b", "xaxbxab"));
        assert!(!matches("*a*b", "xaxbxabc"));
        assert!(!matches("a?", "a"));
        assert!(matches("a*", "a"));
        assert!(!matches("", "a"));
    }
}
