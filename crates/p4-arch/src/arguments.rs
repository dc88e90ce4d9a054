//! The arguments of an extern's call, as the lowering describes them.

use crate::error::ArchError;
use p4_ir::ir::{words, ArgValue, ExternCall, InstanceId, Place, Program, Slot, ValueKind};
use p4_syntax::ast::Name;

/// For each table the words of its selector keys in its key, with their widths.
pub(crate) fn selector_keys(program: &Program) -> Vec<Vec<(usize, u32)>> {
    let keys = |table: &p4_ir::ir::Table| {
        let mut at = 0;
        let mut keys = Vec::new();
        for key in &table.keys {
            if &*key.match_kind == "selector" {
                keys.push((at, key.place.width));
            }
            at += words(key.place.width) as usize;
        }
        keys
    };
    program.tables.iter().map(keys).collect()
}

/// A call and the program it is in. Arguments are counted from 0.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    pub program: &'a Program,
    pub call: &'a ExternCall,
}

impl<'a> Arguments<'a> {
    pub fn error(&self, message: &str) -> ArchError {
        ArchError::new(message, self.call.span)
    }

    pub fn odd(&self, at: usize) -> ArchError {
        let message = format!(
            "argument {} of {} is not what the architecture declares",
            at + 1,
            self.call.name
        );
        ArchError::new(message, self.call.span)
    }

    pub fn value(&self, at: usize) -> Result<&ArgValue, ArchError> {
        self.call
            .args
            .get(at)
            .map(|arg| &arg.value)
            .ok_or_else(|| self.odd(at))
    }

    pub fn scalar(&self, at: usize) -> Result<Place, ArchError> {
        match self.value(at)? {
            ArgValue::Scalar(place) => Ok(*place),
            _ => Err(self.odd(at)),
        }
    }

    pub fn slot(&self, at: usize) -> Result<Slot, ArchError> {
        Ok(self.scalar(at)?.slot)
    }

    pub fn places(&self, at: usize) -> Result<Vec<Place>, ArchError> {
        match self.value(at)? {
            ArgValue::Scalar(place) => Ok(vec![*place]),
            ArgValue::List(leaves) => Ok(leaves.iter().map(|leaf| leaf.0).collect()),
            _ => Err(self.odd(at)),
        }
    }

    pub fn optional_places(&self, at: usize) -> Result<Vec<Place>, ArchError> {
        match self.call.args.get(at).map(|arg| &arg.value) {
            None | Some(ArgValue::Missing) => Ok(Vec::new()),
            Some(_) => self.places(at),
        }
    }

    pub fn text(&self, at: usize) -> Result<Name, ArchError> {
        match self.value(at)? {
            ArgValue::String(text) => Ok(text.clone()),
            _ => Err(self.odd(at)),
        }
    }

    pub fn instance(&self) -> Result<InstanceId, ArchError> {
        self.call
            .instance
            .ok_or_else(|| self.error("a method without an instance"))
    }

    /// The name of the enum member that argument `at` always has.
    pub fn member(&self, at: usize) -> Result<&'a str, ArchError> {
        let place = self.scalar(at)?;
        let (ValueKind::Enum(id), Some(index)) = (place.kind, self.program.constant(place.slot))
        else {
            let message = format!(
                "argument {} of {} must be a constant",
                at + 1,
                self.call.name
            );
            return Err(ArchError::new(message, self.call.span));
        };
        let members = self
            .program
            .enums
            .get(id as usize)
            .map(|info| &info.members);
        let member = members.and_then(|members| members.get(index as usize));
        member.map(|member| &*member.0).ok_or_else(|| self.odd(at))
    }
}
