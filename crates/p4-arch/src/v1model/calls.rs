//! Calls of externs, worked out once: which extern it is and where its arguments are.

use super::image::Custom;
use super::stages::asked;
use super::switch::DROP_PORT;
use crate::arguments::Arguments;
use crate::error::ArchError;
use crate::frame::Field;
use crate::hash::Algorithm;
use crate::native::{NativeCall, NativeExterns};
use p4_ir::ir::{ArgValue, ExternCall, InstanceId, Place, Program, Slot};
use p4_ir::native::{Inline, InternetChecksum, Then};
use p4_ir::packet_plan::Join;
use p4_ir::paths::Later;
use p4_ir::place_words;
use p4_syntax::ast::Name;
use std::ops::{Deref, Range};

/// A call, ready to be executed.
#[derive(Clone, Debug)]
pub enum Call {
    MarkToDrop {
        egress_spec: Option<Slot>,
        mcast_grp: Option<Slot>,
    },
    Count {
        counter: InstanceId,
        index: Slot,
    },
    /// Direct counters count by themselves on every hit.
    DirectCount,
    Meter {
        meter: InstanceId,
        index: Slot,
        result: Place,
    },
    DirectMeter {
        meter: InstanceId,
        result: Place,
    },
    RegisterRead {
        register: InstanceId,
        index: Slot,
        result: Vec<Place>,
    },
    RegisterWrite {
        register: InstanceId,
        index: Slot,
        value: Vec<Place>,
    },
    Random {
        result: Place,
        low: Slot,
        high: Slot,
    },
    Hash {
        algorithm: Algorithm,
        result: Place,
        base: Place,
        data: Join,
        max: Place,
    },
    Checksum(Checksum),
    Clone {
        session: Slot,
        list: Option<Slot>,
    },
    Resubmit {
        list: Slot,
    },
    Recirculate {
        list: Slot,
    },
    Truncate {
        length: Slot,
    },
    Digest {
        data: Vec<Place>,
    },
    /// `assert` and `assume`
    Require {
        check: Slot,
        name: &'static str,
    },
    Log {
        message: Name,
        data: Vec<Place>,
        /// `{}` without a value
        missing: usize,
    },
    /// A function that whoever made the switch brought along
    Native(NativeCall),
}

/// One of the four checksum calls.
#[derive(Clone, Debug)]
pub struct Checksum {
    pub condition: Slot,
    pub data: Join,
    pub value: Place,
    pub algorithm: Algorithm,
    pub payload: bool,
    /// Store the checksum instead of comparing it.
    pub update: bool,
}

impl Call {
    /// What native code may do instead.
    pub fn inline(&self, program: &Program, checksum_error: Option<Field>) -> Option<Inline> {
        match self {
            Call::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                let spec = egress_spec.map(|slot| (slot, DROP_PORT));
                let stores = spec.into_iter().chain(mcast_grp.map(|slot| (slot, 0)));
                Some(Inline::Store(stores.collect()))
            }
            Call::DirectCount => Some(Inline::Store(Vec::new())),
            Call::Checksum(own) => {
                let then = match own.update {
                    true => Then::Store,
                    false => Then::Compare(checksum_error.map(Field::slot)),
                };
                let is_internet = own.algorithm == Algorithm::Csum16 && !own.payload;
                let sum = is_internet.then(|| {
                    let condition = Some(own.condition);
                    InternetChecksum::new(condition, own.data.places(), &own.value, then)
                });
                let sum = sum.flatten().map(Inline::Checksum);
                sum.or(Some(Inline::Unless(own.condition)))
            }
            Call::Count { index, .. } => Some(Inline::Later(Later {
                words: vec![*index],
                list: None,
                asks: None,
            })),
            Call::Clone { session, list } => Some(Inline::Later(Later {
                words: vec![*session],
                list: *list,
                asks: Some(asked::CLONE),
            })),
            Call::Resubmit { list } => later_with(*list, asked::RESUBMIT),
            Call::Recirculate { list } => later_with(*list, asked::RECIRCULATE),
            Call::Hash {
                algorithm: Algorithm::Csum16,
                result,
                base,
                data,
                max,
            } if is_whole(program, base, max) => {
                let sum = InternetChecksum::new(None, data.places(), result, Then::Store);
                Some(sum.map_or(Inline::Pure, Inline::Checksum))
            }
            Call::Hash { algorithm, .. } if *algorithm != Algorithm::Random => Some(Inline::Pure),
            Call::Meter { .. }
            | Call::DirectMeter { .. }
            | Call::RegisterRead { .. }
            | Call::RegisterWrite { .. }
            | Call::Random { .. }
            | Call::Hash { .. } => Some(Inline::Undoable),
            Call::Truncate { length } => Some(Inline::Cut(*length)),
            Call::Digest { data } => Some(Inline::Later(Later {
                words: data.iter().flat_map(slots).collect(),
                list: None,
                asks: Some(asked::DIGEST),
            })),
            Call::Require { .. } | Call::Log { .. } | Call::Native(_) => None,
        }
    }
}

/// Whether `base + sum % max` is always the sum of 16 bits itself.
fn is_whole(program: &Program, base: &Place, max: &Place) -> bool {
    let constant = |place: &Place| program.constant(place.slot).filter(|_| place.width <= 64);
    constant(base) == Some(0) && constant(max).is_some_and(|max| max > 0xffff)
}

/// The words of a value.
pub(super) fn slots(place: &Place) -> Range<Slot> {
    place.slot..place.slot + place_words(place) as Slot
}

/// A request that is a list of fields alone.
fn later_with(list: Slot, asks: u8) -> Option<Inline> {
    Some(Inline::Later(Later {
        words: Vec::new(),
        list: Some(list),
        asks: Some(asks),
    }))
}

/// All calls of a program, or the first that cannot be executed.
pub(crate) fn compile(
    program: &Program,
    customs: &[Custom],
    natives: &NativeExterns,
) -> Result<Vec<Call>, ArchError> {
    program
        .calls
        .iter()
        .map(|call| {
            let arguments = Arguments { program, call };
            let reader = Reader { customs, arguments };
            match natives.prepare(call).filter(|_| !reader.is_known()) {
                Some(native) => Ok(Call::Native(native)),
                None => reader.compile(),
            }
        })
        .collect()
}

/// The name of the hash algorithm of a call of `hash` or of a checksum.
pub(crate) fn algorithm_name<'a>(program: &'a Program, call: &'a ExternCall) -> Option<&'a str> {
    let at = if &*call.name == "hash" { 1 } else { 3 };
    Arguments { program, call }.member(at).ok()
}

const V1MODEL_FUNCTIONS: &[&str] = &[
    "random",
    "digest",
    "mark_to_drop",
    "hash",
    "verify_checksum",
    "update_checksum",
    "verify_checksum_with_payload",
    "update_checksum_with_payload",
    "clone",
    "clone3",
    "clone_preserving_field_list",
    "resubmit",
    "resubmit_preserving_field_list",
    "recirculate",
    "recirculate_preserving_field_list",
    "truncate",
    "assert",
    "assume",
    "log_msg",
];

/// The type of a call of `clone`, if it is a constant.
pub(crate) fn clone_type<'a>(program: &'a Program, call: &'a ExternCall) -> Option<&'a str> {
    Arguments { program, call }.member(0).ok()
}

struct Reader<'a> {
    customs: &'a [Custom],
    arguments: Arguments<'a>,
}

impl<'a> Deref for Reader<'a> {
    type Target = Arguments<'a>;

    fn deref(&self) -> &Arguments<'a> {
        &self.arguments
    }
}

impl<'a> Reader<'a> {
    fn compile(&self) -> Result<Call, ArchError> {
        Ok(match &*self.call.name {
            "mark_to_drop" => self.mark_to_drop(),
            "counter.count" => Call::Count {
                counter: self.instance()?,
                index: self.slot(0)?,
            },
            "direct_counter.count" => Call::DirectCount,
            "meter.execute_meter" => Call::Meter {
                meter: self.instance()?,
                index: self.slot(0)?,
                result: self.scalar(1)?,
            },
            "direct_meter.read" => Call::DirectMeter {
                meter: self.instance()?,
                result: self.scalar(0)?,
            },
            "register.read" => Call::RegisterRead {
                register: self.instance()?,
                index: self.slot(1)?,
                result: self.places(0)?,
            },
            "register.write" => Call::RegisterWrite {
                register: self.instance()?,
                index: self.slot(0)?,
                value: self.places(1)?,
            },
            "random" => {
                let result = self.scalar(0)?;
                if result.width > 64 {
                    return Err(self.error("random gives at most 64 bits"));
                }
                Call::Random {
                    result,
                    low: self.slot(1)?,
                    high: self.slot(2)?,
                }
            }
            "hash" => Call::Hash {
                result: self.scalar(0)?,
                algorithm: self.algorithm(1)?,
                base: self.scalar(2)?,
                data: Join::new(self.places(3)?),
                max: self.scalar(4)?,
            },
            "verify_checksum" => self.checksum(false, false)?,
            "update_checksum" => self.checksum(true, false)?,
            "verify_checksum_with_payload" => self.checksum(false, true)?,
            "update_checksum_with_payload" => self.checksum(true, true)?,
            "clone" => self.clone_call(None)?,
            "clone_preserving_field_list" => self.clone_call(Some(self.slot(2)?))?,
            "resubmit_preserving_field_list" => Call::Resubmit {
                list: self.slot(0)?,
            },
            "recirculate_preserving_field_list" => Call::Recirculate {
                list: self.slot(0)?,
            },
            "truncate" => Call::Truncate {
                length: self.slot(0)?,
            },
            "digest" => Call::Digest {
                data: self.places(1)?,
            },
            "assert" => Call::Require {
                check: self.slot(0)?,
                name: "assert",
            },
            "assume" => Call::Require {
                check: self.slot(0)?,
                name: "assume",
            },
            "log_msg" => {
                let (message, data) = (self.text(0)?, self.optional_places(1)?);
                let missing = message.matches("{}").count().saturating_sub(data.len());
                Call::Log {
                    message,
                    data,
                    missing,
                }
            }
            "clone3" | "resubmit" | "recirculate" => {
                let message = format!(
                    "{0} with a list of fields is not executed; use {1}_preserving_field_list",
                    self.call.name,
                    self.call.name.trim_end_matches('3')
                );
                return Err(ArchError::new(message, self.call.span));
            }
            other => return Err(self.error(&format!("the extern {other} is not executed"))),
        })
    }

    /// Whether v1model.p4 itself declares the function.
    fn is_known(&self) -> bool {
        V1MODEL_FUNCTIONS.contains(&&*self.call.name)
    }

    fn algorithm(&self, at: usize) -> Result<Algorithm, ArchError> {
        let member = self.member(at)?;
        if member.ends_with("_custom") {
            let mut customs = self.customs.iter();
            if let Some(index) = customs.position(|custom| custom.source == self.call.source) {
                return Ok(Algorithm::Custom(index as u32));
            }
        }
        Algorithm::named(member).ok_or_else(|| {
            self.error(&format!(
                "the hash algorithm {member} is not executed; use crc32 or another"
            ))
        })
    }

    /// The argument is standard_metadata as a whole: its leaves are in the order of the storage's.
    fn mark_to_drop(&self) -> Call {
        let storage = self.program.storage("standard_metadata");
        let place = |name: &str| {
            storage
                .and_then(|s| s.leaf(name))
                .map(|var| &self.program.vars[var as usize])
        };
        let given = match self.call.args.first().map(|arg| &arg.value) {
            Some(ArgValue::List(leaves)) => leaves.as_slice(),
            _ => &[],
        };
        let slot = |name: &str| {
            let own = place(name)?.place.slot;
            let leaves = storage.map(|s| s.leaves.as_slice()).unwrap_or_default();
            let at = leaves.iter().position(|leaf| &*leaf.0 == name);
            Some(
                at.and_then(|at| given.get(at))
                    .map_or(own, |leaf| leaf.0.slot),
            )
        };
        Call::MarkToDrop {
            egress_spec: slot("egress_spec"),
            mcast_grp: slot("mcast_grp"),
        }
    }

    fn checksum(&self, update: bool, payload: bool) -> Result<Call, ArchError> {
        if self.algorithm(3)? == Algorithm::Random {
            return Err(self.error("a random number is not a checksum; use csum16 or another"));
        }
        Ok(Call::Checksum(Checksum {
            condition: self.slot(0)?,
            data: Join::new(self.places(1)?),
            value: self.scalar(2)?,
            algorithm: self.algorithm(3)?,
            payload,
            update,
        }))
    }

    fn clone_call(&self, list: Option<Slot>) -> Result<Call, ArchError> {
        Ok(Call::Clone {
            session: self.slot(1)?,
            list,
        })
    }
}
