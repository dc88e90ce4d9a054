//! A program made ready for v1model; switches with the same program can share it.

use super::calls::{self, Call};
use super::fields::Standard;
use super::placement;
use super::queue::save;
use super::stages::Stages;
use crate::arguments::selector_keys;
use crate::error::ArchError;
use crate::frame::Region;
use crate::hash::Algorithm;
use crate::native::NativeExterns;
use p4_ir::glue::Glue;
use p4_ir::interp::Prepared;
use p4_ir::ir::{ConstArg, Instance, InstanceId, Pc, Program};
use p4_ir::lower::Binding;
use p4_ir::place_words;
use p4_state::{MeterUnit, Resource};
use p4_syntax::ast::NodeId;
use p4_syntax::span::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// v1model's say in lowering: headers, metadata and standard metadata are shared by all blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct V1Model;

/// The same, and the program does what p4c makes of it for bmv2; for switches with
/// [`Config::bmv2_compat`](super::Config::bmv2_compat).
#[derive(Clone, Copy, Debug, Default)]
pub struct AsBmv2;

impl Binding for AsBmv2 {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        V1Model.storage(package, block, param)
    }

    fn as_bmv2(&self) -> bool {
        true
    }
}

const HEADERS: &str = "hdr";
const METADATA: &str = "meta";
const STANDARD: &str = "standard_metadata";

impl Binding for V1Model {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        if package != "V1Switch" {
            return None;
        }
        // Parser and deparser have the packet as their first parameter.
        let param = match block {
            "p" | "dep" => param.checked_sub(1)?,
            _ => param,
        };
        [HEADERS, METADATA, STANDARD].get(param).copied()
    }
}

/// An action selector's hash and the words of its fields in the table's key.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub algorithm: Algorithm,
}

/// A program made ready to run.
#[derive(Debug)]
pub struct Image {
    pub(crate) prepared: Prepared,
    pub(crate) calls: Vec<Call>,
    pub(crate) standard: Standard,
    /// The first instructions of the blocks, in the order in which a packet meets them
    pub(crate) entries: [Pc; 6],
    /// What goes with a packet from ingress to egress
    pub(crate) carried: Vec<Region>,
    /// What a clone does not keep: all metadata
    pub(crate) metadata: Vec<Region>,
    /// The program's own metadata, which nobody gives a value before the parser runs
    pub(crate) user_metadata: Vec<Region>,
    /// The fields of each `@field_list`
    pub(crate) lists: BTreeMap<u32, Vec<Region>>,
    pub(crate) resources: Vec<Resource>,
    /// By instance
    pub(crate) selectors: Vec<Option<Selector>>,
    /// For each table the slots of its selector keys, relative to its key, with their widths
    pub(crate) selector_keys: Vec<Vec<(usize, u32)>>,
    /// CRCs whose parameters can be set
    pub(crate) customs: Vec<Custom>,
    /// A call that hashes with `HashAlgorithm.random`
    pub(crate) random_hash: Option<Span>,
    /// For each table its direct meter
    pub(crate) direct_meters: Vec<Option<InstanceId>>,
    /// What is done between the blocks: by v1model.p4's text, and by simple_switch
    stages: [Stages; 2],
}

impl Image {
    /// Checks that `program` is a v1model program that can be executed in full.
    pub fn new(program: Arc<Program>) -> Result<Image, ArchError> {
        Image::with_externs(program, &NativeExterns::default())
    }

    /// The same for a program that declares extern functions of its own; `natives` executes them.
    pub fn with_externs(
        program: Arc<Program>,
        natives: &NativeExterns,
    ) -> Result<Image, ArchError> {
        if &*program.package != "V1Switch" || program.blocks.len() != 6 {
            let message = format!(
                "the program is made for {}, not for v1model; its `main` must be a V1Switch of six blocks",
                program.package
            );
            return Err(ArchError::new(message, Span::NONE));
        }
        let resources: Result<Vec<_>, _> = program.instances.iter().map(resource).collect();
        let resources = resources?;
        let is_direct_meter = |id: &InstanceId| {
            matches!(
                resources.get(*id as usize),
                Some(Resource::DirectMeter { .. })
            )
        };
        let direct_meters = program
            .tables
            .iter()
            .map(|table| {
                table
                    .instances
                    .iter()
                    .map(|(_, id)| *id)
                    .find(is_direct_meter)
            })
            .collect();
        placement::check(&program)?;
        let entry = |block: u32| program.blocks[block as usize].entry;
        let customs = customs(&program);
        let calls = calls::compile(&program, &customs, natives)?;
        let standard = Standard::new(&program);
        let inlines = calls
            .iter()
            .map(|call| call.inline(&program, standard.checksum_error));
        let prepared = Prepared::new(Arc::clone(&program))?.with_inlines(inlines.collect());
        let mut image = Image {
            random_hash: random_hash(&program, &calls),
            calls,
            customs,
            entries: std::array::from_fn(|block| entry(block as u32)),
            standard,
            carried: regions(&program, &[HEADERS, METADATA, STANDARD]),
            metadata: regions(&program, &[METADATA, STANDARD]),
            user_metadata: regions(&program, &[METADATA]),
            lists: lists(&program),
            selectors: program
                .instances
                .iter()
                .map(selector)
                .collect::<Result<_, _>>()?,
            selector_keys: selector_keys(&program),
            direct_meters,
            resources,
            prepared,
            stages: Default::default(),
        };
        image.stages = [false, true].map(|bmv2_compat| Stages::new(&image, bmv2_compat));
        Ok(image)
    }

    /// What is done between the blocks.
    #[inline]
    pub(crate) fn stages(&self, bmv2_compat: bool) -> &Stages {
        &self.stages[usize::from(bmv2_compat)]
    }

    /// Changes what is done between the blocks, on every segment. This is all that there is of it: the
    /// interpreter, native blocks and fast paths all do what stands here.
    pub fn change_glue(&mut self, mut change: impl FnMut(&mut Vec<Glue>)) {
        for stages in &mut self.stages {
            stages.change(&mut change);
        }
    }

    /// Saves the fields of a list.
    pub(crate) fn save_list(&self, list: Option<u32>, frame: &[u64], words: &mut Vec<u64>) {
        words.clear();
        if let Some(regions) = list.and_then(|list| self.lists.get(&list)) {
            save(regions, frame, words);
        }
    }

    /// Whether the program was lowered with [`AsBmv2`].
    pub fn is_as_bmv2(&self) -> bool {
        self.program().keeps_invalid
    }

    /// Calls whose CRC can be set ([`super::Switch::set_crc`]): names and widths.
    pub fn custom_crcs(&self) -> impl Iterator<Item = (&str, u32)> {
        let customs = self.customs.iter();
        customs.map(|custom| (custom.name.as_str(), custom.width))
    }

    pub fn program(&self) -> &Program {
        self.prepared.program()
    }

    /// The program as the interpreter and native back ends take it.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// What each of the program's calls asks for, worked out.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Where the frame has the standard metadata.
    pub fn standard(&self) -> &Standard {
        &self.standard
    }

    /// First instructions of parser, checksum check, ingress, egress, checksum update and deparser
    pub fn entries(&self) -> [Pc; 6] {
        self.entries
    }

    /// What goes with a packet from ingress to egress
    pub fn carried(&self) -> &[Region] {
        &self.carried
    }

    /// All metadata, which a clone does not keep
    pub fn metadata(&self) -> &[Region] {
        &self.metadata
    }

    /// The program's own metadata
    pub fn user_metadata(&self) -> &[Region] {
        &self.user_metadata
    }

    /// The regions that a packet keeps under `@field_list(list)`
    pub fn field_list(&self, list: u32) -> &[Region] {
        self.lists.get(&list).map_or(&[], Vec::as_slice)
    }

    /// The numbers of all field lists
    pub fn field_lists(&self) -> impl Iterator<Item = u32> + '_ {
        self.lists.keys().copied()
    }
}

/// A call with a CRC whose parameters can be set
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    /// As p4c names it for bmv2
    pub name: String,
    /// Bits
    pub width: u32,
    /// Which call of the source it is
    pub source: NodeId,
}

/// The calls with custom CRCs. p4c numbers the calculations of hashes in ingress and egress, then
/// of checksums to update, then of those to verify.
fn customs(program: &Program) -> Vec<Custom> {
    let order = |name: &str| match name {
        "hash" => Some(0),
        "update_checksum" | "update_checksum_with_payload" => Some(1),
        "verify_checksum" | "verify_checksum_with_payload" => Some(2),
        _ => None,
    };
    let mut calls: Vec<_> = program
        .calls
        .iter()
        .filter_map(|call| Some((order(&call.name)?, call)))
        .collect();
    calls.sort_by_key(|(order, _)| *order);
    let mut seen = Vec::new();
    let mut customs = Vec::new();
    for (_, call) in calls {
        if seen.contains(&call.source) {
            continue;
        }
        let name = match seen.len() {
            0 => "calc".to_string(),
            n => format!("calc_{}", n - 1),
        };
        seen.push(call.source);
        let width = match calls::algorithm_name(program, call) {
            Some("crc16_custom") => 16,
            Some("crc32_custom") => 32,
            _ => continue,
        };
        let source = call.source;
        customs.push(Custom {
            name,
            width,
            source,
        });
    }
    customs
}

fn random_hash(program: &Program, calls: &[Call]) -> Option<Span> {
    let is_random = |call: &Call| {
        matches!(
            call,
            Call::Hash {
                algorithm: Algorithm::Random,
                ..
            }
        )
    };
    let index = calls.iter().position(is_random)?;
    program.calls.get(index).map(|call| call.span)
}

fn regions(program: &Program, keys: &[&str]) -> Vec<Region> {
    let storages = keys.iter().filter_map(|key| program.storage(key));
    storages
        .map(|storage| (storage.base, storage.words))
        .filter(|region| region.1 > 0)
        .collect()
}

/// The words of the fields in each field list. In a header a field needs its validity as well.
fn lists(program: &Program) -> BTreeMap<u32, Vec<Region>> {
    let mut lists: BTreeMap<u32, Vec<Region>> = BTreeMap::new();
    for storage in [METADATA, STANDARD]
        .iter()
        .filter_map(|key| program.storage(key))
    {
        for (_, var) in &storage.leaves {
            let var = &program.vars[*var as usize];
            for list in &var.field_lists {
                let fields = lists.entry(*list).or_default();
                if let Some(valid) = var.header.filter(|valid| !fields.contains(&(*valid, 1))) {
                    fields.push((valid, 1));
                }
                let region = (var.place.slot, place_words(&var.place) as u32);
                if !fields.contains(&region) {
                    fields.push(region);
                }
            }
        }
    }
    lists
}

fn size(instance: &Instance, at: usize) -> Result<u64, ArchError> {
    let size = match instance.args.get(at) {
        Some(ConstArg::Int(size)) => u64::try_from(size).ok(),
        _ => None,
    };
    size.ok_or_else(|| {
        ArchError::new(
            format!("{} needs a size known at compile time", instance.name),
            instance.span,
        )
    })
}

fn unit(instance: &Instance, at: usize) -> MeterUnit {
    match instance.args.get(at) {
        Some(ConstArg::Member(member)) if &**member == "bytes" => MeterUnit::Bytes,
        _ => MeterUnit::Packets,
    }
}

fn resource(instance: &Instance) -> Result<Resource, ArchError> {
    Ok(match &*instance.extern_type {
        "counter" => Resource::Counter {
            size: size(instance, 0)?,
        },
        "direct_counter" => Resource::DirectCounter,
        "meter" => Resource::Meter {
            size: size(instance, 0)?,
            unit: unit(instance, 1),
        },
        "direct_meter" => Resource::DirectMeter {
            unit: unit(instance, 0),
        },
        "register" => {
            let leaves = instance
                .types
                .first()
                .map(|shape| shape.leaves.as_slice())
                .unwrap_or_default();
            let widths = leaves.iter().map(|leaf| leaf.1).collect();
            Resource::Register {
                size: size(instance, 0)?,
                widths,
            }
        }
        "action_profile" => Resource::Profile {
            size: Some(size(instance, 0)?),
            selector: false,
        },
        "action_selector" => Resource::Profile {
            size: Some(size(instance, 1)?),
            selector: true,
        },
        other => {
            let message = format!("{}: the extern {other} is not executed", instance.name);
            return Err(ArchError::new(message, instance.span));
        }
    })
}

fn selector(instance: &Instance) -> Result<Option<Selector>, ArchError> {
    if &*instance.extern_type != "action_selector" {
        return Ok(None);
    }
    let name = match instance.args.first() {
        Some(ConstArg::Member(member)) => &**member,
        _ => "",
    };
    match Algorithm::named(name) {
        Some(algorithm) if algorithm != Algorithm::Random => Ok(Some(Selector { algorithm })),
        _ => {
            let message = format!(
                "{}: the hash algorithm {name} is not executed",
                instance.name
            );
            Err(ArchError::new(message, instance.span))
        }
    }
}
