//! Whether two programs are the same one.

use p4_ir::ir;
use p4_syntax::Span;

/// Whether the code is the same wherever in the text it comes from.
pub fn is_same_code(one: &ir::Program, other: &ir::Program) -> bool {
    // What the code is made of has no `Eq` that leaves places in the text aside.
    format!("{:?}", placeless(one)) == format!("{:?}", placeless(other))
}

/// The program without where its parts stand in the text.
fn placeless(program: &ir::Program) -> ir::Program {
    let mut program = program.clone();
    program.spans.clear();
    program
        .vars
        .iter_mut()
        .for_each(|var| var.span = Span::NONE);
    program
        .blocks
        .iter_mut()
        .for_each(|block| block.span = Span::NONE);
    program
        .states
        .iter_mut()
        .for_each(|state| state.span = Span::NONE);
    program
        .actions
        .iter_mut()
        .for_each(|action| action.span = Span::NONE);
    program
        .calls
        .iter_mut()
        .for_each(|call| call.span = Span::NONE);
    for instance in &mut program.instances {
        instance.span = Span::NONE;
        let methods = instance.methods.iter_mut();
        methods.for_each(|method| method.span = Span::NONE);
    }
    for set in &mut program.value_sets {
        set.span = Span::NONE;
        set.fields.iter_mut().for_each(|key| key.span = Span::NONE);
    }
    for table in &mut program.tables {
        table.span = Span::NONE;
        table.keys.iter_mut().for_each(|key| key.span = Span::NONE);
        table
            .entries
            .iter_mut()
            .for_each(|entry| entry.span = Span::NONE);
    }
    program
}
