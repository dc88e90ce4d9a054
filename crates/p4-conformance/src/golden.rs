//! What p4c said about a program that it refused.

/// An error of a golden output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldenError {
    /// `syntax error`, or the tag that p4c prints, such as `type-error`
    pub tag: String,
    /// Every place that it names: file without folders, line
    pub places: Vec<(String, u32)>,
}

/// The errors of a `.p4-stderr` file. Lines that neither begin an error or warning nor name a place
/// are quotations of the source; places below an error belong to it.
pub fn errors(text: &str) -> Vec<GoldenError> {
    let mut errors: Vec<GoldenError> = Vec::new();
    let mut in_error = false;
    for line in text.lines() {
        let (place, rest) = split_place(line);
        if let Some(tag) = error_tag(rest) {
            in_error = true;
            errors.push(GoldenError {
                tag: tag.to_string(),
                places: place.into_iter().collect(),
            });
        } else if rest.contains("[--Wwarn=") || rest.contains("warning:") {
            in_error = false;
        } else if let (true, Some(error), Some(place)) = (in_error, errors.last_mut(), place) {
            error.places.push(place);
        }
    }
    errors
}

/// `file(line)` at the start of a line, and what follows `:` or ` `.
fn split_place(line: &str) -> (Option<(String, u32)>, &str) {
    let text = line.trim_start();
    let parts = || {
        let (file, rest) = text.split_once('(')?;
        let (number, rest) = rest.split_once(')')?;
        let place = (file.to_string(), number.parse().ok()?);
        let is_file = file.contains('.') && !file.contains(char::is_whitespace);
        is_file.then_some((place, rest))
    };
    match parts() {
        Some((place, rest)) => (Some(place), rest.trim_start_matches([':', ' '])),
        None => (None, text),
    }
}

fn error_tag(text: &str) -> Option<&str> {
    if text.starts_with("syntax error") {
        return Some("syntax error");
    }
    if let Some(rest) = text.strip_prefix("[--Werror=") {
        return rest.split_once(']').map(|(tag, _)| tag);
    }
    text.starts_with("error:").then_some("error")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scores of lines and classes would be about other errors than p4c's.
    #[test]
    fn places_and_tags() {
        let text = "\
a.p4(6): [--Wwarn=unused] warning: 'x' is unused
const S x = 1;
        ^
a.p4(9): [--Werror=type-error] error: assignment
        x = f(3);
        ^^^^^^^^^
  ---- Actual error:
  a.p4(4): Cannot unify 'f(2)' with 'g'
a.p4(12):syntax error, unexpected }
[--Werror=duplicate] error: Found 1 duplicate
b.p4(3): error: SwitchStatement: not here
";
        let place = |file: &str, line| (file.to_string(), line);
        let found: Vec<_> = errors(text)
            .into_iter()
            .map(|error| (error.tag, error.places))
            .collect();
        assert_eq!(
            found,
            vec![
                (
                    "type-error".to_string(),
                    vec![place("a.p4", 9), place("a.p4", 4)]
                ),
                ("syntax error".to_string(), vec![place("a.p4", 12)]),
                ("duplicate".to_string(), vec![]),
                ("error".to_string(), vec![place("b.p4", 3)]),
            ]
        );
        assert_eq!(errors(""), vec![]);
    }
}
