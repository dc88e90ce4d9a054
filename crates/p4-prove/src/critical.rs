//! Which words of the frame decide what becomes of a packet.
//!
//! Where ways through a control meet with different values of such a word, a path takes one of the
//! ways: what comes later would ask for it anyway, in harder questions. All other words become
//! choices. A word decides if it is a condition, the validity of a header, or read by the architecture
//! after a control, and so do the words that it is computed from.

use crate::run::Asked;
use p4_arch::v1model::{Call, Image};
use p4_ir::ir::{words, Op, Pc, Slot, WideKind};

/// For each word whether it decides
pub(crate) fn critical(image: &Image) -> Vec<bool> {
    let program = image.program();
    let size = program.frame_words as usize + Asked::Words as usize;
    let mut found = Found {
        image,
        critical: vec![false; size],
        changed: true,
    };
    let standard = image.standard();
    for field in [standard.egress_spec, standard.mcast_grp] {
        found.all(
            field
                .map(|field| field.slot())
                .into_iter()
                .map(|slot| (slot, 1)),
        );
    }
    let asked = program.frame_words..size as u32;
    found.all(
        asked
            .filter(|slot| *slot != program.frame_words + Asked::Grown as u32)
            .map(|s| (s, 1)),
    );
    for storage in &program.storages {
        found.all(storage.headers.iter().map(|header| (header.base, 1)));
    }
    while std::mem::replace(&mut found.changed, false) {
        for pc in 0..program.code.len() as Pc {
            found.visit(program.code[pc as usize]);
        }
    }
    found.critical
}

struct Found<'a> {
    image: &'a Image,
    critical: Vec<bool>,
    changed: bool,
}

impl Found<'_> {
    fn all(&mut self, regions: impl IntoIterator<Item = (Slot, u32)>) {
        for (slot, n) in regions {
            for word in &mut self.critical[slot as usize..(slot + n) as usize] {
                self.changed |= !*word;
                *word = true;
            }
        }
    }

    fn any(&self, slot: Slot, n: u32) -> bool {
        self.critical[slot as usize..(slot + n) as usize].contains(&true)
    }

    /// What a critical destination is computed from is critical, too.
    fn flow(&mut self, (d, n): (Slot, u32), from: &[(Slot, u32)]) {
        if self.any(d, n) {
            self.all(from.iter().copied());
        }
    }

    fn copy(&mut self, d: Slot, s: Slot, n: u32) {
        for word in 0..n {
            self.flow((d + word, 1), &[(s + word, 1)]);
        }
    }

    fn visit(&mut self, op: Op) {
        let program = self.image.program();
        match op {
            Op::JmpIf { c, .. } | Op::JmpIfNot { c, .. } => self.all([(c, 1)]),
            Op::Switch { v, .. } => self.all([(v, 1)]),
            Op::ExtractVar { bits, .. } | Op::ExtractNextVar { bits, .. } => self.all([(bits, 1)]),
            Op::Mov { d, s } => self.copy(d, s, 1),
            Op::MovN { d, s, n } => self.copy(d, s, n),
            Op::MovIf { d, s, c } => {
                self.copy(d, s, 1);
                self.flow((d, 1), &[(c, 1)]);
            }
            Op::MovNIf { d, s, c, n } => {
                self.copy(d, s, n.into());
                self.flow((d, n.into()), &[(c, 1)]);
            }
            Op::Alu { d, a, b, .. } | Op::Concat { d, a, b, .. } => {
                self.flow((d, 1), &[(a, 1), (b, 1)]);
            }
            Op::Not { d, a, .. }
            | Op::Neg { d, a, .. }
            | Op::NotBool { d, a }
            | Op::Slice { d, a, .. }
            | Op::SignExtend { d, a, .. } => self.flow((d, 1), &[(a, 1)]),
            Op::Insert { d, s, .. } => self.flow((d, 1), &[(s, 1)]),
            Op::Wide { op } => {
                let op = program.wide[op as usize];
                let a = (op.a, words(op.aw));
                let d = (op.d, words(op.dw));
                match op.kind {
                    WideKind::Alu(_) | WideKind::Concat => {
                        self.flow(d, &[a, (op.b, words(op.bw))]);
                    }
                    _ => self.flow(d, &[a]),
                }
            }
            Op::LoadAt { r, d, idx } => {
                let r = program.dynamic[r as usize];
                if self.any(d, r.n) {
                    self.all([(idx, 1)]);
                    self.all((0..r.count).map(|at| (r.base + at * r.stride, r.n)));
                }
            }
            Op::StoreAt { r, s, idx } => {
                let r = program.dynamic[r as usize];
                if (0..r.count).any(|at| self.any(r.base + at * r.stride, r.n)) {
                    self.all([(s, r.n), (idx, 1)]);
                }
            }
            Op::Apply { table } => self.table(table),
            Op::Extern { call } => self.call(call),
            _ => {}
        }
    }

    /// Which entry hits decides if one of the actions decides, or somebody asks for it.
    fn table(&mut self, table: u32) {
        let program = self.image.program();
        let table = &program.tables[table as usize];
        let asked = self.any(table.hit, 1) || self.any(table.chosen, 1);
        let actions = table.actions.iter();
        let mut entries = actions.map(|a| program.actions[a.action as usize].entry);
        if asked || entries.any(|entry| self.decides(entry)) {
            self.all([(table.key, table.key_words)]);
        }
    }

    /// Whether a routine without branches to other routines writes a critical word.
    fn decides(&self, entry: Pc) -> bool {
        let program = self.image.program();
        let mut pc = entry;
        while let Some(op) = program.code.get(pc as usize) {
            let writes = match *op {
                Op::Ret => return false,
                Op::Mov { d, .. } | Op::MovIf { d, .. } => self.any(d, 1),
                Op::MovN { d, n, .. } | Op::Zero { d, n } | Op::Undefine { d, n } => self.any(d, n),
                Op::MovNIf { d, n, .. } => self.any(d, n.into()),
                Op::Alu { d, .. }
                | Op::Concat { d, .. }
                | Op::Not { d, .. }
                | Op::Neg { d, .. }
                | Op::NotBool { d, .. }
                | Op::Slice { d, .. }
                | Op::Insert { d, .. }
                | Op::SignExtend { d, .. } => self.any(d, 1),
                Op::Wide { op } => {
                    let op = program.wide[op as usize];
                    self.any(op.d, words(op.dw))
                }
                Op::Extern { call } => !matches!(
                    self.image.calls()[call as usize],
                    Call::Count { .. } | Call::DirectCount | Call::Log { .. }
                ),
                // Branches, calls, validity
                _ => true,
            };
            if writes {
                return true;
            }
            pc += 1;
        }
        false
    }

    fn call(&mut self, call: u32) {
        match &self.image.calls()[call as usize] {
            Call::Clone { session, list } => {
                self.all([(*session, 1)]);
                self.all(list.map(|list| (list, 1)));
            }
            Call::Resubmit { list } | Call::Recirculate { list } => self.all([(*list, 1)]),
            Call::RegisterRead { index, result, .. } => {
                let decides = |place: &p4_ir::ir::Place| self.any(place.slot, words(place.width));
                if result.iter().any(decides) {
                    self.all([(*index, 1)]);
                }
            }
            Call::Checksum(checksum) => self.all([(checksum.condition, 1)]),
            _ => {}
        }
    }
}
