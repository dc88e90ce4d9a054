//! Values that two programs call otherwise and that are the same.
//!
//! Where a control of the one program comes to the same values as that of the other by another way,
//! the values are made the same terms: what follows is then the same without another question.

use crate::evaluate::Evaluation;
use crate::journey::Half;
use crate::path::{Answer, Paths, Step};
use crate::run::{Asked, Code};
use crate::term::{Term, Terms};
use p4_ir::ir::{words, Program, Slot};
use rustc_hash::FxHashMap;

/// Rounds in which values are found that are not the same
const ROUNDS: u32 = 8;

/// Storages of v1model, and of TNA
const SHARED: [&str; 9] = [
    "hdr",
    "meta",
    "standard_metadata",
    "ig_hdr",
    "ig_md",
    "ig_intr_md_for_tm",
    "eg_hdr",
    "eg_md",
    "eg_intr_md_for_dprsr",
];

/// Words of both frames that stand for the same: headers, metadata by name, and what the architecture
/// is asked for.
pub(crate) fn common_words(codes: &[Code<'_>; 2]) -> Vec<(Slot, Slot)> {
    let [own, other] = [0, 1].map(|side| codes[side].target.program());
    let named = named_words(other);
    let mut common = Vec::new();
    for (name, (slot, n)) in named_words(own) {
        if let Some((partner, m)) = named.get(&name).filter(|(_, m)| *m == n) {
            common.extend((0..*m).map(|word| (slot + word, partner + word)));
        }
    }
    let asked = 0..Asked::Words as Slot;
    common.extend(asked.map(|what| (own.frame_words + what, other.frame_words + what)));
    common.sort_unstable();
    common
}

/// First word and number of words by name
fn named_words(program: &Program) -> FxHashMap<String, (Slot, Slot)> {
    let mut named = FxHashMap::default();
    for key in SHARED {
        let Some(storage) = program.storage(key) else {
            continue;
        };
        for (name, var) in &storage.leaves {
            let place = program.vars[*var as usize].place;
            named.insert(
                format!("{key}.{name}"),
                (place.slot, words(place.width.max(1))),
            );
        }
        for header in &storage.headers {
            named.insert(format!("{key}.{} is valid", header.name), (header.base, 1));
        }
    }
    named
}

/// Gives the second program the first one's terms where the values must be the same.
pub(crate) fn make_alike(
    own: &Half,
    other: &mut Half,
    common: &[(Slot, Slot)],
    terms: &mut Terms,
    paths: &mut Paths<'_>,
) -> Step<()> {
    let mut unlike: Vec<(Slot, Term, Term)> = Vec::new();
    for (slot, partner) in common {
        let (a, b) = (own.word(*slot), other.word(*partner));
        if a == b {
            continue;
        }
        let width = terms.needed(a).max(terms.needed(b));
        let (x, y) = (terms.fit(a, width), terms.fit(b, width));
        let equal = terms.equal(x, y);
        let apart = terms.not(equal);
        let simple = paths.simplify(terms, apart);
        match terms.small(simple) {
            Some(0) => other.set_word(*partner, a),
            Some(_) => {}
            None => unlike.push((*partner, a, apart)),
        }
    }
    for _ in 0..ROUNDS {
        if unlike.is_empty() {
            return Ok(());
        }
        let all: Vec<Term> = unlike.iter().map(|(_, _, apart)| *apart).collect();
        let any = terms.any(&all);
        match paths.ask_by_the_way(terms, &[any])? {
            Answer::Unknown => return Ok(()),
            Answer::No => {
                for (partner, value, _) in unlike {
                    other.set_word(partner, value);
                }
                return Ok(());
            }
            Answer::Yes(model) => {
                let mut evaluation = Evaluation::resume(terms, &model, FxHashMap::default());
                unlike.retain(|(_, _, apart)| !evaluation.is_true(*apart));
            }
        }
    }
    Ok(())
}
