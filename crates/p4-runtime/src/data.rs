//! Values of P4 types: as messages, and as the numbers of their leaves in the engine.

use crate::bytes::{number, shortest, shortest_signed, signed};
use crate::messages::{P4Data, P4DataKind, P4Header, P4StructLike};
use crate::schema::bits_of;
use crate::status::Refusal;
use num_bigint::BigUint;
use p4_info::model::{BitString, DataType, P4Info, Representation, TypeInfo};

/// Nesting of types beyond which a type is not looked into; P4 has none that refers to itself.
const DEPTH: u32 = 64;

/// The types of one program.
pub struct Types<'a> {
    info: Option<&'a TypeInfo>,
}

impl<'a> Types<'a> {
    pub fn of(info: &'a P4Info) -> Types<'a> {
        Types {
            info: info.type_info.as_ref(),
        }
    }

    /// The message of a value whose leaves are `leaves`.
    pub fn message(&self, data: &DataType, leaves: &[BigUint]) -> Result<P4Data, Refusal> {
        let mut rest = leaves;
        let message = self.to_message(data, &mut rest, DEPTH)?;
        match rest {
            [] => Ok(message),
            _ => Err(unlike()),
        }
    }

    fn to_message(
        &self,
        data: &DataType,
        rest: &mut &[BigUint],
        depth: u32,
    ) -> Result<P4Data, Refusal> {
        let depth = depth.checked_sub(1).ok_or_else(unlike)?;
        let mut take = || {
            let (first, after) = rest.split_first().ok_or_else(unlike)?;
            *rest = after;
            Ok::<BigUint, Refusal>(first.clone())
        };
        Ok(P4DataKind::into(match data {
            DataType::BitString(bits) => P4DataKind::Bitstring(string(*bits, &take()?)),
            DataType::Bool => P4DataKind::Bool(take()?.bits() > 0),
            DataType::SerializableEnum(_) => P4DataKind::EnumValue(shortest(&take()?)),
            DataType::Enum(name) => P4DataKind::Enum(self.member(name, &take()?)?),
            DataType::Error => P4DataKind::Error(self.error(&take()?)?),
            DataType::NewType(name) => match self.original(name)? {
                Some(original) => return self.to_message(original, rest, depth),
                None => P4DataKind::Bitstring(shortest(&take()?)),
            },
            DataType::Tuple(members) => {
                let members = members.iter();
                let members = members.map(|member| self.to_message(member, rest, depth));
                let members = members.collect::<Result<_, _>>()?;
                P4DataKind::Tuple(P4StructLike { members })
            }
            DataType::Struct(name) => {
                let members = self.members(name)?.iter();
                let members = members.map(|(_, member)| self.to_message(member, rest, depth));
                let members = members.collect::<Result<_, _>>()?;
                P4DataKind::Struct(P4StructLike { members })
            }
            DataType::Header(name) => {
                let fields = self.header(name)?.iter();
                let bitstrings = fields.map(|(_, bits)| {
                    let (first, after) = rest.split_first().ok_or_else(unlike)?;
                    *rest = after;
                    Ok(string(*bits, first))
                });
                P4DataKind::Header(P4Header {
                    is_valid: true,
                    bitstrings: bitstrings.collect::<Result<_, Refusal>>()?,
                })
            }
            _ => return Err(unsupported()),
        }))
    }

    /// The leaves of a value, each with its width in bits.
    pub fn leaves(&self, data: &DataType, value: &P4Data) -> Result<Vec<(BigUint, u32)>, Refusal> {
        let mut leaves = Vec::new();
        self.to_leaves(data, value, &mut leaves, DEPTH)?;
        Ok(leaves)
    }

    fn to_leaves(
        &self,
        data: &DataType,
        value: &P4Data,
        leaves: &mut Vec<(BigUint, u32)>,
        depth: u32,
    ) -> Result<(), Refusal> {
        let depth = depth.checked_sub(1).ok_or_else(unlike)?;
        match (data, value.data.as_ref()) {
            (DataType::BitString(bits), Some(P4DataKind::Bitstring(bytes))) => {
                leaves.push((bits_in(*bits, bytes)?, bits_of(*bits)));
            }
            (DataType::Bool, Some(P4DataKind::Bool(flag))) => leaves.push(((*flag).into(), 1)),
            (DataType::SerializableEnum(name), Some(P4DataKind::EnumValue(bytes))) => {
                let width = self.enum_width(name)?;
                leaves.push((bits_in(BitString::Bit(width), bytes)?, width as u32));
            }
            (DataType::NewType(name), _) => match self.original(name)? {
                Some(original) => self.to_leaves(original, value, leaves, depth)?,
                None => return Err(unsupported()),
            },
            (DataType::Tuple(members), Some(P4DataKind::Tuple(given))) => {
                same_length(members.len(), given.members.len())?;
                for (member, given) in members.iter().zip(&given.members) {
                    self.to_leaves(member, given, leaves, depth)?;
                }
            }
            (DataType::Struct(name), Some(P4DataKind::Struct(given))) => {
                let members = self.members(name)?;
                same_length(members.len(), given.members.len())?;
                for ((_, member), given) in members.iter().zip(&given.members) {
                    self.to_leaves(member, given, leaves, depth)?;
                }
            }
            (
                DataType::BitString(_)
                | DataType::Bool
                | DataType::SerializableEnum(_)
                | DataType::Tuple(_)
                | DataType::Struct(_),
                _,
            ) => return Err(unlike()),
            _ => return Err(unsupported()),
        }
        Ok(())
    }

    /// Widths of the leaves of a type, in order.
    pub fn widths(&self, data: &DataType) -> Result<Vec<u32>, Refusal> {
        let mut widths = Vec::new();
        self.add_widths(data, &mut widths, DEPTH)?;
        Ok(widths)
    }

    fn add_widths(
        &self,
        data: &DataType,
        widths: &mut Vec<u32>,
        depth: u32,
    ) -> Result<(), Refusal> {
        let depth = depth.checked_sub(1).ok_or_else(unlike)?;
        match data {
            DataType::BitString(bits) => widths.push(bits_of(*bits)),
            DataType::Bool => widths.push(1),
            DataType::SerializableEnum(name) => widths.push(self.enum_width(name)? as u32),
            DataType::NewType(name) => match self.original(name)? {
                Some(original) => self.add_widths(original, widths, depth)?,
                None => return Err(unsupported()),
            },
            DataType::Tuple(members) => {
                for member in members {
                    self.add_widths(member, widths, depth)?;
                }
            }
            DataType::Struct(name) => {
                for (_, member) in self.members(name)? {
                    self.add_widths(member, widths, depth)?;
                }
            }
            _ => return Err(unsupported()),
        }
        Ok(())
    }

    fn members(&self, name: &str) -> Result<&'a [(String, DataType)], Refusal> {
        let found = self.info.and_then(|info| info.structs.get(name));
        found.map(Vec::as_slice).ok_or_else(unlike)
    }

    fn header(&self, name: &str) -> Result<&'a [(String, BitString)], Refusal> {
        let found = self.info.and_then(|info| info.headers.get(name));
        found.map(Vec::as_slice).ok_or_else(unlike)
    }

    fn enum_width(&self, name: &str) -> Result<i32, Refusal> {
        let found = self.info.and_then(|info| info.serializable_enums.get(name));
        found.map(|spec| spec.width).ok_or_else(unlike)
    }

    /// What a new type is made of; `None` if the controller sees other numbers.
    fn original(&self, name: &str) -> Result<Option<&'a DataType>, Refusal> {
        let found = self.info.and_then(|info| info.new_types.get(name));
        match &found.ok_or_else(unlike)?.representation {
            Representation::Original(data) => Ok(Some(data)),
            Representation::Translated {
                bitwidth: Some(_), ..
            } => Ok(None),
            Representation::Translated { bitwidth: None, .. } => Err(unsupported()),
        }
    }

    fn member(&self, name: &str, index: &BigUint) -> Result<String, Refusal> {
        let members = self.info.and_then(|info| info.enums.get(name));
        named(members.map_or(&[], Vec::as_slice), index)
    }

    fn error(&self, index: &BigUint) -> Result<String, Refusal> {
        let members = self.info.and_then(|info| info.errors.as_deref());
        named(members.unwrap_or_default(), index)
    }
}

fn named(names: &[String], index: &BigUint) -> Result<String, Refusal> {
    let index = usize::try_from(index).map_err(|_| unlike())?;
    names.get(index).cloned().ok_or_else(unlike)
}

fn same_length(a: usize, b: usize) -> Result<(), Refusal> {
    match a == b {
        true => Ok(()),
        false => Err(unlike()),
    }
}

fn string(bits: BitString, value: &BigUint) -> Vec<u8> {
    match bits {
        BitString::Int(_) => shortest_signed(value, bits_of(bits)),
        BitString::Bit(_) | BitString::Varbit(_) => shortest(value),
    }
}

fn bits_in(bits: BitString, bytes: &[u8]) -> Result<BigUint, Refusal> {
    let width = bits_of(bits);
    let parsed = match bits {
        BitString::Int(_) => signed(bytes, width),
        BitString::Bit(_) | BitString::Varbit(_) => number(bytes, width),
    };
    parsed.map_err(|bad| Refusal::invalid(bad.about("the data", width)))
}

fn unlike() -> Refusal {
    Refusal::invalid("the data is not of the type that P4Info gives")
}

fn unsupported() -> Refusal {
    Refusal::unimplemented("this server does not carry values of this type")
}
