//! A place to run programs: an architecture of one parser and two controls, tables that know only
//! the entries written in the program, and no externs.

use p4_ir::interp::{run, Halt, Host, Lookup, Machine, Outcome, Prepared};
use p4_ir::ir::{ConstMatch, Program, TableId, Var};
use p4_ir::lower::{lower, Binding};
use p4_ir::trace::{NoTrace, Recorder, Step, Tracer};
use std::sync::Arc;

/// `Switch(parser, control, deparser)`, whose `hdr` and `meta` are shared.
const ARCHITECTURE: &str = "
#include <core.p4>
match_kind { range }
parser Parser<H, M>(packet_in packet, out H hdr, inout M meta);
control Control<H, M>(inout H hdr, inout M meta);
control Deparser<H>(packet_out packet, in H hdr);
package Switch<H, M>(Parser<H, M> p, Control<H, M> c, Deparser<H> d);
";

struct Shared;

impl Binding for Shared {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        let first = usize::from(block != "c");
        match (package, param.checked_sub(first)?) {
            ("Switch", 0) => Some("hdr"),
            ("Switch", 1) => Some("meta"),
            _ => None,
        }
    }
}

/// Lowers `text`, put behind the architecture; panics with the diagnostics if it cannot.
pub fn compile(text: &str) -> Program {
    let whole = format!("{ARCHITECTURE}{text}");
    let parsed = p4_syntax::parse_text("test.p4", &whole);
    let checked = p4_check::check(&parsed.program);
    let mut diagnostics = parsed.diagnostics.clone();
    diagnostics.extend(checked.diagnostics.iter().cloned());
    diagnostics.retain(|d| d.severity == p4_syntax::Severity::Error);
    let shown = p4_syntax::render(&diagnostics, &parsed.sources, false);
    assert!(diagnostics.is_empty(), "{shown}");
    match lower(&checked, &Shared) {
        Ok(program) => program,
        Err(found) => panic!("{}", p4_syntax::render(&found, &parsed.sources, false)),
    }
}

/// A control in a whole program: `declarations` before it, its locals and its body.
pub fn control(declarations: &str, meta: &str, locals: &str, body: &str) -> String {
    format!(
        "{declarations}
struct meta_t {{ {meta} }}
struct headers_t {{ }}
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {{
    state start {{ transition accept; }}
}}
control MyControl(inout headers_t hdr, inout meta_t meta) {{
    {locals}
    apply {{ {body} }}
}}
control MyDeparser(packet_out packet, in headers_t hdr) {{ apply {{ }} }}
Switch(MyParser(), MyControl(), MyDeparser()) main;
"
    )
}

pub struct Bench {
    prepared: Prepared,
    pub machine: Machine,
    entries: Entries,
}

impl Bench {
    pub fn new(text: &str) -> Bench {
        let program = Arc::new(compile(text));
        assert_eq!(p4_ir::verify(&program), Ok(()));
        let prepared = Prepared::new(program.clone()).expect("a verified program");
        let machine = Machine::new(&prepared);
        Bench {
            prepared,
            machine,
            entries: Entries(program),
        }
    }

    pub fn show_undefined(&mut self, seed: u64) {
        self.machine.show_undefined(&self.prepared, seed);
    }

    pub fn program(&self) -> &Program {
        self.prepared.program()
    }

    fn leaf(&self, name: &str) -> &Var {
        let program = self.program();
        let (storage, leaf) = name.split_once('.').expect("storage.leaf");
        let storage = program.storage(storage).expect("a storage of that name");
        let index = storage.leaf(leaf);
        &program.vars[index.unwrap_or_else(|| panic!("no leaf {leaf}")) as usize]
    }

    /// The words of `meta.x` or `hdr.h.x`.
    pub fn words(&self, name: &str) -> Vec<u64> {
        let place = self.leaf(name).place;
        let n = p4_ir::place_words(&place);
        self.machine.frame[place.slot as usize..][..n].to_vec()
    }

    /// The value of a leaf of at most 64 bits.
    pub fn get(&self, name: &str) -> u64 {
        self.words(name)[0]
    }

    pub fn set(&mut self, name: &str, words: &[u64]) {
        let slot = self.leaf(name).place.slot as usize;
        self.machine.frame[slot..][..words.len()].copy_from_slice(words);
    }

    /// Ready for another packet.
    pub fn restart(&mut self) {
        self.machine.reset(&self.prepared);
    }

    pub fn load(&mut self, packet: &[u8]) {
        self.machine.packet.load(packet);
    }

    fn run_block(&mut self, index: usize) -> Outcome {
        let entry = self.program().blocks[index].entry;
        run(
            &self.prepared,
            entry,
            &mut self.machine,
            &mut self.entries,
            &mut NoTrace,
        )
    }

    pub fn parse(&mut self) -> Outcome {
        self.run_block(0)
    }

    pub fn control(&mut self) {
        assert_eq!(self.run_block(1), Outcome::Done);
    }

    /// Runs the control and gives all that happened.
    pub fn control_traced(&mut self) -> Vec<Step> {
        let entry = self.program().blocks[1].entry;
        let mut recorder = Recorder::default();
        let outcome = run(
            &self.prepared,
            entry,
            &mut self.machine,
            &mut self.entries,
            &mut recorder,
        );
        assert_eq!(outcome, Outcome::Done);
        recorder.take()
    }

    /// The bytes that the deparser emits.
    pub fn deparse(&mut self) -> Vec<u8> {
        self.machine.packet.clear_output();
        assert_eq!(self.run_block(2), Outcome::Done);
        self.machine.packet.output().to_vec()
    }

    /// Runs the code of an abstract method, as a host would; calls in it are not made.
    pub fn method(&mut self, instance: &str, name: &str, args: &[(&str, u64)]) -> (Vec<u64>, u64) {
        let program = self.entries.0.clone();
        let instance = program.instances.iter().find(|i| &*i.name == instance);
        let method = instance.and_then(|i| i.method(name)).expect("the method");
        for (param, value) in args {
            let param = method.params.iter().find(|p| &*p.name == *param);
            let place = param.expect("the parameter").places[0];
            self.machine.frame[place.slot as usize] = *value;
        }
        let outcome = run(
            &self.prepared,
            method.entry,
            &mut self.machine,
            &mut self.entries,
            &mut NoTrace,
        );
        assert_eq!(outcome, Outcome::Done);
        let outs = method.params.iter().filter(|p| p.is_out);
        let value = |place: &p4_ir::ir::Place| self.machine.frame[place.slot as usize];
        let outs = outs.map(|p| value(&p.places[0])).collect();
        (outs, method.result.first().map_or(0, value))
    }
}

/// The entries in the program, tried from top to bottom.
struct Entries(Arc<Program>);

impl Host for Entries {
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        let table = &self.0.tables[table as usize];
        let found = table.entries.iter().find(|entry| {
            let mut at = 0;
            table.keys.iter().zip(&entry.matches).all(|(part, m)| {
                let n = p4_ir::ir::words(part.place.width) as usize;
                let words = &key[at..at + n];
                at += n;
                matches(m, words)
            })
        });
        let call = found.map_or(&table.default, |entry| &entry.call);
        Lookup {
            hit: found.is_some(),
            action: call.action,
            data: &call.data,
            entry: None,
        }
    }

    fn call<T: Tracer>(&mut self, _: u32, _: &mut Machine, _: &mut T) -> Result<(), Halt> {
        Ok(())
    }

    fn in_value_set(&mut self, _: u32, _: &[u64]) -> bool {
        false
    }
}

fn matches(m: &ConstMatch, key: &[u64]) -> bool {
    match m {
        ConstMatch::Any => true,
        ConstMatch::Exact(value) => value == key,
        ConstMatch::Masked { value, mask } => {
            let mut parts = key.iter().zip(value).zip(mask);
            parts.all(|((k, v), m)| k & m == v & m)
        }
        ConstMatch::Range { low, high } => low[0] <= key[0] && key[0] <= high[0],
    }
}
