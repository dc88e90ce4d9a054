//! From instructions of the IR to native code.

use crate::alu::{alu, signed};
use crate::context::{at, in_value_set, parameters, status};
use crate::emit::{Emitter, Known};
use crate::externs;
use crate::flow::{Callee, End, Flow, Node, NodeId};
use crate::slots::{FEW, SHORT_LOOK};
use crate::wide;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Switch;
use p4_ir::interp::errors;
use p4_ir::ir::{mask, Op, Pc, TableId};

/// Emits all nodes of a function.
pub(crate) fn translate(e: &mut Emitter, flow: &Flow) {
    let before = predecessors(flow);
    let mut ends: Vec<Option<Known>> = vec![None; flow.nodes.len()];
    for id in order(flow) {
        let node = &flow.nodes[id];
        let block = e.block_of(id);
        e.builder.switch_to_block(block);
        e.known = known_by_all(&before[id], &ends);
        for pc in node.first..node.plain {
            plain(e, pc);
        }
        end(e, node);
        ends[id] = Some(std::mem::take(&mut e.known));
    }
    e.finish();
}

/// The nodes that a packet may come through, each after those that come before it as far as loops
/// allow.
fn order(flow: &Flow) -> Vec<NodeId> {
    let mut seen = vec![false; flow.nodes.len()];
    let mut order = Vec::new();
    let mut path: Vec<(NodeId, Vec<NodeId>)> = vec![(0, flow.nodes[0].end.successors())];
    seen[0] = true;
    while let Some((id, rest)) = path.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next] => {
                seen[next] = true;
                path.push((next, flow.nodes[next].end.successors()));
            }
            Some(_) => {}
            None => {
                order.push(*id);
                path.pop();
            }
        }
    }
    order.reverse();
    order
}

fn predecessors(flow: &Flow) -> Vec<Vec<NodeId>> {
    let mut before = vec![Vec::new(); flow.nodes.len()];
    for id in order(flow) {
        for next in flow.nodes[id].end.successors() {
            before[next].push(id);
        }
    }
    before
}

/// What all nodes leave that may come before; nothing if one of them is still to come.
fn known_by_all(before: &[NodeId], ends: &[Option<Known>]) -> Known {
    let mut all = before.iter().map(|id| ends[*id].as_ref());
    let Some(Some(first)) = all.next() else {
        return Known::new();
    };
    let mut known = first.clone();
    for other in all {
        match other {
            Some(other) => known.retain(|slot, value| other.get(slot) == Some(value)),
            None => return Known::new(),
        }
    }
    known
}

/// An instruction that does not jump.
pub(crate) fn plain(e: &mut Emitter, pc: Pc) {
    let program = e.program;
    let op = &program.code[pc as usize];
    match *op {
        Op::Mov { d, s } => {
            let value = e.get(s);
            e.set(d, value);
        }
        Op::MovN { d, s, n } if n <= FEW => {
            let values: Vec<Value> = (s..s + n).map(|slot| e.get(slot)).collect();
            for (slot, value) in (d..).zip(values) {
                e.set(slot, value);
            }
        }
        Op::MovN { d, s, n } => copy(e, d, s, n),
        Op::MovIf { d, s, c } => move_if(e, d, s, c, 1),
        Op::MovNIf { d, s, c, n } if u32::from(n) <= FEW => move_if(e, d, s, c, n.into()),
        Op::MovNIf { d, s, c, n } => {
            let condition = e.get(c);
            let (work, after) = (e.builder.create_block(), e.builder.create_block());
            e.ins().brif(condition, work, &[], after, &[]);
            e.builder.switch_to_block(work);
            e.copy(d, s, n.into());
            e.ins().jump(after, &[]);
            e.builder.switch_to_block(after);
        }
        Op::Zero { d, n } | Op::Undefine { d, n } if n <= FEW => {
            let zero = e.number(0);
            (d..d + n).for_each(|slot| e.set(slot, zero));
        }
        Op::Zero { d, n } | Op::Undefine { d, n } => e.clear(d, n),
        Op::Alu { op, w, d, a, b } => {
            let (a, b) = (e.get(a), e.get(b));
            let value = alu(e, op, w, a, b);
            e.set(d, value);
        }
        Op::Not { w, d, a } => {
            let a = e.get(a);
            let value = e.ins().bnot(a);
            let value = e.cut(value, mask(w.into()));
            e.set(d, value);
        }
        Op::Neg { w, d, a } => {
            let a = e.get(a);
            let value = e.ins().ineg(a);
            let value = e.cut(value, mask(w.into()));
            e.set(d, value);
        }
        Op::NotBool { d, a } => {
            let a = e.get(a);
            let bit = e.ins().icmp_imm_u(IntCC::Equal, a, 0);
            let value = e.widened(bit);
            e.set(d, value);
        }
        Op::Concat { w, d, a, b } => {
            let (a, b) = (e.get(a), e.get(b));
            let high = shifted_up(e, a, w.into());
            let value = e.ins().bor(high, b);
            e.set(d, value);
        }
        Op::Slice { lo, w, d, a } => {
            let a = e.get(a);
            let low = match lo {
                0 => a,
                64.. => e.number(0),
                _ => e.ins().ushr_imm_u(a, i64::from(lo)),
            };
            let value = e.cut(low, mask(w.into()));
            e.set(d, value);
        }
        Op::Insert { lo, w, d, s } => {
            let inside = mask(w.into()).unbounded_shl(lo.into());
            let (old, new) = (e.get(d), e.get(s));
            let old = e.cut(old, !inside);
            let new = shifted_up(e, new, lo.into());
            let new = e.cut(new, inside);
            let value = e.ins().bor(old, new);
            e.set(d, value);
        }
        Op::SignExtend { from, to, d, a } => {
            let a = e.get(a);
            let value = signed(e, a, from.into());
            let value = e.cut(value, mask(to.into()));
            e.set(d, value);
        }
        Op::Wide { op: index } => {
            let wide = &program.wide[index as usize];
            match wide::is_inline(wide) {
                true => wide::emit(e, wide),
                false => e.execute_aside(pc, op),
            }
        }
        Op::SetValid { layout, base } => e.set_valid(layout, base),
        Op::SetInvalid { layout, base } => e.set_invalid(pc, op, layout, base),
        Op::State { .. } => e.pay(1),
        Op::Extract { layout, base } => e.extract(pc, op, layout, base, None),
        Op::ExtractVar { layout, base, bits } => e.extract(pc, op, layout, base, Some(bits)),
        Op::Lookahead { w, d } if w <= SHORT_LOOK => {
            let value = e.look_ahead(w);
            e.set(d, value);
        }
        Op::Advance { bits } => e.advance(bits),
        Op::PacketLength { d } => {
            let bits = e.own(at::BITS);
            let bytes = e.ins().ushr_imm_u(bits, 3);
            e.set(d, bytes);
        }
        Op::StackLast { stack, d } => {
            let next = e.get(program.stacks[stack as usize].next);
            let none = e.ins().icmp_imm_u(IntCC::Equal, next, 0);
            e.reject_if(none, errors::STACK_OUT_OF_BOUNDS);
            let last = e.ins().iadd_imm_s(next, -1);
            e.set(d, last);
        }
        Op::InValueSet { set, d, key } => {
            let found = e.call_thunk(in_value_set as *const u8, &[set.into(), key.into()]);
            e.unless_over(found);
            e.set(d, found);
        }
        Op::Emit { layout, base } => e.emit(pc, op, layout, base),
        Op::Extern { call } => externs::call(e, op, call),
        _ => e.execute_aside(pc, op),
    }
}

/// `MovN` of many words; ranges that overlap are moved as one.
fn copy(e: &mut Emitter, d: u32, s: u32, n: u32) {
    if d < s + n && s < d + n {
        let values: Vec<Value> = (s..s + n).map(|slot| e.get(slot)).collect();
        for (slot, value) in (d..).zip(values) {
            e.set(slot, value);
        }
        return;
    }
    let constants: Option<Vec<u64>> = (s..s + n).map(|slot| e.program.constant(slot)).collect();
    match constants {
        Some(constants) if constants.iter().all(|word| *word == 0) => e.clear(d, n),
        _ => e.copy(d, s, n),
    }
}

pub(crate) fn move_if(e: &mut Emitter, d: u32, s: u32, c: u32, n: u32) {
    let condition = e.get(c);
    let known = e.constant_of(condition);
    if known == Some(0) {
        return;
    }
    let moved = |e: &mut Emitter, i: u32| match known {
        Some(_) => e.get(s + i),
        None => {
            let (new, old) = (e.get(s + i), e.get(d + i));
            e.ins().select(condition, new, old)
        }
    };
    let values: Vec<Value> = (0..n).map(|i| moved(e, i)).collect();
    for (slot, value) in (d..).zip(values) {
        e.set(slot, value);
    }
}

fn shifted_up(e: &mut Emitter, value: Value, by: u32) -> Value {
    match by {
        0 => value,
        64.. => e.number(0),
        _ => e.ins().ishl_imm_u(value, i64::from(by)),
    }
}

/// The instruction that leaves a node.
fn end(e: &mut Emitter, node: &Node) {
    match &node.end {
        End::Next(next) => {
            let next = e.block_of(*next);
            e.ins().jump(next, &[]);
        }
        End::Jump(edge) => {
            if edge.cost > 0 {
                e.pay(edge.cost);
            }
            let to = e.block_of(edge.to);
            e.ins().jump(to, &[]);
        }
        End::Branch {
            condition,
            if_not,
            taken,
            next,
        } => {
            let condition = e.get(*condition);
            let (to, toll) = e.target(*taken);
            let next = e.block_of(*next);
            match if_not {
                true => e.ins().brif(condition, next, &[], to, &[]),
                false => e.ins().brif(condition, to, &[], next, &[]),
            };
            e.fill(toll);
        }
        End::Switch {
            value,
            cases,
            default,
        } => {
            let value = e.get(*value);
            let mut switch = Switch::new();
            let mut tolls = Vec::new();
            for (case, edge) in cases {
                let (to, toll) = e.target(*edge);
                switch.set_entry(u128::from(*case), to);
                tolls.push(toll);
            }
            let (to, toll) = e.target(*default);
            switch.emit(&mut e.builder, value, to);
            tolls.push(toll);
            tolls.into_iter().for_each(|toll| e.fill(toll));
        }
        End::Call { callee, next } => {
            e.pay(1);
            match callee {
                Callee::Node(node) => {
                    let block = e.block_of(*node);
                    e.ins().jump(block, &[]);
                }
                Callee::Function(entry) => {
                    e.call_function(*entry);
                    let next = e.block_of(*next);
                    e.ins().jump(next, &[]);
                }
            }
        }
        End::Apply {
            table,
            actions,
            next,
        } => apply_table(e, *table, actions, *next),
        End::Return => e.leave(status::DONE, 0),
        End::Reject { err } => {
            let code = e.get(*err);
            e.reject(code);
        }
        End::Trap(pc) => e.leave(status::TRAP, (*pc).into()),
    }
}

fn apply_table(e: &mut Emitter, id: TableId, actions: &[Callee], next: NodeId) {
    let program = e.program;
    let table = &program.tables[id as usize];
    let (found, data) = e.call_apply(id);
    e.unless_over(found);
    let hit = e.ins().ushr_imm_u(found, 32);
    e.set(table.hit, hit);
    let action = e.cut(found, u32::MAX.into());
    e.set(table.chosen, action);
    let next = e.block_of(next);
    // An action that the table does not have is none at all, and costs nothing.
    let (some, n) = (e.builder.create_block(), actions.len() as i64);
    let is_some = e.ins().icmp_imm_u(IntCC::UnsignedLessThan, action, n);
    e.ins().brif(is_some, some, &[], next, &[]);
    e.builder.switch_to_block(some);
    e.pay(1);
    let mut switch = Switch::new();
    let before = e.known.clone();
    let mut ways = Vec::new();
    for index in 0..actions.len() {
        let block = e.builder.create_block();
        switch.set_entry(index as u128, block);
        ways.push(block);
    }
    switch.emit(&mut e.builder, action, next);
    for ((block, callee), listed) in ways.into_iter().zip(actions).zip(&table.actions) {
        e.builder.switch_to_block(block);
        e.known.clone_from(&before);
        let (slot, n) = parameters(program, listed.action);
        e.fetch(slot, data, n);
        let to = match callee {
            Callee::Node(node) => e.block_of(*node),
            Callee::Function(entry) => {
                e.call_function(*entry);
                next
            }
        };
        e.ins().jump(to, &[]);
    }
    // What each action leaves is another matter; its parameters are not what they were.
    e.known = before;
    for listed in &table.actions {
        let (slot, n) = parameters(program, listed.action);
        e.forget(slot, n);
    }
    if actions
        .iter()
        .any(|callee| matches!(callee, Callee::Function(_)))
    {
        e.known.clear();
    }
}
