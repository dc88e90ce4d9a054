//! A program made ready for TNA; switches with the same program can share it.

use super::adjusted;
use super::binding::{FOR_TM, INGRESS_FOR_DEPARSER, NOTED};
use super::calls::{self, Call};
use super::hash::{self, Algorithm};
use super::math::Math;
use super::pipes::{Pipes, PIPES};
use super::selectors::Selector;
use super::stages::Stages;
use crate::arguments::selector_keys;
use crate::error::ArchError;
use p4_ir::glue::Glue;
use p4_ir::interp::Prepared;
use p4_ir::ir::{words, CallId, ConstArg, Instance, InstanceId, Place, Program, Slot};
use p4_ir::packet_plan::Join;
use p4_ir::written::{headers_keep_fields, WRITTEN};
use p4_state::{MeterUnit, Resource};
use p4_syntax::span::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Cells that an index of up to ten bits can reach exist on the chip, whatever the program asks for.
const CELLS: u64 = 1024;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Parser,
    Control,
    Deparser,
}

/// A program made ready to run.
#[derive(Clone, Debug)]
pub struct Image {
    pub(super) prepared: Prepared,
    pub(super) calls: Vec<Call>,
    /// Of calls that join fields: the same of the words that a path tells
    pub(super) told_joins: FxHashMap<CallId, Join>,
    pub(super) pipes: Pipes,
    /// What is done between the blocks
    pub(super) stages: Stages,
    /// By block
    pub(super) roles: Vec<Role>,
    pub(super) resources: Vec<Resource>,
    /// By instance
    pub(super) hashes: Vec<Option<Algorithm>>,
    /// For each table the words of its selector keys in its key, with their widths
    pub(super) selector_keys: Vec<Vec<(usize, u32)>>,
    /// For each table its direct meter, and its direct registers and filters
    pub(super) direct: Vec<Direct>,
    /// Values that registers begin with: register, one word run for all cells
    pub(super) initial: Vec<(InstanceId, Vec<u64>)>,
    /// Values of a meter's colours: green, yellow, red; by instance
    pub(super) colors: Vec<[u64; 3]>,
    /// Cells that a register, a meter or a filter has in each pipe; by instance
    pub(super) cells: Vec<u64>,
    /// By instance
    pub(super) maths: Vec<Option<Math>>,
    /// By instance
    pub(super) selectors: Vec<Option<Selector>>,
    /// What early detection says of a packet that goes on and of one that does not; by instance
    pub(super) verdicts: Vec<[u64; 2]>,
    /// Bytes that direct counters and meters take off each packet
    pub(super) adjusted: Vec<(InstanceId, u64)>,
    /// It can be compiled, but no switch runs it.
    pub(super) is_for_tofino2: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Direct {
    pub meter: Option<InstanceId>,
    pub registers: Vec<InstanceId>,
}

impl Image {
    /// Checks that `program`, lowered with [`Tna`](super::Tna), can be executed in full.
    pub fn new(program: Arc<Program>) -> Result<Image, ArchError> {
        let mut stages = Stages::default();
        let pipes = match &*program.package {
            "Switch" | "MultiParserSwitch" => Pipes::of(&program, &mut stages),
            _ => None,
        };
        let Some(pipes) = pipes else {
            let package = &program.package;
            let message = format!("the program is made for {package}, not for TNA; its `main` must be a Switch with a Pipeline of six blocks");
            return Err(ArchError::new(message, Span::NONE));
        };
        let mut program = Arc::unwrap_or_clone(program);
        headers_keep_fields(&mut program);
        let program = Arc::new(program);
        let resources = program.instances.iter().map(resource);
        let resources = resources.collect::<Result<Vec<_>, _>>()?;
        let hashes = program.instances.iter().map(|instance| {
            let is_hash = &*instance.extern_type == "Hash";
            is_hash
                .then(|| hash::algorithm(&program, instance))
                .transpose()
        });
        let parts = parts(&program);
        let cells = program.instances.iter().zip(&resources);
        let cells = cells.map(|(instance, resource)| cells_of_pipe(instance, resource));
        let maths = program.instances.iter().map(|instance| {
            let is_unit = &*instance.extern_type == "MathUnit";
            let odd = || {
                let message = format!("{}: the arguments of a MathUnit are a function and a positive factor, or whether to invert, a shift, a scale and a table", instance.name);
                ArchError::new(message, instance.span)
            };
            is_unit.then(|| Math::of(instance).ok_or_else(odd)).transpose()
        });
        let selectors = program.instances.iter();
        let selectors: Vec<_> = selectors.map(|one| Selector::of(&program, one)).collect();
        let calls = calls::compile(&program, &selectors, |slot| written(&program, &parts, slot))?;
        let inlines = calls.iter().map(Call::inline).collect();
        Ok(Image {
            told_joins: told_joins(&calls),
            calls,
            pipes,
            stages,
            roles: program.blocks.iter().map(|own| role(&own.role)).collect(),
            hashes: hashes.collect::<Result<_, _>>()?,
            selector_keys: selector_keys(&program),
            direct: direct(&program),
            initial: initial(&program),
            colors: program.instances.iter().map(colors).collect(),
            cells: cells.collect::<Result<_, _>>()?,
            maths: maths.collect::<Result<_, _>>()?,
            selectors,
            verdicts: program.instances.iter().map(verdicts).collect(),
            adjusted: adjusted::of(&program)?,
            is_for_tofino2: is_for_tofino2(&program),
            resources,
            prepared: Prepared::new(program)?.with_inlines(inlines),
        })
    }

    /// As [`v1model::Image::change_glue`](crate::v1model::Image::change_glue).
    pub fn change_glue(&mut self, change: impl FnMut(&mut Vec<Glue>)) {
        self.stages.change(change);
    }

    pub fn program(&self) -> &Program {
        self.prepared.program()
    }

    /// The program as the interpreter and native back ends take it.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The calls of externs, by their numbers
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Cells that a register has in each pipe
    pub fn cells(&self, register: InstanceId) -> u64 {
        self.cells.get(register as usize).copied().unwrap_or(0)
    }

    /// What the cells of a register begin with, if they are not zero: one word run
    pub fn initial(&self, register: InstanceId) -> Option<&[u64]> {
        let mut values = self.initial.iter();
        values
            .find(|(id, _)| *id == register)
            .map(|(_, cell)| cell.as_slice())
    }

    /// The hash that picks a member for the groups of an action selector.
    pub(super) fn selector_hash(&self, selector: InstanceId) -> Option<&Algorithm> {
        let selector = self.program().instances.get(selector as usize)?;
        let hash = selector.args.iter().find_map(|arg| match arg {
            ConstArg::Instance(id) => self.hashes.get(*id as usize)?.as_ref(),
            _ => None,
        });
        hash
    }
}

fn told_joins(calls: &[Call]) -> FxHashMap<CallId, Join> {
    let join = |call: &Call| match call {
        Call::Mirror { header, .. } => header.as_ref().map(as_told),
        Call::Resubmit { data } => data.as_ref().map(as_told),
        _ => None,
    };
    let joins = (0..).zip(calls);
    joins
        .filter_map(|(id, call)| Some((id, join(call)?)))
        .collect()
}

/// The same fields, one after the other from the first word on.
fn as_told(join: &Join) -> Join {
    let mut next = 0;
    let places = join.places().iter().map(|place| {
        let slot = next;
        next += words(place.width);
        Place { slot, ..*place }
    });
    Join::new(places.collect())
}

fn role(name: &str) -> Role {
    match name.rsplit('.').next().unwrap_or_default() {
        "ingress" | "egress" => Role::Control,
        "ingress_deparser" | "egress_deparser" => Role::Deparser,
        _ => Role::Parser,
    }
}

/// What the storages of each pipeline begin with.
fn parts(program: &Program) -> Vec<String> {
    let for_tm = program.storages.iter().map(|storage| &*storage.key);
    let parts = for_tm.filter_map(|key| key.strip_suffix(FOR_TM));
    parts.map(str::to_string).collect()
}

/// The word that says whether the field at `slot` was written, if it is one of [`NOTED`].
fn written(program: &Program, parts: &[String], slot: Slot) -> Option<Slot> {
    let base = program.storage(WRITTEN)?.base;
    let noted = parts.iter().flat_map(|part| {
        NOTED
            .iter()
            .map(move |(storage, leaf)| (part, storage, leaf))
    });
    let at = noted.clone().position(|(part, storage, leaf)| {
        let storage = program.storage(&format!("{part}{storage}"));
        let var = storage.and_then(|storage| storage.leaf(leaf));
        var.is_some_and(|var| program.vars[var as usize].place.slot == slot)
    });
    at.map(|at| base + at as Slot)
}

fn direct(program: &Program) -> Vec<Direct> {
    let of = |table: &p4_ir::ir::Table, extern_type: &str| -> Vec<InstanceId> {
        let ids = table.instances.iter().map(|(_, id)| *id);
        let is = |id: &InstanceId| &*program.instances[*id as usize].extern_type == extern_type;
        ids.filter(is).collect()
    };
    let tables = program.tables.iter().map(|table| Direct {
        meter: of(table, "DirectMeter").first().copied(),
        registers: ["DirectRegister", "DirectLpf", "DirectWred"]
            .into_iter()
            .flat_map(|extern_type| of(table, extern_type))
            .collect(),
    });
    tables.collect()
}

fn colors(instance: &Instance) -> [u64; 3] {
    let own = match &*instance.extern_type {
        "Meter" => 2,
        "DirectMeter" => 1,
        _ => return [0; 3],
    };
    let number = |at: usize| match instance.args.get(at) {
        Some(ConstArg::Int(value)) => u64::try_from(value).ok(),
        _ => None,
    };
    match (number(own), number(own + 1), number(own + 2)) {
        (Some(red), Some(yellow), Some(green)) => [green, yellow, red],
        _ => [0, 1, 3],
    }
}

/// Registers that do not begin with zeros, with the words of a cell.
fn initial(program: &Program) -> Vec<(InstanceId, Vec<u64>)> {
    let value = |instance: &Instance| {
        let at = match &*instance.extern_type {
            "Register" => 1,
            "DirectRegister" | "RegisterParam" => 0,
            _ => return None,
        };
        let given = instance.args.get(at)?;
        let leaves = &instance.types.first()?.leaves;
        let parts: Vec<&ConstArg> = match given {
            ConstArg::List(parts) => parts.iter().collect(),
            one => vec![one],
        };
        let mut cell = Vec::new();
        for ((_, width, _), part) in leaves.iter().zip(parts) {
            let digits = match part {
                ConstArg::Int(value) => {
                    let modulus = num_bigint::BigInt::from(1) << *width;
                    let value = ((value % &modulus) + &modulus) % &modulus;
                    value.magnitude().to_u64_digits()
                }
                ConstArg::Bool(value) => vec![u64::from(*value)],
                _ => Vec::new(),
            };
            let n = words(*width) as usize;
            cell.extend(digits.into_iter().chain(std::iter::repeat(0)).take(n));
        }
        cell.iter().any(|word| *word != 0).then_some(cell)
    };
    let instances = (0..).zip(&program.instances);
    instances
        .filter_map(|(id, instance)| Some((id, value(instance)?)))
        .collect()
}

fn size(instance: &Instance, index_type: Option<usize>) -> Result<u64, ArchError> {
    let size = match instance.args.first() {
        Some(ConstArg::Int(size)) => u64::try_from(size).ok(),
        _ => None,
    };
    let size = size.ok_or_else(|| {
        let message = format!("{} needs a size known at compile time", instance.name);
        ArchError::new(message, instance.span)
    })?;
    let index = index_type.and_then(|at| instance.types.get(at)?.leaves.first());
    let reach = index.map_or(0, |leaf| 1u64.checked_shl(leaf.1).unwrap_or(u64::MAX));
    Ok(size.max(reach.min(CELLS)))
}

/// What early detection says: to go on, and to drop.
fn verdicts(instance: &Instance) -> [u64; 2] {
    let first = match &*instance.extern_type {
        "Wred" => 1,
        "DirectWred" => 0,
        _ => return [0; 2],
    };
    let number = |at: usize| match instance.args.get(at) {
        Some(ConstArg::Int(value)) => u64::try_from(value).unwrap_or(0),
        _ => 0,
    };
    [number(first + 1), number(first)]
}

/// What each pipe has of its own stands one after the other.
fn cells_of_pipe(instance: &Instance, resource: &Resource) -> Result<u64, ArchError> {
    if matches!(&*instance.extern_type, "Lpf" | "Wred") {
        return size(instance, Some(1));
    }
    Ok(match resource {
        Resource::Register { size, .. } | Resource::Meter { size, .. } => size / PIPES as u64,
        Resource::Counter { size } => *size,
        _ => 0,
    })
}

fn unit(instance: &Instance, at: usize) -> MeterUnit {
    match instance.args.get(at) {
        Some(ConstArg::Member(member)) if &**member == "BYTES" => MeterUnit::Bytes,
        _ => MeterUnit::Packets,
    }
}

fn resource(instance: &Instance) -> Result<Resource, ArchError> {
    let widths = || {
        let shape = instance.types.first();
        let leaves = shape
            .map(|shape| shape.leaves.as_slice())
            .unwrap_or_default();
        leaves.iter().map(|leaf| leaf.1).collect()
    };
    let profile_size = |instance: &Instance| match instance.args.first() {
        Some(ConstArg::Int(size)) => u64::try_from(size).ok(),
        _ => None,
    };
    Ok(match &*instance.extern_type {
        "Counter" => Resource::Counter {
            size: size(instance, Some(1))?,
        },
        "DirectCounter" => Resource::DirectCounter,
        "Meter" => Resource::Meter {
            size: size(instance, Some(0))?.saturating_mul(PIPES as u64),
            unit: unit(instance, 1),
        },
        "DirectMeter" => Resource::DirectMeter {
            unit: unit(instance, 0),
        },
        "Register" => Resource::Register {
            size: size(instance, Some(1))?.saturating_mul(PIPES as u64),
            widths: widths(),
        },
        "RegisterParam" => Resource::Register {
            size: PIPES as u64,
            widths: widths(),
        },
        "ActionProfile" => Resource::Profile {
            size: profile_size(instance),
            selector: false,
        },
        "ActionSelector" => Resource::Profile {
            size: profile_size(instance),
            selector: true,
        },
        "DirectRegister"
        | "RegisterAction"
        | "DirectRegisterAction"
        | "SelectorAction"
        | "Hash"
        | "CRCPolynomial"
        | "Random"
        | "Lpf"
        | "DirectLpf"
        | "Wred"
        | "DirectWred"
        | "MathUnit"
        | "Checksum"
        | "ParserCounter"
        | "ParserPriority"
        // How the chip finds an entry quickly is nothing that a packet could notice.
        | "Atcam"
        | "Alpm"
        | "Mirror"
        | "Resubmit"
        | "Pktgen"
        | "Digest" => Resource::None,
        other => {
            let message = format!("{}: the extern {other} is not executed", instance.name);
            return Err(ArchError::new(message, instance.span));
        }
    })
}

/// Whether the metadata are those of t2na.p4. The packages of the two chips have the same names.
fn is_for_tofino2(program: &Program) -> bool {
    let storages = program.storages.iter();
    let mut deparsers = storages.filter(|own| own.key.ends_with(INGRESS_FOR_DEPARSER));
    deparsers.any(|own| {
        own.leaves
            .iter()
            .any(|(name, _)| &**name == "mirror_io_select")
    })
}
