//! Lines of output: which pieces, at which columns.

use crate::columns;
use crate::indent::Indenter;
use crate::roles::Role;
use crate::scan::{Kind, Piece};
use crate::spacing::{self, Token};
use std::borrow::Cow;

/// How often columns are computed anew, because a column that moves can move what depends on it.
const MAX_ROUNDS: usize = 4;

/// One line of output: as many pieces as the author wrote in one line.
pub(crate) struct Row {
    /// Index of the first piece, and number of pieces
    pub first: usize,
    pub len: usize,
    pub blank_before: bool,
    /// Columns go on across it: a preprocessor line, a comment, an annotation
    pub between: bool,
    /// Columns end: it ends with an opening bracket, or begins with a closing one.
    pub opens: bool,
    pub closes: bool,
}

pub(crate) fn rows(pieces: &[Piece], roles: &[Role]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        match rows.last_mut() {
            Some(row) if piece.newlines == 0 => row.len += 1,
            _ => rows.push(Row {
                first: i,
                len: 1,
                blank_before: piece.newlines > 1 && i > 0,
                between: false,
                opens: false,
                closes: false,
            }),
        }
    }
    for row in &mut rows {
        let end = row.first + row.len;
        row.between = (row.first..end).all(|i| {
            let kind = pieces[i].kind;
            pieces[i].is_comment()
                || matches!(kind, Kind::Directive | Kind::Pragma)
                || matches!(roles[i], Role::Annotation { .. })
        });
        let mut tokens = pieces[row.first..end].iter().filter(|p| !p.is_comment());
        row.closes = tokens
            .clone()
            .next()
            .is_some_and(|p| p.is("}") || p.is(")"));
        row.opens = tokens.next_back().is_some_and(|p| p.is("{") || p.is("("));
    }
    rows
}

/// Where formatting puts things.
pub(crate) struct Layout {
    /// Column of every piece
    pub columns: Vec<usize>,
    /// Column of every row, before its first piece is moved
    indents: Vec<usize>,
}

/// Puts every piece in its column.
pub(crate) fn layout(rows: &[Row], pieces: &[Piece], roles: &[Role]) -> Layout {
    let tokens: Vec<Token> = pieces
        .iter()
        .zip(roles)
        .map(|(piece, &role)| Token { piece, role })
        .collect();
    let mut gaps = vec![0; pieces.len()];
    for row in rows {
        for i in row.first + 1..row.first + row.len {
            gaps[i] = spacing::gap(tokens[i - 1], tokens[i]);
        }
    }
    let mut pads = vec![0; pieces.len()];
    let mut layout = place(rows, &tokens, &gaps, &pads);
    let groups = columns::groups(rows, pieces, &gaps, &layout.indents);
    for _ in 0..MAX_ROUNDS {
        let new_pads = pad(rows, pieces, &gaps, &groups, &layout.indents);
        if new_pads == pads {
            break;
        }
        pads = new_pads;
        layout = place(rows, &tokens, &gaps, &pads);
    }
    layout
}

/// Columns when each piece is moved right by its pad.
fn place(rows: &[Row], tokens: &[Token], gaps: &[usize], pads: &[usize]) -> Layout {
    let mut indenter = Indenter::new();
    let mut columns = vec![0; tokens.len()];
    let mut indents = Vec::with_capacity(rows.len());
    for row in rows {
        let end = row.first + row.len;
        let mut column = indenter.begin_row(tokens[row.first]);
        indents.push(column);
        for i in row.first..end {
            column += gaps[i] + pads[i];
            columns[i] = column;
            let next = tokens[..end].get(i + 1).copied();
            indenter.pass(tokens[i], column, next);
            column = column_behind(tokens[i].piece, column);
        }
    }
    Layout { columns, indents }
}

/// How far each piece must move right so that the members of each group stand below each other.
fn pad(
    rows: &[Row],
    pieces: &[Piece],
    gaps: &[usize],
    groups: &[columns::Group],
    indents: &[usize],
) -> Vec<usize> {
    let mut pads = vec![0; pieces.len()];
    for group in groups {
        let unpadded = |&(at, index): &(usize, usize)| {
            let row = &rows[at];
            let mut column = indents[at];
            for i in row.first..row.first + index {
                column = column_behind(&pieces[i], column + gaps[i] + pads[i]);
            }
            column + gaps[row.first + index]
        };
        let columns: Vec<usize> = group.members.iter().map(unpadded).collect();
        let widest = columns.iter().copied().max().unwrap_or(0);
        for ((row, index), column) in group.members.iter().zip(columns) {
            pads[rows[*row].first + index] = widest - column;
        }
    }
    pads
}

/// The column behind a piece that begins at `column`.
pub(crate) fn column_behind(piece: &Piece, column: usize) -> usize {
    match piece.text.contains('\n') {
        false => column + piece.text.chars().count(),
        true => {
            let text = written(piece, column);
            let last = text.rsplit('\n').next().unwrap_or_default();
            last.chars().count()
        }
    }
}

/// The text of a piece at `column`. The lines of a block comment move along with its first one.
pub(crate) fn written<'a>(piece: &Piece<'a>, column: usize) -> Cow<'a, str> {
    if piece.kind != Kind::BlockComment || !piece.text.contains('\n') {
        return Cow::Borrowed(piece.text);
    }
    let mut lines = piece.text.split('\n');
    let mut text = lines.next().unwrap_or_default().trim_end().to_string();
    for line in lines {
        text.push('\n');
        let content = line.trim();
        if content.is_empty() {
            continue;
        }
        if column == piece.column {
            text.push_str(line.trim_end());
            continue;
        }
        let blanks = &line[..line.len() - line.trim_start().len()];
        let width = blanks.chars().fold(0, |width, c| match c {
            '\t' => (width / 8 + 1) * 8,
            _ => width + 1,
        });
        let moved = (width + column).saturating_sub(piece.column);
        text.extend(std::iter::repeat_n(' ', moved));
        text.push_str(content);
    }
    Cow::Owned(text)
}
