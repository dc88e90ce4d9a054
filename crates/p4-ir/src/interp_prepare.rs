//! A program checked and made ready for the interpreter.

use std::fmt;
use std::sync::Arc;

use crate::interp_access::{accesses, Access, Bad};
use crate::ir::{
    words, ArgValue, CallId, LayoutId, Op, Pc, Place, Program, Slot, TableId, ValueKind,
};
use crate::native::Inline;
use crate::packet_plan::Plan;

/// A program whose every slot, jump and index is in range, with the copy plans of its headers.
#[derive(Clone, Debug)]
pub struct Prepared {
    program: Arc<Program>,
    plans: Vec<Plan>,
    layout_words: Vec<usize>,
    tables: Vec<TablePlan>,
    value_set_words: Vec<usize>,
    /// For each slot of the frame the index of the variable in it, or [`NO_VAR`]
    var_at: Vec<u32>,
    /// For each call what native code may do instead
    inlines: Vec<Option<Inline>>,
}

/// Marks slots that hold no named variable.
pub const NO_VAR: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct TablePlan {
    pub key: Slot,
    pub key_words: u32,
    pub hit: Slot,
    pub chosen: Slot,
    pub actions: Vec<ActionPlan>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionPlan {
    pub entry: Pc,
    /// The parameters' words, one after the other
    pub slot: Slot,
    pub words: u32,
}

/// A program that cannot be run: a mistake of whoever made it, never of the P4 source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The instruction at fault, if it is one
    pub pc: Option<Pc>,
    pub what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pc {
            Some(pc) => write!(f, "instruction {pc} is not well formed: {}", self.what),
            None => write!(f, "the program is not well formed: {}", self.what),
        }
    }
}

impl std::error::Error for Malformed {}

impl Prepared {
    /// Checks `program` and works out what the interpreter needs.
    pub fn new(program: Arc<Program>) -> Result<Prepared, Malformed> {
        check_frame(&program)?;
        check_layouts(&program)?;
        for (pc, op) in program.code.iter().enumerate() {
            check_op(&program, op).map_err(|what| Malformed {
                pc: Some(pc as Pc),
                what,
            })?;
        }
        check_places(&program)?;
        let tables = program.tables.iter().map(|table| TablePlan {
            key: table.key,
            key_words: table.key_words,
            hit: table.hit,
            chosen: table.chosen,
            actions: table
                .actions
                .iter()
                .map(|action| action_plan(&program, action.action))
                .collect(),
        });
        let value_sets = program.value_sets.iter().map(|set| {
            set.fields
                .iter()
                .map(|field| words(field.place.width) as usize)
                .sum()
        });
        Ok(Prepared {
            plans: program.layouts.iter().map(Plan::new).collect(),
            layout_words: program
                .layouts
                .iter()
                .map(|layout| layout.words as usize)
                .collect(),
            tables: tables.collect(),
            value_set_words: value_sets.collect(),
            var_at: var_at(&program),
            inlines: Vec::new(),
            program,
        })
    }

    /// With what native code may do instead of each call, by the architecture's leave.
    pub fn with_inlines(mut self, inlines: Vec<Option<Inline>>) -> Prepared {
        self.inlines = inlines;
        self
    }

    /// What native code may do instead of `call`.
    pub fn inline(&self, call: CallId) -> Option<&Inline> {
        self.inlines.get(call as usize)?.as_ref()
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, to be shared.
    pub fn share(&self) -> Arc<Program> {
        Arc::clone(&self.program)
    }

    #[inline(always)]
    pub(crate) fn code(&self) -> &[Op] {
        &self.program.code
    }

    /// The copy plan of a layout.
    #[inline(always)]
    pub fn plan(&self, layout: LayoutId) -> &Plan {
        &self.plans[layout as usize]
    }

    #[inline(always)]
    pub(crate) fn layout_words(&self, layout: LayoutId) -> usize {
        self.layout_words[layout as usize]
    }

    #[inline(always)]
    pub(crate) fn table(&self, table: TableId) -> &TablePlan {
        &self.tables[table as usize]
    }

    #[inline(always)]
    pub(crate) fn value_set_words(&self, set: u32) -> usize {
        self.value_set_words[set as usize]
    }

    /// The index in [`Program::vars`] of the variable that `slot` belongs to.
    pub fn var_at(&self, slot: Slot) -> Option<u32> {
        self.var_at
            .get(slot as usize)
            .copied()
            .filter(|var| *var != NO_VAR)
    }

    /// The words of the arguments of `call` that the extern may read; leaves of a list in order.
    pub(crate) fn argument_words(&self, call: CallId, frame: &[u64]) -> Vec<Vec<u64>> {
        let words_of = |place: &Place| frame[place.slot as usize..][..place_words(place)].to_vec();
        let call = &self.program.calls[call as usize];
        call.args
            .iter()
            .map(|arg| match &arg.value {
                ArgValue::Scalar(place) => words_of(place),
                ArgValue::List(leaves) => {
                    leaves.iter().flat_map(|leaf| words_of(&leaf.0)).collect()
                }
                ArgValue::String(_) | ArgValue::Instance(_) | ArgValue::Missing => Vec::new(),
            })
            .collect()
    }
}

/// Frame words of the value at `place`.
pub fn place_words(place: &Place) -> usize {
    words(place.width) as usize + usize::from(place.kind == ValueKind::Varbit)
}

fn action_plan(program: &Program, action: u32) -> ActionPlan {
    let action = &program.actions[action as usize];
    ActionPlan {
        entry: action.entry,
        slot: action.params.first().map_or(0, |param| param.place.slot),
        words: action
            .params
            .iter()
            .map(|param| words(param.place.width))
            .sum(),
    }
}

fn var_at(program: &Program) -> Vec<u32> {
    let mut at = vec![NO_VAR; program.frame_words as usize];
    for (index, var) in program.vars.iter().enumerate() {
        let slots = &mut at[var.place.slot as usize..][..place_words(&var.place)];
        slots.fill(index as u32);
    }
    at
}

fn malformed(what: impl Into<String>) -> Malformed {
    Malformed {
        pc: None,
        what: what.into(),
    }
}

/// Words of frame that a program may use: 32 MiB per packet under way.
const MAX_FRAME: u32 = 1 << 22;

fn check_frame(program: &Program) -> Result<(), Malformed> {
    if program.frame_words > MAX_FRAME {
        let (words, max) = (program.frame_words, MAX_FRAME);
        return Err(malformed(format!(
            "it needs {words} words per packet and {max} are allowed"
        )));
    }
    let constants = program.constants.len() as u64;
    if u64::from(program.constant_base) + constants != u64::from(program.frame_words) {
        return Err(malformed("the constants do not end where the frame ends"));
    }
    if program.code.len() != program.spans.len() || program.code.len() >= Pc::MAX as usize {
        return Err(malformed("code and spans differ in length"));
    }
    Ok(())
}

fn check_layouts(program: &Program) -> Result<(), Malformed> {
    for layout in &program.layouts {
        let end = |field: &crate::ir::FieldLayout| {
            u64::from(field.offset) + u64::from(words(field.width)) + u64::from(field.varbit)
        };
        let fits = layout
            .fields
            .iter()
            .all(|field| field.offset > 0 && end(field) <= layout.words.into());
        let fixed = layout
            .fields
            .iter()
            .filter(|field| !field.varbit)
            .map(|f| u64::from(f.width))
            .sum();
        let one_varbit = layout.fields.iter().filter(|field| field.varbit).count() <= 1;
        if !fits || layout.words == 0 || u64::from(layout.fixed_bits) != fixed || !one_varbit {
            return Err(malformed(format!(
                "the layout of {} does not add up",
                layout.name
            )));
        }
    }
    Ok(())
}

fn check_op(program: &Program, op: &Op) -> Result<(), String> {
    let mut problem = None;
    accesses(program, op, &mut |access| {
        if problem.is_none() {
            problem = check_access(program, access);
        }
    })
    .map_err(|Bad(what)| what.to_string())?;
    problem.map_or(Ok(()), Err)
}

fn check_access(program: &Program, access: Access) -> Option<String> {
    let (slot, n, limit) = match access {
        Access::Read { slot, n } => (slot, n, program.frame_words),
        Access::Write { slot, n } => (slot, n, program.constant_base),
        Access::Jump(pc) if (pc as usize) < program.code.len() => return None,
        Access::Jump(pc) => return Some(format!("it jumps to {pc}, behind the code")),
    };
    let fits = u64::from(slot) + u64::from(n) <= u64::from(limit);
    (!fits).then(|| format!("it uses {n} words at {slot}, beyond {limit}"))
}

fn check_places(program: &Program) -> Result<(), Malformed> {
    let fits = |place: &Place| {
        u64::from(place.slot) + place_words(place) as u64 <= u64::from(program.frame_words)
    };
    if let Some(var) = program.vars.iter().find(|var| !fits(&var.place)) {
        return Err(malformed(format!(
            "variable {} lies outside the frame",
            var.name
        )));
    }
    for action in &program.actions {
        let mut next = action.params.first().map_or(0, |param| param.place.slot);
        for param in &action.params {
            if param.place.slot != next || !fits(&param.place) {
                return Err(malformed(format!(
                    "the parameters of {} do not join",
                    action.name
                )));
            }
            next += words(param.place.width);
        }
        if action.entry as usize >= program.code.len() {
            return Err(malformed(format!("action {} has no code", action.name)));
        }
    }
    for storage in &program.storages {
        let inside =
            u64::from(storage.base) + u64::from(storage.words) <= program.constant_base.into();
        let leaves = storage
            .leaves
            .iter()
            .all(|leaf| (leaf.1 as usize) < program.vars.len());
        if !inside || !leaves {
            return Err(malformed(format!(
                "storage {} lies outside the frame",
                storage.key
            )));
        }
    }
    for table in &program.tables {
        if let Some(action) = table
            .actions
            .iter()
            .find(|a| a.action as usize >= program.actions.len())
        {
            return Err(malformed(format!(
                "{} has no action {}",
                table.name, action.action
            )));
        }
    }
    if let Some(block) = program
        .blocks
        .iter()
        .find(|b| b.entry as usize >= program.code.len())
    {
        return Err(malformed(format!("block {} has no code", block.name)));
    }
    let mut methods = program.instances.iter().flat_map(|i| &i.methods);
    if let Some(method) = methods.find(|m| m.entry as usize >= program.code.len()) {
        return Err(malformed(format!("method {} has no code", method.name)));
    }
    Ok(())
}
