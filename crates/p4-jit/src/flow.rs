//! The control flow of one native function: a routine with those it calls put in its place.
//!
//! A routine that is called from one place only, or is short, becomes part of its caller; others
//! are functions of their own. A node is a stretch of instructions that only its last one leaves.

use p4_ir::ir::{Op, Pc, Program, Slot, TableId};
use p4_ir::{accesses, Access};
use std::collections::HashMap;

/// Index in [`Flow::nodes`].
pub(crate) type NodeId = usize;

/// Routines of so many instructions are copied to wherever they are called.
const SHORT: usize = 12;
/// Instructions in one function, copies counted.
const MAX_INSTRUCTIONS: usize = 60_000;
/// Routines within each other, and functions that call each other.
pub(crate) const MAX_DEPTH: usize = 64;

/// Why a program stays with the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

/// A way from one node to another. Going back costs fuel, as in the interpreter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub to: NodeId,
    pub cost: u64,
}

/// What a call leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee {
    /// Code in this function
    Node(NodeId),
    /// The function of the routine at this instruction
    Function(Pc),
}

#[derive(Clone, Debug)]
pub(crate) enum End {
    /// On to another node, for nothing
    Next(NodeId),
    Jump(Edge),
    Branch {
        condition: Slot,
        /// Jumps if the condition is zero.
        if_not: bool,
        taken: Edge,
        next: NodeId,
    },
    Switch {
        value: Slot,
        cases: Vec<(u64, Edge)>,
        default: Edge,
    },
    Call {
        callee: Callee,
        next: NodeId,
    },
    Apply {
        table: TableId,
        actions: Vec<Callee>,
        next: NodeId,
    },
    Return,
    Reject {
        err: Slot,
    },
    Trap(Pc),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Instructions `first..plain` do not jump; what comes then is `end`.
    pub first: Pc,
    pub plain: Pc,
    pub end: End,
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// The function begins with the first.
    pub nodes: Vec<Node>,
}

/// What is known of all routines of a program.
pub(crate) struct Routines<'a> {
    program: &'a Program,
    /// Whether a node begins here
    leaders: Vec<bool>,
    /// Places that call each routine
    callers: HashMap<Pc, usize>,
}

impl<'a> Routines<'a> {
    pub fn new(program: &'a Program) -> Routines<'a> {
        let mut leaders = vec![false; program.code.len() + 1];
        let mut callers: HashMap<Pc, usize> = HashMap::new();
        let mut called = |pc: Pc| *callers.entry(pc).or_default() += 1;
        for (pc, op) in program.code.iter().enumerate() {
            // The program has been checked, so this finds nothing wrong.
            let _ = accesses(program, op, &mut |access| {
                if let Access::Jump(target) = access {
                    leaders[target as usize] = true;
                }
            });
            if is_control(op) {
                leaders[pc + 1] = true;
            }
            match *op {
                Op::Call { t } => called(t),
                Op::Apply { table } => action_entries(program, table).for_each(&mut called),
                _ => {}
            }
        }
        Routines {
            program,
            leaders,
            callers,
        }
    }

    /// The flow of the function for the routine at `entry`.
    pub fn flow(&self, entry: Pc) -> Result<Flow, Unsupported> {
        let mut builder = Builder {
            routines: self,
            places: vec![Place {
                entry,
                parent: None,
                back: None,
                depth: 0,
            }],
            nodes: Vec::new(),
            known: HashMap::new(),
            todo: Vec::new(),
            instructions: 0,
        };
        builder.node(0, entry);
        while let Some((id, place, pc)) = builder.todo.pop() {
            builder.fill(id, place, pc)?;
        }
        let nodes = builder.nodes.into_iter().flatten().collect();
        Ok(Flow { nodes })
    }

    /// Whether the routine at `entry` becomes part of its callers.
    fn is_inlined(&self, entry: Pc) -> bool {
        self.callers.get(&entry).is_none_or(|n| *n <= 1) || self.is_short(entry)
    }

    fn is_short(&self, entry: Pc) -> bool {
        let code = self.program.code.iter().skip(entry as usize);
        let straight = code.take(SHORT).take_while(|op| !is_control(op)).count();
        let end = self.program.code.get(entry as usize + straight);
        straight < SHORT && matches!(end, Some(Op::Ret))
    }
}

/// Entries of the actions of a table, in its order.
fn action_entries(program: &Program, table: TableId) -> impl Iterator<Item = Pc> + '_ {
    let actions = &program.tables[table as usize].actions;
    actions
        .iter()
        .map(|action| program.actions[action.action as usize].entry)
}

fn is_control(op: &Op) -> bool {
    matches!(
        op,
        Op::Jmp { .. }
            | Op::JmpIf { .. }
            | Op::JmpIfNot { .. }
            | Op::Switch { .. }
            | Op::Call { .. }
            | Op::Ret
            | Op::Reject { .. }
            | Op::Apply { .. }
            | Op::Trap
    )
}

/// A routine put in the place of its call.
#[derive(Clone, Copy, Debug)]
struct Place {
    entry: Pc,
    parent: Option<usize>,
    /// Where it returns to; `None` for the function itself
    back: Option<NodeId>,
    depth: usize,
}

struct Builder<'a> {
    routines: &'a Routines<'a>,
    places: Vec<Place>,
    nodes: Vec<Option<Node>>,
    known: HashMap<(usize, Pc), NodeId>,
    todo: Vec<(NodeId, usize, Pc)>,
    instructions: usize,
}

impl Builder<'_> {
    /// The node that begins at `pc` in `place`.
    fn node(&mut self, place: usize, pc: Pc) -> NodeId {
        if let Some(id) = self.known.get(&(place, pc)) {
            return *id;
        }
        let id = self.nodes.len();
        self.nodes.push(None);
        self.known.insert((place, pc), id);
        self.todo.push((id, place, pc));
        id
    }

    fn fill(&mut self, id: NodeId, place: usize, first: Pc) -> Result<(), Unsupported> {
        let program = self.routines.program;
        let mut plain = first;
        let end = loop {
            let Some(op) = program.code.get(plain as usize) else {
                break End::Trap(plain);
            };
            self.instructions += 1;
            if is_control(op) {
                break self.end(place, plain, op)?;
            }
            plain += 1;
            if self.routines.leaders[plain as usize] {
                break End::Next(self.node(place, plain));
            }
        };
        if self.instructions > MAX_INSTRUCTIONS {
            let message = format!("a block has more than {MAX_INSTRUCTIONS} instructions");
            return Err(Unsupported(message));
        }
        self.nodes[id] = Some(Node { first, plain, end });
        Ok(())
    }

    fn edge(&mut self, place: usize, from: Pc, to: Pc) -> Edge {
        let cost = match to <= from {
            true => u64::from(from - to) + 1,
            false => 0,
        };
        let to = self.node(place, to);
        Edge { to, cost }
    }

    fn end(&mut self, place: usize, pc: Pc, op: &Op) -> Result<End, Unsupported> {
        let program = self.routines.program;
        Ok(match *op {
            Op::Jmp { t } => End::Jump(self.edge(place, pc, t)),
            Op::JmpIf { c, t } | Op::JmpIfNot { c, t } => End::Branch {
                condition: c,
                if_not: matches!(op, Op::JmpIfNot { .. }),
                taken: self.edge(place, pc, t),
                next: self.node(place, pc + 1),
            },
            Op::Switch { v, table } => {
                let table = &program.switches[table as usize];
                if !table.cases.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                    return Err(Unsupported("the cases of a switch are not in order".into()));
                }
                let cases = table.cases.iter();
                End::Switch {
                    value: v,
                    cases: cases.map(|(v, t)| (*v, self.edge(place, pc, *t))).collect(),
                    default: self.edge(place, pc, table.default),
                }
            }
            Op::Call { t } => {
                let next = self.node(place, pc + 1);
                let callee = self.callee(place, t, next)?;
                End::Call { callee, next }
            }
            Op::Apply { table } => {
                let next = self.node(place, pc + 1);
                let entries: Vec<Pc> = action_entries(program, table).collect();
                let callees = entries.iter().map(|entry| self.callee(place, *entry, next));
                let actions = callees.collect::<Result<_, _>>()?;
                End::Apply {
                    table,
                    actions,
                    next,
                }
            }
            Op::Ret => match self.places[place].back {
                Some(node) => End::Next(node),
                None => End::Return,
            },
            Op::Reject { err } => End::Reject { err },
            _ => End::Trap(pc),
        })
    }

    fn callee(&mut self, place: usize, entry: Pc, back: NodeId) -> Result<Callee, Unsupported> {
        if !self.routines.is_inlined(entry) {
            return Ok(Callee::Function(entry));
        }
        let mut around = Some(place);
        while let Some(place) = around {
            if self.places[place].entry == entry {
                return Err(Unsupported("a routine calls itself".into()));
            }
            around = self.places[place].parent;
        }
        let depth = self.places[place].depth + 1;
        if depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} routines within each other");
            return Err(Unsupported(message));
        }
        self.places.push(Place {
            entry,
            parent: Some(place),
            back: Some(back),
            depth,
        });
        let callee = self.node(self.places.len() - 1, entry);
        Ok(Callee::Node(callee))
    }
}

impl End {
    /// The nodes that may come next, in no order.
    pub fn successors(&self) -> Vec<NodeId> {
        match self {
            End::Next(next) => vec![*next],
            End::Jump(edge) => vec![edge.to],
            End::Branch { taken, next, .. } => vec![taken.to, *next],
            End::Switch { cases, default, .. } => {
                let cases = cases.iter().map(|case| case.1.to);
                cases.chain([default.to]).collect()
            }
            End::Call { callee, next } => vec![node_of(*callee).unwrap_or(*next)],
            End::Apply { actions, next, .. } => {
                let actions = actions.iter().filter_map(|callee| node_of(*callee));
                actions.chain([*next]).collect()
            }
            End::Return | End::Reject { .. } | End::Trap(_) => Vec::new(),
        }
    }

    /// Entries of the functions that are called here.
    pub fn functions(&self) -> Vec<Pc> {
        let callees = match self {
            End::Call { callee, .. } => std::slice::from_ref(callee),
            End::Apply { actions, .. } => actions,
            _ => &[],
        };
        let function = |callee: &Callee| match callee {
            Callee::Function(entry) => Some(*entry),
            Callee::Node(_) => None,
        };
        callees.iter().filter_map(function).collect()
    }
}

fn node_of(callee: Callee) -> Option<NodeId> {
    match callee {
        Callee::Node(node) => Some(node),
        Callee::Function(_) => None,
    }
}
