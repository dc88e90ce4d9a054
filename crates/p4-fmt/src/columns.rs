//! What authors put in columns, such as the names and comments of a header's fields, stays there:
//! pieces that stood below each other do so afterwards.

use crate::rows::Row;
use crate::scan::Piece;

/// Neighbouring rows' pieces that begin in one column of the source.
pub(crate) struct Group {
    column: usize,
    /// (row, index within the row), one per row, from top to bottom
    pub members: Vec<(usize, usize)>,
}

/// The groups, from left to right.
///
/// `indents` is where the rows will begin: only rows that begin, and began, in one column are compared.
pub(crate) fn groups(
    rows: &[Row],
    pieces: &[Piece],
    gaps: &[usize],
    indents: &[usize],
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The row above, and the groups it is part of
    let mut above: Option<(usize, Vec<usize>)> = None;
    for (at, lower) in rows.iter().enumerate() {
        let inside = above.as_ref().is_some_and(|(upper, _)| rows[*upper].opens);
        if lower.blank_before || lower.closes || inside {
            above = None;
        }
        let mut here = Vec::new();
        for (i, j) in above.iter().flat_map(|&(upper, _)| {
            let siblings = indents[upper] == indents[at]
                && pieces[rows[upper].first].column == pieces[lower.first].column;
            linked(&rows[upper], lower, pieces, gaps, siblings)
        }) {
            let Some((upper, known)) = &above else { break };
            let column = pieces[lower.first + j].column;
            let known = known.iter().find(|&&g| groups[g].column == column);
            let group = known.copied().unwrap_or(groups.len());
            if group == groups.len() {
                groups.push(Group {
                    column,
                    members: vec![(*upper, i)],
                });
            }
            groups[group].members.push((at, j));
            here.push(group);
        }
        match &mut above {
            Some((_, known)) if lower.between => known.extend(here),
            _ => above = Some((at, here)),
        }
    }
    groups.sort_by_key(|group| group.column);
    groups
}

/// Pairs of pieces of two rows that the author aligned.
fn linked(
    upper: &Row,
    lower: &Row,
    pieces: &[Piece],
    gaps: &[usize],
    siblings: bool,
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < upper.len && j < lower.len {
        let (a, b) = (&pieces[upper.first + i], &pieces[lower.first + j]);
        match a.column.cmp(&b.column) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                let may_move =
                    i > 0 && j > 0 && gaps[upper.first + i] > 0 && gaps[lower.first + j] > 0;
                // Two single spaces below each other are chance.
                let meant = a.gap > 1 || b.gap > 1;
                if siblings && may_move && meant || comment_goes_on(a, i, b, j, lower) {
                    pairs.push((i, j));
                }
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    pairs
}

/// A comment at the end of a line that goes on below, on a line of its own.
fn comment_goes_on(a: &Piece, i: usize, b: &Piece, j: usize, lower: &Row) -> bool {
    let behind_code = i > 0 || a.gap >= 2 * crate::indent::STEP;
    a.is_comment() && b.is_comment() && j == 0 && lower.len == 1 && behind_code && b.column > 0
}
