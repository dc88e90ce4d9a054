//! What the harness of the Tofino model says in a way of its own: members of action profiles within
//! entries, action data left out, fields of registers, and direct counters by the address of their
//! entry. It loads the program into the bare chip, where no driver sets registers to their first
//! values.

use crate::resolve;
use crate::script::Half;
use crate::target::Target;
use num_bigint::BigUint;
use p4_ir::ir::{Instance, Program};
use p4_state::{ActionSpec, Args, EntryKey, Target as Leads, Update};

/// A register's cell, or one field of it.
pub fn register(
    target: &dyn Target,
    name: &str,
    index: u64,
    half: Option<Half>,
) -> Result<BigUint, String> {
    let cell = target.read_register(name, index)?;
    let program = target.state().map(|state| state.program());
    let second = program.and_then(|program| second_field(program, name));
    Ok(match (half, second) {
        (Some(Half::Lo), Some(width)) => cell >> width,
        (Some(Half::Hi), Some(width)) => cell & ((BigUint::from(1u8) << width) - 1u8),
        (Some(Half::Hi), None) => return Err(format!("the cells of {name} have no second field")),
        (Some(Half::Lo) | None, _) => cell,
    })
}

/// Width of the second field of a register's cells.
fn second_field(program: &Program, name: &str) -> Option<u32> {
    let is_register = |instance: &&Instance| instance.extern_type.eq_ignore_ascii_case("register");
    let registers: Vec<&Instance> = program.instances.iter().filter(is_register).collect();
    let names = registers.iter().map(|instance| &*instance.name);
    let at = resolve::find("register", name, names).ok()?;
    let leaves = &registers[at].types.first()?.leaves;
    leaves.get(1).map(|leaf| leaf.1)
}

/// The program, if it is one for TNA.
fn tna(target: &dyn Target) -> Option<&Program> {
    let program = target.state()?.program();
    (&*program.package == "Switch").then_some(program)
}

/// A program loaded into the bare chip: its registers hold zeros.
pub fn load(target: &mut dyn Target) -> Result<(), String> {
    let registers = tna(target).map(|program| {
        let instances = program.instances.iter();
        let registers = instances.filter(|own| &*own.extern_type == "Register");
        registers.map(|own| own.name.to_string()).collect()
    });
    let registers: Vec<String> = registers.unwrap_or_default();
    registers.into_iter().try_for_each(|register| {
        target.write(Update::SetRegister {
            register,
            index: None,
            value: BigUint::default(),
        })
    })
}

/// Action data that an entry of a TNA program leaves out are zeros.
pub fn fill(target: &dyn Target, action: &mut ActionSpec) {
    let Some(program) = tna(target) else { return };
    let names = program.actions.iter().map(|own| &*own.name);
    let Ok(at) = resolve::find("action", &action.name, names) else {
        // The switch says so itself.
        return;
    };
    if let Args::Named(given) = &mut action.args {
        for param in &program.actions[at].params {
            if !given.iter().any(|(name, _)| **name == *param.name) {
                given.push((param.name.to_string(), BigUint::default()));
            }
        }
    }
}

/// Gives a member of the table's action profile its action; an entry can then lead to it.
pub fn member(
    target: &mut dyn Target,
    table: &str,
    member: u32,
    action: ActionSpec,
) -> Result<Leads, String> {
    let program = target.state().map(|state| state.program());
    let profile = program.and_then(|program| {
        let table = program.tables.iter().find(|known| &*known.name == table)?;
        let (_, id) = table
            .instances
            .iter()
            .find(|own| &*own.0 == "implementation")?;
        Some(program.instances.get(*id as usize)?.name.to_string())
    });
    let profile = profile.ok_or(format!("{table} has no action profile, so no members"))?;
    let action = Some(action);
    target.write(Update::SetMember {
        profile,
        member,
        action,
    })?;
    Ok(Leads::Member(member))
}

/// The entry whose direct counter is meant, if `counter` is one: the one at that address, which is
/// its priority less one, or its place among the entries.
pub fn entry(target: &dyn Target, counter: &str, address: u64) -> Option<EntryKey> {
    let state = target.state()?;
    let table = state.direct_counter_table(counter).ok()??;
    let entries = state.entries(&table).ok()?;
    let has_priorities = entries.iter().any(|entry| entry.priority > 0);
    let mut found = (0..)
        .zip(&entries)
        .filter(|(at, entry)| match has_priorities {
            true => u64::from(entry.priority) == address + 1,
            false => *at == address,
        });
    let (_, entry) = found.next()?;
    Some(EntryKey {
        matches: entry.matches.clone(),
        priority: entry.priority,
        table,
    })
}
