//! Calls of externs, worked out once: which extern it is and where its arguments are.

use super::hash;
use super::selectors::Selector;
use super::stages::asked;
use crate::arguments::Arguments;
use crate::error::ArchError;
use p4_ir::ir::{
    mask, words, ArgValue, ConstArg, ExternCall, InstanceId, Method, Place, Program, Slot,
    ValueKind,
};
use p4_ir::native::{CellCall, Inline, SumStep, Summands, Unpack};
use p4_ir::packet_plan::Join;
use p4_ir::paths::Later;

/// Bits of port metadata in front of a packet
pub(super) const PORT_METADATA_BITS: u32 = 64;

/// A call, ready to be executed.
#[derive(Clone, Debug)]
pub enum Call {
    Count {
        counter: InstanceId,
        index: Slot,
        adjust: Option<Slot>,
    },
    /// Direct counters count by themselves on every hit.
    DirectCount,
    Meter {
        meter: InstanceId,
        index: Slot,
        color: Option<Slot>,
        adjust: Option<Slot>,
        result: Place,
    },
    DirectMeter {
        meter: InstanceId,
        color: Option<Slot>,
        result: Place,
    },
    RegisterRead {
        register: InstanceId,
        index: Option<Slot>,
        result: Vec<Place>,
    },
    RegisterWrite {
        register: InstanceId,
        index: Option<Slot>,
        value: Vec<Place>,
        result: Vec<Place>,
    },
    DirectRead {
        register: InstanceId,
        result: Vec<Place>,
    },
    DirectWrite {
        register: InstanceId,
        value: Vec<Place>,
        result: Vec<Place>,
    },
    /// `apply` between reading a cell and writing it
    Action {
        register: InstanceId,
        index: Option<Slot>,
        apply: Apply,
        result: Vec<Place>,
    },
    DirectAction {
        register: InstanceId,
        apply: Apply,
        result: Vec<Place>,
    },
    /// The same with a bit of an action selector
    SelectorAction {
        selector: InstanceId,
        index: Slot,
        apply: Apply,
        result: Vec<Place>,
    },
    Hash {
        hash: InstanceId,
        data: Join,
        bits: usize,
        /// Fields of `data` that `@symmetric` makes a pair
        symmetric: Vec<[Place; 2]>,
        result: Place,
    },
    /// A filter that ages values, or `drop` if it decides about packets. Without an index it is the
    /// entry's that was hit.
    Filter {
        filter: InstanceId,
        input: Slot,
        index: Option<Slot>,
        drop: bool,
        result: Place,
    },
    Math {
        unit: InstanceId,
        input: Slot,
        result: Place,
    },
    Random {
        result: Place,
    },
    Extreme {
        most: bool,
        signed: bool,
        a: Place,
        b: Place,
        result: Place,
    },
    FunnelShift {
        result: Place,
        high: Slot,
        low: Slot,
        by: Slot,
    },
    /// A number known beforehand
    Known {
        value: u64,
        result: Place,
    },
    /// `invalidate`: the lowering notes it.
    Nothing,
    IsWritten {
        note: Option<Slot>,
        result: Place,
    },
    UnpackPort {
        result: Vec<Place>,
    },
    Checksum {
        checksum: InstanceId,
        sum: Sum,
    },
    /// The parser's counter; the chip has one.
    Counter(Step),
    Mirror {
        session: Slot,
        header: Option<Join>,
    },
    Resubmit {
        data: Option<Join>,
    },
    Digest {
        data: Vec<Place>,
    },
}

/// A `RegisterAction`'s method: where the cell and the result go in and out.
#[derive(Clone, Debug)]
pub struct Apply {
    pub entry: u32,
    pub value: Vec<Place>,
    pub output: Vec<Place>,
}

/// What is done with a `Checksum`.
#[derive(Clone, Debug)]
pub enum Sum {
    Add(Summands),
    Subtract(Summands),
    Verify(Place),
    Get(Place),
    Update {
        data: Summands,
        zeros_as_ones: Option<Slot>,
        result: Place,
    },
}

/// What is done with a `ParserCounter`.
#[derive(Clone, Debug)]
pub enum Step {
    Set {
        value: Place,
    },
    SetField {
        value: Place,
        max: Slot,
        rotate: Slot,
        mask: Slot,
        add: Slot,
    },
    IsZero(Place),
    IsNegative(Place),
    Increment(Slot),
    Decrement(Slot),
}

impl Call {
    /// What native code may do by itself.
    pub(super) fn inline(&self) -> Option<Inline> {
        match self {
            Call::Count { index, adjust, .. } => {
                let words = [Some(*index), *adjust].into_iter().flatten();
                later(words.collect(), None)
            }
            Call::DirectCount | Call::Nothing => Some(Inline::Store(Vec::new())),
            Call::Known { value, result } => {
                let value = value & mask(result.width);
                Some(Inline::Store(vec![(result.slot, value)]))
            }
            Call::Hash { .. }
            | Call::Math { .. }
            | Call::Extreme { .. }
            | Call::FunnelShift { .. } => Some(Inline::Pure),
            // Sums and counters of a pass begin anew with the next one.
            Call::Checksum { checksum, sum } => Some(match sum {
                Sum::Add(data) => Inline::Sum(*checksum, SumStep::Add(data.clone())),
                Sum::Subtract(data) => Inline::Sum(*checksum, SumStep::Subtract(data.clone())),
                Sum::Verify(result) => Inline::Sum(*checksum, SumStep::Verify(result.slot)),
                Sum::Get(result) => Inline::Sum(*checksum, SumStep::Get(*result)),
                Sum::Update { .. } => Inline::Pure,
            }),
            Call::Counter(_) => Some(Inline::Pure),
            Call::Meter { .. }
            | Call::DirectMeter { .. }
            | Call::RegisterRead { .. }
            | Call::RegisterWrite { .. }
            | Call::DirectRead { .. }
            | Call::Random { .. } => Some(Inline::Undoable),
            Call::DirectWrite { .. } | Call::Filter { .. } => Some(Inline::ByArguments),
            Call::Mirror { session, header } => {
                let mut words = vec![*session];
                words.extend(slots(header.as_ref().map_or(&[], Join::places))?);
                later(words, Some(asked::MIRROR))
            }
            Call::Resubmit { data } => {
                let words = slots(data.as_ref().map_or(&[], Join::places))?;
                later(words, Some(asked::RESUBMIT))
            }
            Call::Digest { data } => later(slots(data)?, Some(asked::DIGEST)),
            Call::Action {
                index: Some(index),
                apply,
                result,
                ..
            } => {
                let from = slots(&apply.output)?.into_iter();
                Some(Inline::Cell(CellCall {
                    index: *index,
                    value: slots(&apply.value)?,
                    results: from.zip(slots(result)?).collect(),
                }))
            }
            Call::UnpackPort { result } => unpack(result),
            Call::Action { .. }
            | Call::DirectAction { .. }
            | Call::SelectorAction { .. }
            | Call::IsWritten { .. } => None,
        }
    }
}

fn later(words: Vec<Slot>, asks: Option<u8>) -> Option<Inline> {
    let list = None;
    Some(Inline::Later(Later { words, list, asks }))
}

/// The words of some places; `None` if one of them has no fixed length.
fn slots(places: &[Place]) -> Option<Vec<Slot>> {
    let mut slots = Vec::new();
    for place in places {
        if place.kind == ValueKind::Varbit {
            return None;
        }
        slots.extend(place.slot..place.slot + words(place.width));
    }
    Some(slots)
}

/// A header's first place is its validity.
fn unpack(result: &[Place]) -> Option<Inline> {
    let bits: u32 = result.iter().map(|place| place.width).sum();
    let valid = (bits == PORT_METADATA_BITS + 1).then(|| result[0].slot);
    let fields = &result[usize::from(valid.is_some())..];
    let are_words = fields.iter().all(|place| place.width <= 64);
    are_words.then(|| {
        Inline::Unpack(Unpack {
            valid,
            fields: fields.iter().map(|own| (own.slot, own.width)).collect(),
            bits: PORT_METADATA_BITS,
        })
    })
}

/// All calls of a program, or the first that cannot be executed.
pub(super) fn compile(
    program: &Program,
    selectors: &[Option<Selector>],
    written: impl Fn(Slot) -> Option<Slot>,
) -> Result<Vec<Call>, ArchError> {
    let compile =
        |call: &ExternCall| Reader(Arguments { program, call }, selectors).compile(&written);
    program.calls.iter().map(compile).collect()
}

/// A call, and the program's action selectors by instance.
struct Reader<'a>(Arguments<'a>, &'a [Option<Selector>]);

impl Reader<'_> {
    fn compile(&self, written: &impl Fn(Slot) -> Option<Slot>) -> Result<Call, ArchError> {
        let args = &self.0;
        let summands = |at: usize| Ok::<_, ArchError>(Summands::new(args.places(at)?));
        let sum = |sum| {
            Ok::<_, ArchError>(Call::Checksum {
                checksum: args.instance()?,
                sum,
            })
        };
        Ok(match &*args.call.name {
            "Counter.count" => Call::Count {
                counter: args.instance()?,
                index: args.slot(0)?,
                adjust: self.named("adjust_byte_count"),
            },
            "DirectCounter.count" => Call::DirectCount,
            "Meter.execute" => Call::Meter {
                meter: args.instance()?,
                index: args.slot(0)?,
                color: self.named("color"),
                adjust: self.named("adjust_byte_count"),
                result: self.result()?,
            },
            "DirectMeter.execute" => Call::DirectMeter {
                meter: args.instance()?,
                color: self.named("color"),
                result: self.result()?,
            },
            "Register.read" => Call::RegisterRead {
                register: self.plain_register()?,
                index: Some(args.slot(0)?),
                result: args.call.result.clone(),
            },
            "RegisterParam.read" => Call::RegisterRead {
                register: args.instance()?,
                index: None,
                result: args.call.result.clone(),
            },
            "Register.write" => Call::RegisterWrite {
                register: self.plain_register()?,
                index: Some(args.slot(0)?),
                value: args.places(1)?,
                result: args.call.result.clone(),
            },
            "DirectRegister.read" => Call::DirectRead {
                register: args.instance()?,
                result: args.call.result.clone(),
            },
            "DirectRegister.write" => Call::DirectWrite {
                register: args.instance()?,
                value: args.places(0)?,
                result: args.call.result.clone(),
            },
            "RegisterAction.execute" => match self.selector_of(self.register()?) {
                Some(selector) => self.selector_action(selector)?,
                None => Call::Action {
                    register: self.register()?,
                    index: Some(args.slot(0)?),
                    apply: self.apply()?,
                    result: args.call.result.clone(),
                },
            },
            "SelectorAction.execute" => self.selector_action(self.register()?)?,
            "RegisterAction.execute_log" => Call::Action {
                register: self.register()?,
                index: None,
                apply: self.apply()?,
                result: args.call.result.clone(),
            },
            "DirectRegisterAction.execute" => Call::DirectAction {
                register: self.register()?,
                apply: self.apply()?,
                result: args.call.result.clone(),
            },
            "Hash.get" => self.hash()?,
            "Lpf.execute" | "DirectLpf.execute" | "Wred.execute" | "DirectWred.execute" => {
                let name = &*args.call.name;
                Call::Filter {
                    filter: args.instance()?,
                    input: args.slot(0)?,
                    index: (!name.starts_with("Direct"))
                        .then(|| args.slot(1))
                        .transpose()?,
                    drop: name.contains("Wred"),
                    result: self.result()?,
                }
            }
            "MathUnit.execute" => Call::Math {
                unit: args.instance()?,
                input: args.slot(0)?,
                result: self.result()?,
            },
            "Random.get" => Call::Random {
                result: self.result()?,
            },
            "max" | "min" => {
                let result = self.result()?;
                Call::Extreme {
                    most: &*args.call.name == "max",
                    signed: result.kind == ValueKind::Int,
                    a: args.scalar(0)?,
                    b: args.scalar(1)?,
                    result,
                }
            }
            "funnel_shift_right" => Call::FunnelShift {
                result: self.word(args.scalar(0)?)?,
                high: args.slot(1)?,
                low: args.slot(2)?,
                by: args.slot(3)?,
            },
            "sizeInBits" | "sizeInBytes" => {
                let bits: u32 = args.places(0)?.iter().map(|place| place.width).sum();
                let in_bytes = &*args.call.name == "sizeInBytes";
                let value = if in_bytes { bits.div_ceil(8) } else { bits };
                Call::Known {
                    value: value.into(),
                    result: self.result()?,
                }
            }
            "invalidate" | "ParserPriority.set" => Call::Nothing,
            // Of Tofino 2, whose programs no switch runs
            "Pktgen.emit" | "ParserCounter.push" | "ParserCounter.pop" => Call::Nothing,
            "is_validated" => Call::IsWritten {
                note: written(args.slot(0)?),
                result: self.result()?,
            },
            "port_metadata_unpack" => Call::UnpackPort {
                result: args.call.result.clone(),
            },
            "Checksum.add" => sum(Sum::Add(summands(0)?))?,
            "Checksum.subtract" => sum(Sum::Subtract(summands(0)?))?,
            "Checksum.verify" => sum(Sum::Verify(self.result()?))?,
            "Checksum.get" => sum(Sum::Get(self.result()?))?,
            "Checksum.subtract_all_and_deposit" => sum(Sum::Get(args.scalar(0)?))?,
            "Checksum.update" => sum(Sum::Update {
                data: summands(0)?,
                zeros_as_ones: self.named("zeros_as_ones"),
                result: self.result()?,
            })?,
            "ParserCounter.set" if args.call.args.len() > 1 => Call::Counter(Step::SetField {
                value: args.scalar(0)?,
                max: args.slot(1)?,
                rotate: args.slot(2)?,
                mask: args.slot(3)?,
                add: args.slot(4)?,
            }),
            "ParserCounter.set" => Call::Counter(Step::Set {
                value: args.scalar(0)?,
            }),
            "ParserCounter.is_zero" => Call::Counter(Step::IsZero(self.result()?)),
            "ParserCounter.is_negative" => Call::Counter(Step::IsNegative(self.result()?)),
            "ParserCounter.increment" => Call::Counter(Step::Increment(args.slot(0)?)),
            "ParserCounter.decrement" => Call::Counter(Step::Decrement(args.slot(0)?)),
            "Mirror.emit" => Call::Mirror {
                session: args.slot(0)?,
                header: self.optional_join(1)?,
            },
            "Resubmit.emit" => Call::Resubmit {
                data: self.optional_join(0)?,
            },
            "Digest.pack" => Call::Digest {
                data: args.places(0)?,
            },
            other => {
                return Err(args.error(&format!("the extern {other} is not executed")));
            }
        })
    }

    /// The slot of an argument that may be missing.
    fn named(&self, name: &str) -> Option<Slot> {
        let given = self.0.call.args.iter().find(|arg| &*arg.name == name)?;
        match given.value {
            ArgValue::Scalar(place) => Some(place.slot),
            _ => None,
        }
    }

    fn optional_join(&self, at: usize) -> Result<Option<Join>, ArchError> {
        match self.0.call.args.get(at).map(|arg| &arg.value) {
            None | Some(ArgValue::Missing) => Ok(None),
            Some(_) => Ok(Some(Join::new(self.0.places(at)?))),
        }
    }

    fn result(&self) -> Result<Place, ArchError> {
        match self.0.call.result.as_slice() {
            [place] => self.word(*place),
            _ => Err(self
                .0
                .error(&format!("{} gives a single number", self.0.call.name))),
        }
    }

    fn word(&self, place: Place) -> Result<Place, ArchError> {
        match place.width {
            ..=64 => Ok(place),
            _ => Err(self.0.error(&format!(
                "{} is executed for at most 64 bits",
                self.0.call.name
            ))),
        }
    }

    fn hash(&self) -> Result<Call, ArchError> {
        let places = self.0.places(0)?;
        let bits = places.iter().map(|place| place.width as usize).sum();
        let hash = self.0.instance()?;
        Ok(Call::Hash {
            hash,
            symmetric: hash::symmetric(self.0.program, hash, &places),
            data: Join::new(places),
            bits,
            result: self.result()?,
        })
    }

    fn selector_action(&self, selector: InstanceId) -> Result<Call, ArchError> {
        let args = &self.0;
        if args.call.args.is_empty() || matches!(args.call.args[0].value, ArgValue::Missing) {
            return Err(args.error("a SelectorAction is executed with an index only: group * places of a group + place; give it one"));
        }
        Ok(Call::SelectorAction {
            selector,
            index: args.slot(0)?,
            apply: self.apply()?,
            result: args.call.result.clone(),
        })
    }

    /// The selector whose bits a register stands for.
    fn selector_of(&self, register: InstanceId) -> Option<InstanceId> {
        let own = |one: &Option<Selector>| one.is_some_and(|one| one.register == Some(register));
        let found = self.1.iter().position(own)?;
        InstanceId::try_from(found).ok()
    }

    fn plain_register(&self) -> Result<InstanceId, ArchError> {
        let register = self.0.instance()?;
        match self.selector_of(register) {
            Some(_) => Err(self.0.error("this register holds the bits of an action selector, which only a RegisterAction reaches")),
            None => Ok(register),
        }
    }

    /// The register, or the selector, that an action was made for.
    fn register(&self) -> Result<InstanceId, ArchError> {
        let action = self.0.program.instances.get(self.0.instance()? as usize);
        match action.and_then(|action| action.args.first()) {
            Some(ConstArg::Instance(register)) => Ok(*register),
            _ => Err(self.0.error("the register of this action is not known")),
        }
    }

    fn apply(&self) -> Result<Apply, ArchError> {
        let action = self.0.program.instances.get(self.0.instance()? as usize);
        let method: Option<&Method> = action.and_then(|action| action.method("apply"));
        let method = method.ok_or_else(|| self.0.error("this action has no method apply"))?;
        let places = |at: usize| method.params.get(at).map(|param| param.places.clone());
        Ok(Apply {
            entry: method.entry,
            value: places(0).unwrap_or_default(),
            output: places(1).unwrap_or_default(),
        })
    }
}
