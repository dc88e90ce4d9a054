//! Values, slots and exits: what all instructions are made of.

use crate::context::{apply, at, status};
use crate::flow::{Edge, NodeId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    types, AbiParam, AliasRegionData, Block, FuncRef, InstBuilder, InstructionData, MemFlagsData,
    Opcode, SigRef, Signature, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder, Variable};
use p4_ir::interp::Prepared;
use p4_ir::ir::{Pc, Program, Slot};
use std::collections::HashMap;

/// Slots whose words are at hand as values
pub(crate) type Known = HashMap<Slot, Value>;

/// Builds one function.
pub(crate) struct Emitter<'a> {
    pub builder: FunctionBuilder<'a>,
    pub program: &'a Program,
    pub prepared: &'a Prepared,
    pub context: Value,
    /// Where the frame is; `None` if its words are values only, zero until they are set
    frame: Option<Value>,
    fuel: Variable,
    /// Variables of the slots that are temporaries
    temporaries: &'a [bool],
    variables: HashMap<Slot, Variable>,
    pub known: Known,
    /// The block that each node begins with
    pub blocks: Vec<Block>,
    /// Where all that is out of fuel goes
    out_of_fuel: Option<Block>,
    pub functions: &'a HashMap<Pc, FuncRef>,
    /// Every packet's bits come in whole bytes, so headers begin at bytes.
    pub aligned: bool,
    of_frame: MemFlagsData,
    pub of_context: MemFlagsData,
    pub of_packet: MemFlagsData,
    thunk: Option<SigRef>,
    apply: Option<SigRef>,
    thunk_with_two: Option<SigRef>,
    convention: CallConv,
}

/// The signature of native functions.
pub(crate) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    let word = AbiParam::new(types::I64);
    signature.params.extend([word, word]);
    signature.returns.extend([word, word]);
    signature
}

impl<'a> Emitter<'a> {
    pub fn new(
        mut builder: FunctionBuilder<'a>,
        prepared: &'a Prepared,
        temporaries: &'a [bool],
        functions: &'a HashMap<Pc, FuncRef>,
        aligned: bool,
        nodes: usize,
    ) -> Emitter<'a> {
        let mut flags = |id: u32, description: &'static str| {
            let data = AliasRegionData {
                user_id: id,
                description: description.into(),
            };
            let region = builder.func.dfg.alias_regions.insert(data);
            MemFlagsData::new()
                .with_notrap()
                .with_alias_region(Some(region))
        };
        let (of_frame, of_context, of_packet) =
            (flags(0, "frame"), flags(1, "context"), flags(2, "packet"));
        let convention = builder.func.signature.call_conv;
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let (context, given) = (
            builder.block_params(entry)[0],
            builder.block_params(entry)[1],
        );
        let fuel = builder.declare_var(types::I64);
        builder.def_var(fuel, given);
        let blocks: Vec<Block> = (0..nodes).map(|_| builder.create_block()).collect();
        let frame = blocks.first().map(|first| {
            let flags = of_context.with_readonly();
            let frame = builder.ins().load(types::I64, flags, context, at::FRAME);
            builder.ins().jump(*first, &[]);
            frame
        });
        Emitter {
            builder,
            program: prepared.program(),
            prepared,
            context,
            frame,
            fuel,
            temporaries,
            variables: HashMap::new(),
            known: Known::new(),
            blocks,
            out_of_fuel: None,
            functions,
            aligned,
            of_frame,
            of_context,
            of_packet,
            thunk: None,
            apply: None,
            thunk_with_two: None,
            convention,
        }
    }

    pub fn ins(&mut self) -> FuncInstBuilder<'_, 'a> {
        self.builder.ins()
    }

    pub fn number(&mut self, value: u64) -> Value {
        self.ins().iconst(types::I64, value as i64)
    }

    /// The word in `slot`.
    pub fn get(&mut self, slot: Slot) -> Value {
        if let Some(constant) = self.program.constant(slot) {
            return self.number(constant);
        }
        if self.is_temporary(slot) {
            let variable = self.variable(slot);
            return self.builder.use_var(variable);
        }
        if let Some(value) = self.known.get(&slot) {
            return *value;
        }
        let flags = self.of_frame;
        let value = match self.frame {
            Some(frame) => self.ins().load(types::I64, flags, frame, offset(slot)),
            None => self.number(0),
        };
        self.known.insert(slot, value);
        value
    }

    /// Puts a word in `slot`.
    pub fn set(&mut self, slot: Slot, value: Value) {
        if self.is_temporary(slot) {
            let variable = self.variable(slot);
            self.builder.def_var(variable, value);
            return;
        }
        if let Some(frame) = self.frame {
            let flags = self.of_frame;
            self.ins().store(flags, value, frame, offset(slot));
        }
        self.known.insert(slot, value);
    }

    fn is_temporary(&self, slot: Slot) -> bool {
        self.temporaries.get(slot as usize).is_some_and(|own| *own)
    }

    fn variable(&mut self, slot: Slot) -> Variable {
        let builder = &mut self.builder;
        *self
            .variables
            .entry(slot)
            .or_insert_with(|| builder.declare_var(types::I64))
    }

    /// Copies words from one place of the frame to another apart from it.
    pub fn copy(&mut self, d: Slot, s: Slot, n: u32) {
        let Some(frame) = self.frame else {
            let values: Vec<Value> = (s..s + n).map(|slot| self.get(slot)).collect();
            return self.known.extend((d..).zip(values));
        };
        let (flags, mut at) = (self.of_frame, 0);
        while at < n {
            // Two words at a time
            let ty = if n - at >= 2 {
                types::I64X2
            } else {
                types::I64
            };
            let value = self.ins().load(ty, flags, frame, offset(s + at));
            self.ins().store(flags, value, frame, offset(d + at));
            at += ty.bytes() / 8;
        }
        self.forget(d, n);
    }

    /// Makes words of the frame zero.
    pub fn clear(&mut self, d: Slot, n: u32) {
        let zero = self.number(0);
        if let Some(frame) = self.frame {
            let flags = self.of_frame;
            if n >= 2 {
                let zeros = self.ins().splat(types::I64X2, zero);
                for at in (0..n - 1).step_by(2) {
                    self.ins().store(flags, zeros, frame, offset(d + at));
                }
            }
            if !n.is_multiple_of(2) {
                self.ins().store(flags, zero, frame, offset(d + n - 1));
            }
        }
        for slot in d..d + n {
            self.known.insert(slot, zero);
        }
    }

    /// What is in these words of the frame may have changed.
    pub fn forget(&mut self, slot: Slot, n: u32) {
        self.known.retain(|own, _| *own < slot || *own - slot >= n);
    }

    /// A word of the context.
    pub fn own(&mut self, field: i32) -> Value {
        let (flags, context) = (self.of_context, self.context);
        self.ins().load(types::I64, flags, context, field)
    }

    /// A word of the context that does not change.
    pub fn fixed(&mut self, field: i32) -> Value {
        let flags = self.of_context.with_readonly().with_can_move();
        let context = self.context;
        self.ins().load(types::I64, flags, context, field)
    }

    pub fn set_own(&mut self, field: i32, value: Value) {
        let (flags, context) = (self.of_context, self.context);
        self.ins().store(flags, value, context, field);
    }

    /// Eight bytes of the packet, the first the most significant.
    pub fn load_bytes(&mut self, address: Value, at: u32) -> Value {
        let flags = self.of_packet;
        let value = self.ins().load(types::I64, flags, address, at as i32);
        self.ins().bswap(value)
    }

    pub fn store_bytes(&mut self, value: Value, address: Value, at: u32) {
        let flags = self.of_packet;
        let value = self.ins().bswap(value);
        self.ins().store(flags, value, address, at as i32);
    }

    /// The number that a value always is, if it is one.
    pub fn constant_of(&self, value: Value) -> Option<u64> {
        let dfg = &self.builder.func.dfg;
        match dfg.insts[dfg.value_def(value).inst()?] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits() as u64),
            _ => None,
        }
    }

    /// `value & mask`, for nothing if the mask is full.
    pub fn cut(&mut self, value: Value, mask: u64) -> Value {
        match mask {
            u64::MAX => value,
            _ => self.ins().band_imm_u(value, mask as i64),
        }
    }

    /// A comparison's outcome as a word.
    pub fn widened(&mut self, bit: Value) -> Value {
        self.ins().uextend(types::I64, bit)
    }

    /// 1 if the comparison holds.
    pub fn compare(&mut self, code: IntCC, a: Value, b: Value) -> Value {
        let bit = self.ins().icmp(code, a, b);
        self.widened(bit)
    }

    /// A block that is seldom run.
    pub fn cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        block
    }

    /// Calls the thunk for a table: what was found, and where the action's words are.
    pub fn call_apply(&mut self, table: u32) -> (Value, Value) {
        self.call_for_table(apply as *const u8, table)
    }

    /// The same by another thunk.
    pub fn call_for_table(&mut self, thunk: *const u8, table: u32) -> (Value, Value) {
        let signature = match self.apply {
            Some(signature) => signature,
            None => {
                let own = signature(self.convention);
                *self.apply.insert(self.builder.import_signature(own))
            }
        };
        let address = self.number(thunk as u64);
        let args = [self.context, self.number(table.into())];
        let call = self.ins().call_indirect(signature, address, &args);
        let results = self.builder.inst_results(call);
        (results[0], results[1])
    }

    /// Copies words from outside of the frame.
    pub fn fetch(&mut self, d: Slot, from: Value, n: u32) {
        let flags = self.of_packet;
        for at in 0..n {
            let word = self.ins().load(types::I64, flags, from, offset(at));
            self.set(d + at, word);
        }
    }

    /// Calls one of the context's thunks.
    pub fn call_thunk(&mut self, thunk: *const u8, args: &[u64]) -> Value {
        let known = match args.len() {
            1 => &mut self.thunk,
            _ => &mut self.thunk_with_two,
        };
        let signature = match *known {
            Some(signature) => signature,
            None => {
                let mut signature = Signature::new(self.convention);
                let word = AbiParam::new(types::I64);
                signature.params.extend(vec![word; args.len() + 1]);
                signature.returns.push(word);
                *known.insert(self.builder.import_signature(signature))
            }
        };
        let address = self.number(thunk as u64);
        let mut values = vec![self.context];
        for arg in args {
            values.push(self.number(*arg));
        }
        let call = self.ins().call_indirect(signature, address, &values);
        self.builder.inst_results(call)[0]
    }

    /// Calls the function at `entry` and goes on if it ended well. Nothing is known afterwards.
    pub fn call_function(&mut self, entry: Pc) {
        let Some(function) = self.functions.get(&entry).copied() else {
            return self.leave(status::TRAP, u64::from(entry));
        };
        let (context, fuel) = (self.context, self.fuel());
        let call = self.ins().call(function, &[context, fuel]);
        let (ended, left) = {
            let results = self.builder.inst_results(call);
            (results[0], results[1])
        };
        self.builder.def_var(self.fuel, left);
        self.known.clear();
        let (bad, good) = (self.cold_block(), self.builder.create_block());
        self.ins().brif(ended, bad, &[], good, &[]);
        self.builder.switch_to_block(bad);
        self.leave_with(ended);
        self.builder.switch_to_block(good);
    }

    pub fn fuel(&mut self) -> Value {
        self.builder.use_var(self.fuel)
    }

    /// Takes `cost` from the fuel, or ends the run if there is less.
    pub fn pay(&mut self, cost: u64) {
        let fuel = self.fuel();
        let out = match self.out_of_fuel {
            Some(block) => block,
            None => {
                let block = self.cold_block();
                *self.out_of_fuel.insert(block)
            }
        };
        let left = self.builder.create_block();
        let few = self
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThan, fuel, cost as i64);
        self.ins().brif(few, out, &[], left, &[]);
        self.builder.switch_to_block(left);
        let rest = self.ins().iadd_imm_s(fuel, -(cost as i64));
        self.builder.def_var(self.fuel, rest);
    }

    /// The block to jump to for `edge`; one of its own if the way costs fuel.
    pub fn target(&mut self, edge: Edge) -> (Block, Option<(Block, Edge)>) {
        if edge.cost == 0 {
            return (self.block_of(edge.to), None);
        }
        let block = self.builder.create_block();
        (block, Some((block, edge)))
    }

    pub fn block_of(&self, node: NodeId) -> Block {
        self.blocks[node]
    }

    /// Fills the block of an edge that costs fuel.
    pub fn fill(&mut self, toll: Option<(Block, Edge)>) {
        if let Some((block, edge)) = toll {
            self.builder.switch_to_block(block);
            self.pay(edge.cost);
            let to = self.block_of(edge.to);
            self.ins().jump(to, &[]);
        }
    }

    pub fn leave(&mut self, status: u64, number: u64) {
        let status = self.number(status | number << 8);
        self.leave_with(status);
    }

    pub fn leave_with(&mut self, status: Value) {
        let fuel = self.fuel();
        self.ins().return_(&[status, fuel]);
    }

    /// Ends the run here if `answer` is what a thunk gives when it is over.
    pub fn unless_over(&mut self, answer: Value) {
        let (over, on) = (self.cold_block(), self.builder.create_block());
        let is_over = self.ins().icmp_imm_s(IntCC::Equal, answer, -1);
        self.ins().brif(is_over, over, &[], on, &[]);
        self.builder.switch_to_block(over);
        self.leave(status::HALTED, 0);
        self.builder.switch_to_block(on);
    }

    /// Fills the block where all that is out of fuel goes.
    pub fn finish(&mut self) {
        if let Some(block) = self.out_of_fuel {
            self.builder.switch_to_block(block);
            self.leave(status::OUT_OF_FUEL, 0);
        }
    }
}

/// The byte of a slot in the frame
pub(crate) fn offset(slot: Slot) -> i32 {
    (slot * 8) as i32
}
