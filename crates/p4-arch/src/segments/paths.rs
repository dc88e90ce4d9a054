//! The fast paths of a switch, and how they are learned.
//!
//! Native code knows a packet's path in one piece (see [`p4_ir::paths`]), glue and all. Which paths there
//! are, packets tell: as long as some go where none has been noted, one of them is interpreted and recorded
//! now and then, less often each time that it teaches nothing.

use super::Asked;
use p4_ir::glue::Segment;
use p4_ir::interp::Prepared;
use p4_ir::ir::Op;
use p4_ir::native::{Inline, Native};
use p4_ir::paths::{Buffers, End, Path, Paths, Request, Step};
use std::sync::Arc;

/// Packets without a path before one is recorded for the first time
const PATIENCE: u64 = 256;
/// Paths of one segment
const MAX_PATHS: usize = 16;
/// Packets that are recorded in vain
const MAX_IN_VAIN: u32 = 20;

/// What an architecture says about paths.
pub(crate) trait Learner {
    /// What becomes of a packet at the end of a path
    type Ending;

    /// What packets on the segment of this index meet.
    fn segment(&self, index: usize) -> Segment;

    fn ending(&self, end: &End) -> Self::Ending;

    /// Whether all goes on that does so from where the packet is, of which only the code knows.
    fn is_whole(&self, _end: &End) -> bool {
        true
    }

    fn prepared(&self) -> &Prepared;
}

/// Paths that begin on one segment.
#[derive(Debug)]
pub(crate) struct Code<E> {
    pub paths: Arc<dyn Paths>,
    /// By the ends of the paths
    pub endings: Vec<E>,
    /// Something on them changes what later packets see, so that it may have to be taken back.
    pub changes_cells: bool,
}

/// The paths of the packets on a segment.
#[derive(Debug)]
pub(crate) struct Known<E> {
    segment: usize,
    pub code: Arc<Code<E>>,
    learned: Box<Learned>,
}

/// What the code was made from; no packet looks at it.
#[derive(Clone, Debug)]
struct Learned {
    segment: Segment,
    paths: Vec<Path>,
}

/// All paths that are known.
#[derive(Debug)]
pub(crate) struct FastPaths<E> {
    native: Arc<dyn Native>,
    pub all: Vec<Known<E>>,
    /// Packets without a path since the last one was recorded
    misses: u64,
    patience: u64,
    /// Packets that were recorded and taught nothing
    in_vain: u32,
    /// The last one taught something.
    has_taught: bool,
    /// The next packet is to be recorded.
    pub due: bool,
}

/// A request of a packet's at the end of its path, and the fields of its list.
#[inline]
pub(crate) fn asked(buffers: &Buffers, request: Option<Request>) -> (Asked, &[u64]) {
    let Some(request) = request else {
        return Default::default();
    };
    let word = buffers.told.get(request.words).copied();
    let asked = Asked {
        word: word.unwrap_or_default(),
        list: request.list.map(|list| list as u32),
    };
    (asked, &buffers.told[request.kept.0..][..request.kept.1])
}

impl<E> FastPaths<E> {
    /// No paths yet
    pub fn new(native: &Arc<dyn Native>) -> FastPaths<E> {
        FastPaths {
            native: Arc::clone(native),
            all: Vec::new(),
            misses: 0,
            patience: PATIENCE,
            in_vain: 0,
            has_taught: true,
            due: false,
        }
    }

    /// Whether they are for this code.
    #[inline]
    pub fn are_of(&self, native: &Arc<dyn Native>) -> bool {
        Arc::ptr_eq(&self.native, native)
    }

    /// Whether nobody else has the code they are for, so that no packet will take them.
    pub fn are_left(&self) -> bool {
        Arc::strong_count(&self.native) == 1
    }

    pub fn set_patience(&mut self, packets: u64) {
        self.patience = packets;
    }

    /// A packet has no path; whether it is worth recording one.
    pub fn missed(&mut self) -> bool {
        self.misses += 1;
        let due = self.misses > self.patience && self.in_vain < MAX_IN_VAIN;
        if due {
            self.misses = 0;
            if !std::mem::take(&mut self.has_taught) {
                self.patience = self.patience.saturating_mul(2);
                self.in_vain += 1;
            }
        }
        due
    }

    /// Forgets all paths.
    pub fn forget(&mut self) {
        self.all.clear();
        (self.in_vain, self.has_taught) = (0, true);
    }

    /// Adds a path of packets on the segment of this index.
    pub fn learn(&mut self, learner: &impl Learner<Ending = E>, index: usize, path: Path) {
        let at = self.all.iter().position(|known| known.segment == index);
        let mut learned = match at {
            Some(at) => self.all[at].learned.clone(),
            None => {
                let (segment, paths) = (learner.segment(index), Vec::new());
                Box::new(Learned { segment, paths })
            }
        };
        let Learned { segment, paths } = &mut *learned;
        if !include(paths, path) {
            return;
        }
        // Switches with the same paths share their code, whichever they learned first.
        paths.sort_unstable();
        let Some(code) = self.native.paths(segment, paths) else {
            return;
        };
        let ends = code.ends();
        if !ends.iter().all(|end| learner.is_whole(end)) {
            return;
        }
        let made = paths.iter().flat_map(|path| &path.made);
        let mut all = paths.iter().chain(made.map(|(_, path)| path));
        let code = Code {
            endings: ends.into_iter().map(|end| learner.ending(end)).collect(),
            paths: code,
            changes_cells: all.any(|path| change_cells(learner.prepared(), &path.blocks)),
        };
        let known = Known {
            segment: index,
            code: Arc::new(code),
            learned,
        };
        match at {
            Some(at) => self.all[at] = known,
            None => self.all.push(known),
        }
        self.has_taught = true;
    }
}

/// Adds a path to others, or what was made on it to the one that is there; `false` if that is nothing new,
/// or too much.
fn include(paths: &mut Vec<Path>, path: Path) -> bool {
    let same = |own: &&mut Path| own.blocks == path.blocks && own.end == path.end;
    let Some(own) = paths.iter_mut().find(same) else {
        paths.push(path);
        return paths.len() <= MAX_PATHS;
    };
    let before = own.made.len();
    for made in path.made {
        if own.made.len() < MAX_PATHS && !own.made.contains(&made) {
            own.made.push(made);
        }
    }
    own.made.sort_unstable();
    own.made.len() > before
}

/// The paths of the packets on a segment.
#[inline]
pub(crate) fn known<E>(all: &[Known<E>], segment: usize) -> Option<&Known<E>> {
    all.iter().find(|known| known.segment == segment)
}

/// Whether something in these blocks changes what later packets see.
pub(crate) fn change_cells(prepared: &Prepared, blocks: &[Vec<Step>]) -> bool {
    let program = prepared.program();
    let changes = |step: &Step| match program.code.get(step.pc as usize) {
        Some(Op::Extern { call }) => matches!(
            prepared.inline(*call),
            Some(Inline::Undoable | Inline::Cell(_))
        ),
        Some(Op::Apply { table }) => {
            let table = &program.tables[*table as usize];
            // A property may be a timeout, for which hits are noted.
            !table.instances.is_empty() || !table.properties.is_empty()
        }
        _ => false,
    };
    blocks.iter().flatten().any(changes)
}
