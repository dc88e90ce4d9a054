//! Random v1model programs that compile, each from a seed.

use std::fmt::Write;

/// SplitMix64
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `n`, which is at least 1
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Type {
    width: u32,
    signed: bool,
}

impl Type {
    fn text(self) -> String {
        let name = if self.signed { "int" } else { "bit" };
        format!("{name}<{}>", self.width)
    }
}

#[derive(Clone)]
struct Var {
    name: String,
    ty: Type,
}

const WIDTHS: &[u32] = &[
    1, 3, 7, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 80, 128, 129, 200,
];

struct Writer {
    random: Random,
    vars: Vec<Var>,
    /// Names of tables that have not been applied yet; each is applied once at most.
    tables: Vec<String>,
    actions: Vec<String>,
    /// Loop variables and the like
    fresh: usize,
    in_action: bool,
    /// Nothing that keeps packets from paths
    usual: bool,
}

/// The text of the program of `seed`; a usual one does nothing that keeps packets from paths which native
/// code knows in one piece.
pub fn program(seed: u64, usual: bool) -> String {
    let mut random = Random(seed);
    let widths: Vec<Type> = (0..6)
        .map(|_| Type {
            width: *random.pick(WIDTHS),
            signed: random.one_in(3),
        })
        .collect();
    let mut fields = String::new();
    let mut vars = Vec::new();
    for (i, ty) in widths.iter().enumerate() {
        writeln!(fields, "    {} f{i};", ty.text()).ok();
        let name = format!("hdr.h.f{i}");
        vars.push(Var { name, ty: *ty });
    }
    let total: u32 = widths.iter().map(|ty| ty.width).sum();
    // Now and then a header that does not end at a byte
    let pad = match (total % 8, random.one_in(6) && !usual) {
        (0, _) | (_, true) => String::new(),
        (odd, false) => format!("    bit<{}> pad;\n", 8 - odd),
    };
    let bit = |width| Type {
        width,
        signed: false,
    };
    for (name, width) in [
        ("hdr.k.op", 8),
        ("hdr.k.n", 8),
        ("hdr.e[0].x", 7),
        ("hdr.e[1].y", 16),
        ("hdr.u.a.x", 16),
        ("hdr.u.b.y", 40),
        ("meta.m0", 32),
        ("meta.m1", 100),
        ("sm.egress_spec", 9),
        ("sm.priority", 3),
    ] {
        let ty = bit(width);
        vars.push(Var {
            name: name.into(),
            ty,
        });
    }
    let mut locals = String::new();
    for i in 0..5 {
        let ty = Type {
            width: *random.pick(WIDTHS),
            signed: random.one_in(3),
        };
        let set = if random.one_in(3) { "" } else { " = 1" };
        writeln!(locals, "    {} v{i}{set};", ty.text()).ok();
        vars.push(Var {
            name: format!("v{i}"),
            ty,
        });
    }
    let mut writer = Writer {
        random,
        vars,
        tables: Vec::new(),
        actions: Vec::new(),
        fresh: 0,
        in_action: false,
        usual,
    };
    let parser = writer.parser();
    let declarations = writer.declarations();
    let body = writer.statements(10, 3);
    let tables = std::mem::take(&mut writer.tables);
    let rest: String = tables
        .iter()
        .map(|t| format!("        {t}.apply();\n"))
        .collect();
    let egress = writer
        .random
        .pick(if usual { &USUAL_EGRESS } else { &EGRESS });
    let egress = format!("        {egress};\n");
    let (verify, compute) = (
        checksum(&mut writer.random, "verify_checksum", usual),
        checksum(&mut writer.random, "update_checksum", usual),
    );
    format!(
        "#include <core.p4>
#include <v1model.p4>
header k_t {{ bit<8> op; bit<8> n; }}
header h_t {{
{fields}{pad}}}
header e_t {{ bit<7> x; bit<1> more; bit<16> y; }}
header v_t {{ bit<8> len; varbit<96> data; }}
header a_t {{ bit<16> x; }}
header b_t {{ bit<40> y; }}
header_union u_t {{ a_t a; b_t b; }}
struct headers {{ k_t k; h_t h; e_t[3] e; v_t v; u_t u; }}
struct metadata {{ @field_list(1) bit<32> m0; bit<100> m1; }}
bit<32> twice(in bit<32> x, inout bit<8> n) {{
    if (n == 3) {{ return x; }}
    n = n + 1;
    return x + x;
}}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
{parser}}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ {verify} }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    register<bit<64>>(16) cells;
    register<int<100>>(4) wide_cells;
    counter(8, CounterType.packets_and_bytes) counts;
    direct_counter(CounterType.packets) hits;
{locals}{declarations}    apply {{
        sm.egress_spec = 1;
{body}{rest}    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    apply {{
{egress}    }}
}}
control C(inout headers hdr, inout metadata meta) {{ apply {{ {compute} }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

/// A call of a checksum function, or nothing. The values end within bytes, and some are varbits.
fn checksum(random: &mut Random, function: &str, usual: bool) -> String {
    let condition = random.pick(&["true", "false", "hdr.h.isValid()", "hdr.v.isValid()"]);
    let values = random.pick(&[
        "{ hdr.k.op, hdr.k.n, meta.m0 }",
        "{ hdr.e[0].x, hdr.v.data, hdr.k.n }",
        "{ meta.m1, hdr.e[0].y, hdr.u.b.y }",
        "{ hdr.e[1].more, meta.m1, hdr.v.data, hdr.v.len }",
    ]);
    let value = random.pick(&["hdr.u.a.x", "hdr.e[0].y", "meta.m0"]);
    let kinds = [
        ("", "csum16"),
        ("", "csum16"),
        ("", "crc32"),
        ("_with_payload", "csum16"),
    ];
    let (payload, algorithm) = *random.pick(if usual { &kinds[..1] } else { &kinds });
    match random.one_in(4) {
        true => String::new(),
        false => format!(
            "{function}{payload}({condition}, {values}, {value}, HashAlgorithm.{algorithm});"
        ),
    }
}

/// What egress does
const EGRESS: [&str; 6] = [
    "meta.m0 = meta.m0 + 1",
    "hdr.e.push_front(1)",
    "hdr.k.n = hdr.k.n |-| 9",
    "if (sm.egress_rid == 0 && hdr.k.op == 77) clone(CloneType.E2E, 5)",
    "hdr.u.b.setValid()",
    "if (sm.checksum_error == 1) hdr.k.op = 99",
];

const USUAL_EGRESS: [&str; 6] = [
    "meta.m0 = meta.m0 + 1",
    "if (sm.instance_type == 0) recirculate_preserving_field_list(1)",
    "if (sm.instance_type == 1) recirculate_preserving_field_list(1)",
    "hdr.k.n = hdr.k.n |-| 9",
    "hdr.u.b.setValid()",
    "meta.m0 = sm.packet_length; hdr.k.n = (bit<8>)sm.egress_port",
];

/// Kinds of statements of usual programs, see [`Writer::statement`]
const USUAL: [usize; 28] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 14, 15, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26,
    28, 29,
];

impl Writer {
    fn name(&mut self, what: &str) -> String {
        self.fresh += 1;
        format!("{what}{}", self.fresh)
    }

    /// States that wander through all kinds of extraction.
    fn parser(&mut self) -> String {
        let first = *self
            .random
            .pick(&["packed", "stacked", "varied", "united", "peeked"]);
        let limit = self.random.below(14) * 8;
        let skip = *self.random.pick(&["8", "16", "3", "(bit<32>)hdr.k.n"]);
        let look = *self.random.pick(&["8", "13", "64", "90"]);
        format!(
            "    state start {{
        p.extract(hdr.k);
        transition select(hdr.k.op) {{
            0 &&& 0x3: {first};
            1 &&& 0x7: stacked;
            2..9: varied;
            10..40: united;
            50: peeked;
            60: skipped;
            default: packed;
        }}
    }}
    state packed {{ p.extract(hdr.h); transition accept; }}
    state stacked {{
        p.extract(hdr.e.next);
        transition select(hdr.e.last.more, hdr.e.lastIndex) {{
            (1, _): stacked;
            (0, 0): varied;
            default: packed;
        }}
    }}
    state varied {{
        bit<8> len = p.lookahead<bit<8>>();
        verify(len < {limit}, error.ParserInvalidArgument);
        p.extract(hdr.v, (bit<32>)len);
        transition packed;
    }}
    state united {{
        transition select(hdr.k.n[0:0]) {{ 0: left; 1: right; }}
    }}
    state left {{ p.extract(hdr.u.a); transition packed; }}
    state right {{ p.extract(hdr.u.b); transition packed; }}
    state peeked {{
        meta.m1 = (bit<100>)p.lookahead<bit<{look}>>();
        meta.m0 = p.length();
        transition packed;
    }}
    state skipped {{ p.advance({skip}); transition packed; }}
"
        )
    }

    /// Actions and tables of the ingress.
    fn declarations(&mut self) -> String {
        let mut text = String::new();
        for i in 0..4 {
            let (plain, given) = (format!("act{i}"), self.random.one_in(2));
            let all = self.vars.len();
            let width = *self.random.pick(WIDTHS);
            if given {
                let ty = Type {
                    width,
                    signed: false,
                };
                self.vars.push(Var {
                    name: "arg".into(),
                    ty,
                });
            }
            self.in_action = true;
            let body = self.statements(4, 2);
            self.in_action = false;
            self.vars.truncate(all);
            let param = if given {
                format!("bit<{width}> arg")
            } else {
                String::new()
            };
            writeln!(text, "    action {plain}({param}) {{\n{body}    }}").ok();
            let argument = match given {
                true => self.number(Type {
                    width,
                    signed: false,
                }),
                false => String::new(),
            };
            self.actions.push(format!("{plain}({argument})"));
        }
        for i in 0..3 {
            let kinds = [
                ["exact", "exact"],
                ["exact", "ternary"],
                ["lpm", "exact"],
                ["range", "ternary"],
            ];
            let kinds = *self.random.pick(&kinds);
            let second = self.random.one_in(2);
            let mut keys = format!("hdr.k.op: {} @name(\"op\"); ", kinds[0]);
            if second {
                write!(keys, "hdr.k.n[3:0]: {} @name(\"n\"); ", kinds[1]).ok();
            }
            let names: Vec<&str> = self
                .actions
                .iter()
                .map(|a| a.split('(').next().unwrap_or(""))
                .collect();
            let listed = format!("{}; NoAction;", names.join("; "));
            let mut entries = String::new();
            for value in 0..3 {
                let number = self.random.below(4) * 20 + value;
                let first = match kinds[0] {
                    "range" => format!("{number}..{}", number + 30),
                    "lpm" => format!(
                        "{:#x} &&& {:#x}",
                        (value * 64) & 0xff,
                        0xff << (7 - value) & 0xff
                    ),
                    _ => format!("{number}"),
                };
                let key = match (second, kinds[1]) {
                    (false, _) => first,
                    (true, "ternary") => format!("({first}, {value} &&& 3)"),
                    (true, _) => format!("({first}, {value})"),
                };
                let action = self.random.pick(&self.actions.clone()).clone();
                writeln!(entries, "            {key}: {action};").ok();
            }
            let default = self.random.pick(&self.actions.clone()).clone();
            let counters = if i == 0 { "counters = hits; " } else { "" };
            writeln!(
                text,
                "    table tab{i} {{ key = {{ {keys}}} actions = {{ {listed} }} {counters}
        const default_action = {default};
        const entries = {{\n{entries}        }} }}"
            )
            .ok();
            self.tables.push(format!("tab{i}"));
        }
        text
    }

    fn statements(&mut self, n: usize, depth: usize) -> String {
        (0..1 + self.random.below(n))
            .map(|_| self.statement(depth))
            .collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        let indent = "        ";
        let nested = depth > 0;
        let kind = match self.usual {
            true => *self.random.pick(&USUAL),
            false => self.random.below(30),
        };
        let text = match kind {
            0..=11 => self.assignment(),
            12 | 13 if nested => {
                let (condition, yes) = (self.condition(2), self.statements(3, depth - 1));
                match self.random.one_in(2) {
                    true => format!("if ({condition}) {{\n{yes}        }}"),
                    false => {
                        let no = self.statements(3, depth - 1);
                        format!("if ({condition}) {{\n{yes}        }} else {{\n{no}        }}")
                    }
                }
            }
            14 | 15 if nested && !self.in_action => match self.tables.pop() {
                Some(table) => {
                    let yes = self.statements(2, depth - 1);
                    match self.random.below(3) {
                        0 => format!("if ({table}.apply().hit) {{\n{yes}        }}"),
                        1 => format!("{table}.apply();"),
                        _ => {
                            let other = self.statements(2, depth - 1);
                            format!(
                                "switch ({table}.apply().action_run) {{ act0: {{\n{yes}        }} act2: default: {{\n{other}        }} }}"
                            )
                        }
                    }
                }
                None => self.assignment(),
            },
            16 if nested => {
                let (a, b) = (self.statements(2, depth - 1), self.statements(2, depth - 1));
                format!("switch (hdr.k.n & 7) {{ 0: {{\n{a}        }} 3: 5: {{\n{b}        }} default: {{ }} }}")
            }
            17 if nested => {
                let i = self.name("i");
                let (rounds, body) = (1 + self.random.below(5), self.statements(2, depth - 1));
                let leave = *self.random.pick(&[
                    "",
                    "if (hdr.k.op == 9) { break; }",
                    "if (hdr.k.n > 100) { continue; }",
                ]);
                format!("for (bit<8> {i} = 0; {i} < {rounds}; {i} = {i} + 1) {{ {leave}\n{body}        }}")
            }
            18 => {
                self.random
                    .pick(&["hdr.h", "hdr.k", "hdr.e[1]", "hdr.v", "hdr.u.a", "hdr.u.b"])
                    .to_string()
                    + ".setValid();"
            }
            19 => {
                self.random
                    .pick(&["hdr.h", "hdr.e[0]", "hdr.v", "hdr.u.a"])
                    .to_string()
                    + ".setInvalid();"
            }
            20 => format!(
                "hdr.e.{}(1);",
                self.random.pick(&["push_front", "pop_front"])
            ),
            21 => {
                let (cell, n) = (
                    self.expression(
                        Type {
                            width: 64,
                            signed: false,
                        },
                        2,
                    ),
                    self.random.below(18),
                );
                format!("cells.write({n}, {cell});")
            }
            22 => {
                let out = self.name("r");
                let n = self.random.below(18);
                format!("bit<64> {out}; cells.read({out}, {n}); hdr.k.n = {out}[7:0];")
            }
            23 => format!(
                "counts.count((bit<32>)hdr.k.{});",
                self.random.pick(&["op", "n"])
            ),
            24 => {
                let out = self.name("r");
                format!("bit<16> {out}; hash({out}, HashAlgorithm.crc16, (bit<16>)0, {{ hdr.h, hdr.k.n, meta.m0 }}, (bit<32>)0xffff); meta.m0 = (bit<32>){out};")
            }
            25 => "meta.m0 = twice(meta.m0, hdr.k.n);".to_string(),
            26 => {
                let value = self.expression(
                    Type {
                        width: 100,
                        signed: true,
                    },
                    2,
                );
                let out = self.name("r");
                format!("wide_cells.write(1, {value}); int<100> {out}; wide_cells.read({out}, 1); meta.m1 = (bit<100>){out};")
            }
            27 => {
                let index = *self.random.pick(&["hdr.k.n & 3", "hdr.k.op", "1"]);
                match self.random.one_in(2) {
                    true => format!(
                        "hdr.e[{index}].y = {};",
                        self.expression(
                            Type {
                                width: 16,
                                signed: false
                            },
                            2
                        )
                    ),
                    false => format!("meta.m0 = (bit<32>)hdr.e[{index}].y;"),
                }
            }
            28 if self.usual && self.random.one_in(3) => "random(hdr.k.n, 0, 200);".to_string(),
            28 if self.usual => {
                let condition = self.condition(1);
                format!("if ({condition}) {{ clone_preserving_field_list(CloneType.I2E, 5, 1); }}")
            }
            28 => match self.random.below(8) {
                0 => format!("if ({}) {{ exit; }}", self.condition(1)),
                1 => format!("if ({}) {{ return; }}", self.condition(1)),
                2 => "mark_to_drop(sm);".to_string(),
                3 => format!(
                    "if ({}) {{ resubmit_preserving_field_list(1); }}",
                    self.condition(1)
                ),
                4 => format!(
                    "if ({}) {{ clone_preserving_field_list(CloneType.I2E, 5, 1); }}",
                    self.condition(1)
                ),
                5 => "truncate(20);".to_string(),
                6 => format!(
                    "if ({}) {{ digest<bit<8>>(1, hdr.k.n); }}",
                    self.condition(1)
                ),
                _ => "random(hdr.k.n, 0, 200);".to_string(),
            },
            _ => "hdr.e[2] = hdr.e[0];".to_string(),
        };
        format!("{indent}{text}\n")
    }

    fn assignment(&mut self) -> String {
        let var = self.writable();
        if self.random.one_in(6) && !var.ty.signed && var.ty.width > 2 {
            let lo = self.random.below(var.ty.width as usize) as u32;
            let hi = lo + self.random.below((var.ty.width - lo) as usize) as u32;
            let width = hi - lo + 1;
            let value = self.expression(
                Type {
                    width,
                    signed: false,
                },
                2,
            );
            return format!("{}[{hi}:{lo}] = {value};", var.name);
        }
        format!("{} = {};", var.name, self.expression(var.ty, 3))
    }

    fn writable(&mut self) -> Var {
        loop {
            let var = self.random.pick(&self.vars).clone();
            // Few packets shall be lost to strange ports.
            if var.name != "arg" && (var.name != "sm.egress_spec" || self.random.one_in(8)) {
                return var;
            }
        }
    }

    fn number(&mut self, ty: Type) -> String {
        let value = match self.random.below(4) {
            0 => u128::from(self.random.below(3) as u64),
            1 => u128::MAX,
            _ => u128::from(self.random.next()) << 64 | u128::from(self.random.next()),
        };
        let bits = if ty.signed { ty.width - 1 } else { ty.width };
        let value = if bits < 128 {
            value & ((1 << bits) - 1)
        } else {
            value
        };
        let kind = if ty.signed { 's' } else { 'w' };
        format!("{}{kind}{value}", ty.width)
    }

    /// A variable of this type, or one cast to it.
    fn leaf(&mut self, ty: Type) -> String {
        let same: Vec<&Var> = self.vars.iter().filter(|var| var.ty == ty).collect();
        if !same.is_empty() && !self.random.one_in(3) {
            return self.random.pick(&same).name.clone();
        }
        if self.random.one_in(3) {
            return self.number(ty);
        }
        let var = self.random.pick(&self.vars).clone();
        let other = Type {
            signed: ty.signed,
            ..var.ty
        };
        // A cast changes either the sign or the width; int<1> is not a type of its own here.
        match var.ty == other {
            true => format!("({}){}", ty.text(), var.name),
            false => format!("({})({}){}", ty.text(), other.text(), var.name),
        }
    }

    fn expression(&mut self, ty: Type, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        let less = depth - 1;
        match self.random.below(14) {
            0..=8 if self.usual && ty.width > 64 => {
                let op = *self.random.pick(&["+", "-", "&", "|", "^"]);
                let (a, b) = (self.expression(ty, less), self.expression(ty, less));
                format!("({a} {op} ~{b})")
            }
            0..=4 => {
                let op = *self
                    .random
                    .pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
                let (a, b) = (self.expression(ty, less), self.expression(ty, less));
                format!("({a} {op} {b})")
            }
            5 => format!("(~{})", self.expression(ty, less)),
            6 => format!("(-{})", self.expression(ty, less)),
            7 | 8 => {
                let op = *self.random.pick(&["<<", ">>"]);
                let a = self.expression(ty, less);
                let by = match self.random.one_in(2) {
                    true => format!("{}", self.random.below(ty.width as usize + 3)),
                    false => self.expression(
                        Type {
                            width: 8,
                            signed: false,
                        },
                        0,
                    ),
                };
                format!("({a} {op} {by})")
            }
            9 if ty.width > 1 && !ty.signed => {
                let high = 1 + self.random.below(ty.width as usize - 1) as u32;
                let a = self.expression(
                    Type {
                        width: high,
                        signed: false,
                    },
                    less,
                );
                let b = self.expression(
                    Type {
                        width: ty.width - high,
                        signed: false,
                    },
                    less,
                );
                format!("({a} ++ {b})")
            }
            10 if !ty.signed => {
                let wide: Vec<Var> = self
                    .vars
                    .iter()
                    .filter(|v| v.ty.width >= ty.width)
                    .cloned()
                    .collect();
                match wide.is_empty() {
                    true => self.leaf(ty),
                    false => {
                        let var = self.random.pick(&wide).clone();
                        let lo = self.random.below((var.ty.width - ty.width) as usize + 1) as u32;
                        format!("{}[{}:{lo}]", var.name, lo + ty.width - 1)
                    }
                }
            }
            11 => {
                let (c, a, b) = (
                    self.condition(1),
                    self.expression(ty, less),
                    self.expression(ty, less),
                );
                format!("({c} ? {a} : {b})")
            }
            _ => self.leaf(ty),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 if depth > 0 => format!(
                "({} && {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            1 if depth > 0 => format!(
                "({} || {})",
                self.condition(depth - 1),
                self.condition(depth - 1)
            ),
            2 => format!(
                "!{}.isValid()",
                self.random.pick(&["hdr.h", "hdr.e[1]", "hdr.v", "hdr.u"])
            ),
            3 => "hdr.e[0] == hdr.e[1]".to_string(),
            4 => "hdr.k.n == 17".to_string(),
            _ => {
                let ty = self.random.pick(&self.vars).ty;
                let op = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                let (a, b) = (self.expression(ty, 1), self.expression(ty, 1));
                format!("({a} {op} {b})")
            }
        }
    }
}
