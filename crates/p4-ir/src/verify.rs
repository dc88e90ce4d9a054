//! What makes a program well formed, beyond the types of its data. The interpreter and native back
//! ends rely on it; lowering must never yield a program that is not.

use crate::interp_access::{accesses, Access, Bad};
use crate::interp_prepare::place_words;
use crate::ir::{
    words, ActionCall, ConstArg, ConstMatch, HeaderLayout, Op, Pc, Place, Program, Slot, Table,
    ValueKind,
};

/// Checks that every slot lies within the frame and no constant is written, that every jump,
/// switch and call leads to an instruction, that execution cannot run from one routine into the
/// next, and that all indices and counts agree. The error says what is wrong, for whoever changes
/// the lowering.
pub fn verify(program: &Program) -> Result<(), String> {
    frame(program)?;
    for layout in &program.layouts {
        header_layout(layout)?;
    }
    for (pc, op) in program.code.iter().enumerate() {
        instruction(program, op).map_err(|what| format!("instruction {pc} ({op:?}) {what}"))?;
    }
    routines(program)?;
    for switch in &program.switches {
        if !switch.cases.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err("the cases of a switch are not in order".into());
        }
    }
    variables(program)?;
    actions(program)?;
    for table in &program.tables {
        table_fits(program, table).map_err(|what| format!("table {}: {what}", table.name))?;
    }
    instances(program)
}

fn frame(program: &Program) -> Result<(), String> {
    let constants = program.constants.len() as u64;
    if u64::from(program.constant_base) + constants != u64::from(program.frame_words) {
        return Err("the constants do not end where the frame ends".into());
    }
    if program.code.len() != program.spans.len() {
        return Err("code and spans differ in length".into());
    }
    Ok(())
}

fn header_layout(layout: &HeaderLayout) -> Result<(), String> {
    let mut next = 1;
    let mut bits = 0;
    for field in &layout.fields {
        if field.offset != next {
            return Err(format!("{}.{} is out of place", layout.name, field.name));
        }
        next += words(field.width) + u32::from(field.varbit);
        bits += if field.varbit { 0 } else { field.width };
    }
    if next != layout.words || bits != layout.fixed_bits {
        return Err(format!("the sizes of {} do not add up", layout.name));
    }
    Ok(())
}

fn instruction(program: &Program, op: &Op) -> Result<(), String> {
    let mut problem = Ok(());
    let mut check = |access| {
        if problem.is_ok() {
            problem = access_fits(program, access);
        }
    };
    accesses(program, op, &mut check).map_err(|Bad(what)| format!("is malformed: {what}"))?;
    problem?;
    match *op {
        Op::Trap => Err("is a trap".into()),
        Op::MovN { d, s, n } if d != s && d < s + n && s < d + n => {
            Err("copies between overlapping ranges".into())
        }
        _ => Ok(()),
    }
}

fn access_fits(program: &Program, access: Access) -> Result<(), String> {
    let (slot, n, limit) = match access {
        Access::Read { slot, n } => (slot, n, program.frame_words),
        Access::Write { slot, n } => (slot, n, program.constant_base),
        Access::Jump(pc) if (pc as usize) < program.code.len() => return Ok(()),
        Access::Jump(pc) => return Err(format!("jumps to {pc}, behind the code")),
    };
    if u64::from(slot) + u64::from(n) <= u64::from(limit) {
        Ok(())
    } else {
        Err(format!("uses {n} words at {slot}, beyond {limit}"))
    }
}

/// Whether execution never goes on to the next instruction.
fn ends(op: &Op) -> bool {
    matches!(
        op,
        Op::Ret | Op::Jmp { .. } | Op::Reject { .. } | Op::Switch { .. } | Op::Trap
    )
}

fn routines(program: &Program) -> Result<(), String> {
    if !program.code.last().is_none_or(ends) {
        return Err("execution can run off the end of the code".into());
    }
    let blocks = program.blocks.iter().map(|b| (b.entry, &b.name));
    let actions = program.actions.iter().map(|a| (a.entry, &a.name));
    let methods = program.instances.iter().flat_map(|i| &i.methods);
    let methods = methods.map(|m| (m.entry, &m.name));
    for (entry, name) in blocks.chain(actions).chain(methods) {
        starts_routine(program, entry).map_err(|what| format!("{name} {what}"))?;
    }
    for op in &program.code {
        if let Op::Call { t } = op {
            starts_routine(program, *t).map_err(|what| format!("a call {what}"))?;
        }
    }
    Ok(())
}

fn starts_routine(program: &Program, entry: Pc) -> Result<(), String> {
    let before = (entry as usize).checked_sub(1);
    if entry as usize >= program.code.len() {
        return Err(format!("begins at {entry}, behind the code"));
    }
    if before.is_some_and(|pc| !ends(&program.code[pc])) {
        return Err(format!("begins at {entry}, within another routine"));
    }
    Ok(())
}

/// Whether the value is in words that packets may change.
fn variable(program: &Program, place: &Place) -> Result<(), String> {
    access_fits(
        program,
        Access::Write {
            slot: place.slot,
            n: place_words(place) as u32,
        },
    )?;
    let enums = program.enums.len();
    match place.kind {
        ValueKind::Enum(id) | ValueKind::SerEnum(id) if id as usize >= enums => {
            Err("is of an enum that does not exist".into())
        }
        _ => Ok(()),
    }
}

fn variables(program: &Program) -> Result<(), String> {
    for var in &program.vars {
        variable(program, &var.place).map_err(|what| format!("variable {} {what}", var.name))?;
    }
    for storage in &program.storages {
        let problem = |what: &str| Err(format!("storage {}: {what}", storage.key));
        if u64::from(storage.base) + u64::from(storage.words) > program.constant_base.into() {
            return problem("it lies outside of the variables");
        }
        let inside =
            |slot: Slot, n: u32| slot >= storage.base && slot + n <= storage.base + storage.words;
        for (name, var) in &storage.leaves {
            match program.vars.get(*var as usize) {
                Some(var) if inside(var.place.slot, place_words(&var.place) as u32) => {}
                _ => return problem(&format!("its leaf {name} is somewhere else")),
            }
        }
        for header in &storage.headers {
            match program.layouts.get(header.layout as usize) {
                Some(layout) if inside(header.base, layout.words) => {}
                _ => return problem(&format!("its header {} is somewhere else", header.name)),
            }
        }
    }
    let storage = |param: &crate::ir::BlockParam| param.storage.unwrap_or(0) as usize;
    for block in &program.blocks {
        let known =
            |p: &crate::ir::BlockParam| p.storage.is_none() || storage(p) < program.storages.len();
        if !block.params.iter().all(known) {
            return Err(format!("block {} has no such storage", block.name));
        }
    }
    Ok(())
}

fn actions(program: &Program) -> Result<(), String> {
    for action in &program.actions {
        let mut next = action.params.first().map_or(0, |param| param.place.slot);
        for param in &action.params {
            variable(program, &param.place)?;
            if param.place.slot != next {
                return Err(format!("the parameters of {} do not join", action.name));
            }
            next += words(param.place.width);
        }
    }
    Ok(())
}

fn table_fits(program: &Program, table: &Table) -> Result<(), String> {
    let mut next = table.key;
    for key in &table.keys {
        access_fits(
            program,
            Access::Read {
                slot: key.place.slot,
                n: words(key.place.width),
            },
        )?;
        if key.place.slot != next {
            return Err("the parts of the key do not join".into());
        }
        next += words(key.place.width);
    }
    if next != table.key + table.key_words {
        return Err("the key's words do not add up".into());
    }
    if table.actions.is_empty() {
        return Err("it has no action at all".into());
    }
    for action in &table.actions {
        if action.action as usize >= program.actions.len() {
            return Err(format!("there is no action {}", action.action));
        }
    }
    action_call(program, table, &table.default)?;
    for entry in &table.entries {
        action_call(program, table, &entry.call)?;
        if entry.matches.len() != table.keys.len() {
            return Err("an entry has another number of parts than the key".into());
        }
        for (found, key) in entry.matches.iter().zip(&table.keys) {
            match_fits(found, words(key.place.width) as usize)?;
        }
    }
    let known = |id: u32| (id as usize) < program.instances.len();
    if !table.instances.iter().all(|(_, id)| known(*id)) {
        return Err("it has an extern instance that does not exist".into());
    }
    Ok(())
}

fn action_call(program: &Program, table: &Table, call: &ActionCall) -> Result<(), String> {
    let listed = table.actions.get(call.action as usize);
    let Some(action) = listed.and_then(|a| program.actions.get(a.action as usize)) else {
        return Err(format!("there is no action {} in its list", call.action));
    };
    let needed: u32 = action.params.iter().map(|p| words(p.place.width)).sum();
    if call.data.len() != needed as usize {
        return Err(format!(
            "{} takes {needed} words, but is given {}",
            action.name,
            call.data.len()
        ));
    }
    Ok(())
}

fn match_fits(found: &ConstMatch, n: usize) -> Result<(), String> {
    let fits = match found {
        ConstMatch::Any => true,
        ConstMatch::Exact(value) => value.len() == n,
        ConstMatch::Masked { value, mask } => value.len() == n && mask.len() == n,
        ConstMatch::Range { low, high } => low.len() == n && high.len() == n,
    };
    if fits {
        Ok(())
    } else {
        Err("a value of an entry has another size than the key".into())
    }
}

fn instances(program: &Program) -> Result<(), String> {
    let known = |id: u32| (id as usize) < program.instances.len();
    for instance in &program.instances {
        let refers = |arg: &ConstArg| match arg {
            ConstArg::Instance(id) => known(*id),
            _ => true,
        };
        if !instance.args.iter().all(refers) {
            return Err(format!("{} is given an unknown instance", instance.name));
        }
        for method in &instance.methods {
            let params = method.params.iter().flat_map(|p| &p.places);
            for place in params.chain(&method.result) {
                variable(program, place).map_err(|what| format!("{}: {what}", method.name))?;
            }
        }
    }
    for call in &program.calls {
        if !call.instance.is_none_or(known) {
            return Err(format!("{} is called on an unknown instance", call.name));
        }
    }
    Ok(())
}
