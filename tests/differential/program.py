"""Random v1model programs. Several share a file, since p4c takes most of the time: the second
number of a packet says whose states, actions and tables it meets."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from differential.entries import Table, table
from differential.text import Function, Type, Var, Writer
from p4lab.model.entries import CloneSession, MulticastGroup, Update

HEAD_BYTES = 6
"""Of the header in front: number of the packet (16 bits), program, pass, two bytes to play with"""
TO_INGRESS, TO_EGRESS, COPIES = 5, 6, 7
"""Ports of clones made in ingress, those made in egress, and of one of the group's copies"""
GROUP_LINES = [
    "set_queue_depth 100000",
    f"mirroring_add 5 {TO_INGRESS}",
    f"mirroring_add 6 {TO_EGRESS}",
    "mc_mgrp_create 1",
    f"mc_node_create 3 4 {COPIES}",
    "mc_node_associate 1 0",
]
GROUP_UPDATES = [
    Update("insert", CloneSession(5, ((TO_INGRESS, 0),))),
    Update("insert", CloneSession(6, ((TO_EGRESS, 0),))),
    Update("insert", MulticastGroup(1, ((4, 3), (COPIES, 3)))),
]


@dataclass
class Program:
    """One program of a file, in the parts that can be left out of it"""

    number: int
    states: str
    functions: str
    declarations: list[str]
    ingress: list[str]
    egress_declarations: list[str]
    egress: list[str]
    tables: list[Table] = field(default_factory=list)


@dataclass
class File:
    """The programs of one file, their packets, and the types that they share"""

    seed: str
    shared: str
    programs: list[Program]
    packets: list[tuple[int, bytes]]

    def text(self) -> str:
        """The P4 text."""
        programs = self.programs
        return FRAME.format(
            seed=self.seed,
            shared=self.shared,
            functions="\n".join(program.functions for program in programs),
            starts=" ".join(f"{program.number}: p{program.number}_0;" for program in programs),
            states="\n".join(program.states for program in programs),
            controls="\n".join(map(_controls, programs)),
            ingresses=" ".join(f"I{program.number}() i{program.number};" for program in programs),
            egresses=" ".join(f"E{program.number}() e{program.number};" for program in programs),
            ingress=_chosen(programs, "i"),
            egress=_chosen(programs, "e"),
            clear=" ".join(CLEAR.format(header=header) for header in HEADERS),
            cleared=" ".join(
                f"if (!hdr.{header}.isValid()) {{ {CLEAR.format(header=header)} }}"
                for header in HEADERS
            ),
        )

    def tables(self) -> list[Table]:
        return [table for program in self.programs for table in program.tables]

    def lines(self) -> list[str]:
        """What simple_switch_CLI is told."""
        return GROUP_LINES + [line for table in self.tables() for line in table.lines]

    def updates(self) -> list[Update]:
        """What the engine is told."""
        return GROUP_UPDATES + [row for table in self.tables() for row in table.updates]


FRAME = """// {seed}
#include <core.p4>
#include <v1model.p4>
header k_t {{ bit<16> number; bit<8> program; bit<8> pass; bit<8> a; bit<8> b; }}
header e_t {{ bit<7> x; bit<1> more; bit<16> y; }}
header v_t {{ bit<8> len; varbit<64> data; }}
{shared}
struct headers {{ k_t k; h_t h; h_t g; e_t[4] e; v_t v; v_t w; }}
{functions}
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    state start {{
        // Or earlier packets would have left their bytes there.
        {clear}
        p.extract(hdr.k);
        transition select(hdr.k.program) {{ {starts} default: accept; }}
    }}
{states}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
{controls}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {ingresses}
    apply {{ sm.egress_spec = 1; {ingress} }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {{
    {egresses}
    apply {{
        // bmv2 copies no bytes of invalid headers into copies.
        if (sm.instance_type != 0) {{ {cleared} }}
        {egress}
    }}
}}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out p, in headers hdr) {{ apply {{ p.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""

HEADERS = ("h", "g", "e[0]", "e[1]", "e[2]", "e[3]", "v", "w")
CLEAR = "hdr.{header}.setValid(); hdr.{header}.setInvalid();"
PARAMS = "(inout headers hdr, inout metadata meta, inout standard_metadata_t sm)"


def _controls(program: Program) -> str:
    def control(name: str, declarations: list[str], body: list[str]) -> str:
        inner = "".join(f"    {row}\n" for row in declarations)
        statements = "".join(f"        {row}\n" for row in body)
        return f"control {name}{PARAMS} {{\n{inner}    apply {{\n{statements}    }}\n}}"

    n = program.number
    return "\n".join(
        [
            control(f"I{n}", program.declarations, program.ingress),
            control(f"E{n}", program.egress_declarations, program.egress),
        ]
    )


def _chosen(programs: list[Program], what: str) -> str:
    return " else ".join(
        f"if (hdr.k.program == {program.number}) {{ {what}{program.number}.apply(hdr, meta, sm); }}"
        for program in programs
    )


def make(seed: str, programs: int, packets: int, plain: bool = False) -> File:
    """The file of a seed: so many programs, so many packets for each. A `plain` one does nothing
    that bmv2 does another way."""
    random = Random(seed)
    types = [_type(random) for _ in range(5)]
    fields = [Var(f"hdr.{header}.f{i}", kind) for header in "hg" for i, kind in enumerate(types)]
    metas = [Var(f"meta.m{i}", _type(random)) for i in range(3)]
    pad = -sum(kind.width for kind in types) % 8
    shared = "header h_t {{ {} }}\nstruct metadata {{ {} }}".format(
        " ".join(f"{kind.text} f{i};" for i, kind in enumerate(types))
        + (f" bit<{pad}> pad;" if pad else ""),
        " ".join(f"@field_list(1) {meta.type.text} m{i};" for i, meta in enumerate(metas)),
    )
    stack = [
        Var(f"hdr.e[{i}].{name}", Type(width))
        for i in range(3)
        for name, width in (("x", 7), ("more", 1), ("y", 16))
    ]
    own = [Var("hdr.k.a", Type(8)), Var("hdr.k.b", Type(8))]
    lengths = [Var("hdr.v.len", Type(8)), Var("hdr.w.len", Type(8))]
    places = own * 3 + fields + metas * 2 + ([] if plain else stack + lengths)
    if plain:  # fields of headers that may be invalid are another story
        places = own * 2 + metas * 2
    made = [_program(number, random, list(places), plain) for number in range(programs)]
    return File(seed, shared, made, _packets(random, programs, packets))


def _type(random: Random) -> Type:
    return Writer(random, [], False).type()


def _packets(random: Random, programs: int, each: int) -> list[tuple[int, bytes]]:
    made = []
    for number in range(programs * each):
        length = random.choice([0, random.randrange(12), random.randrange(120), 80])
        some = [
            random.choice([0, 1, 2, 3, 0x80, 0xFF, random.randrange(256)]) for _ in range(length)
        ]
        head = number.to_bytes(2, "big") + bytes([number % programs, 0])
        play = bytes(random.choice([0, 1, 2, 3, random.randrange(256)]) for _ in range(2))
        made.append((random.randrange(4), head + play + bytes(some)))
    return made


def _program(number: int, random: Random, places: list[Var], plain: bool) -> Program:
    writer = Writer(random, places, plain)
    functions = _functions(number, writer)
    again = random.choice(["", "", "resubmit", "recirculate"])
    declarations, tables = _ingress(number, writer, registers=again == "")
    writer.specials = _specials(random, writer, again)
    if not plain:
        writer.vars += [Var("sm.ingress_port", Type(9), writable=False)]
    writer.vars += [Var("sm.instance_type", Type(32), writable=False)]
    ingress = writer.statements(5, 2)
    ingress += [f"{name}.apply();" for name, _ in writer.tables]
    outside = Writer(random, places, plain)
    outside.functions = writer.functions
    outside.specials = [
        lambda: "if (sm.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 6, 1); }"
    ]
    if again == "recirculate":
        outside.specials.append(
            lambda: "if (hdr.k.pass == 0) { hdr.k.pass = 1; recirculate_preserving_field_list(1); }"
        )
    more = [Var("sm.egress_port", Type(9), False), Var("sm.egress_rid", Type(16), False)]
    outside.vars = outside.vars + more
    local = _locals(outside)
    egress = outside.statements(2, 1) if random.randrange(2) else []
    states = _states(number, random, plain)
    return Program(number, states, functions, declarations, ingress, local, egress, tables)


def _specials(random: Random, writer: Writer, again: str) -> list[Any]:
    made = [
        lambda: f"sm.egress_spec = {random.randrange(1, 4)};",
        lambda: "mark_to_drop(sm);",
        lambda: "sm.mcast_grp = 1;",
        lambda: "clone_preserving_field_list(CloneType.I2E, 5, 1);",
        lambda: "clone(CloneType.I2E, 5);",
    ]
    if again == "resubmit":
        made += [lambda: "if (sm.instance_type == 0) { resubmit_preserving_field_list(1); }"] * 3
    if again == "":
        narrow = [var.name for var in writer.vars if var.type == Type(8) and var.writable]
        index = random.choice(narrow)
        made.append(
            lambda: f"cells.write((bit<32>)({index} & 7), {writer.expression(Type(16), 1)});"
        )
        made.append(lambda: f"cells.read(cell, (bit<32>)({random.choice(narrow)} & 7));")
    return made


def _locals(writer: Writer) -> list[str]:
    """Declares variables, and makes them known."""
    rows = []
    for i in range(2):
        kind = writer.type()
        rows.append(f"{kind.text} v{i} = {kind.number(writer.value(kind.width))};")
        writer.vars = [*writer.vars, Var(f"v{i}", kind), Var(f"v{i}", kind)]
    return rows


def _functions(number: int, writer: Writer) -> str:
    """Functions with side effects on their arguments; later ones may call earlier ones."""
    texts = []
    outer = writer.vars
    for i in range(writer.random.randrange(1, 3)):
        name = f"f{number}_{i}"
        # Of types that there are variables of, so that they can be called.
        kinds = [writer.random.choice(outer).type for _ in range(3)]
        directions = ["inout", writer.random.choice(["in", "inout"]), "out"]
        count = writer.random.choice([1, 2, 2, 3])
        result = writer.random.choice(outer).type
        params = tuple(zip(directions[:count], kinds, strict=False))
        inner = Writer(writer.random, [], writer.plain, list(writer.functions))
        inner.headers, inner.in_action = False, True
        inner.vars = [
            Var(f"a{j}", kind, direction != "in") for j, (direction, kind) in enumerate(params)
        ]
        first = [
            f"a{j} = {kind.number(1)};"
            for j, (direction, kind) in enumerate(params)
            if direction == "out"
        ]
        body = first + [inner.assignment() for _ in range(writer.random.randrange(1, 3))]
        if inner.one_in(3):
            early = f"return {inner.expression(result, 1)};"
            body.insert(-1, f"if ({inner.condition(1)}) {{ {inner.assignment()} {early} }}")
        body.append(f"return {inner.expression(result, 1)};")
        shown = ", ".join(f"{d} {kind.text} a{j}" for j, (d, kind) in enumerate(params))
        texts.append(f"{result.text} {name}({shown}) {{\n    " + "\n    ".join(body) + "\n}")
        writer.functions.append(Function(name, params, result))
    return "\n".join(texts)


def _ingress(number: int, writer: Writer, registers: bool) -> tuple[list[str], list[Table]]:
    rows = ["register<bit<16>>(8) cells;", "bit<16> cell = 0;"] if registers else []
    if registers:
        writer.vars = [*writer.vars, Var("cell", Type(16))]
    rows += _locals(writer)
    plain_actions = []
    for i in range(3):
        name = f"act{i}"
        kinds = [writer.random.choice(writer.vars).type for _ in range(2)]
        called = i == 2
        # The last one is called with arguments, the others by tables.
        directions = ["inout", "in"] if called else ["", ""]
        count = writer.random.randrange(3)
        params = tuple(zip(directions[:count], kinds, strict=False))
        if not called:
            params = tuple((d, Type(kind.width)) for d, kind in params)
        outer = writer.vars
        writer.vars = outer + 2 * [
            Var(f"d{j}", kind, called and d == "inout") for j, (d, kind) in enumerate(params)
        ]
        writer.in_action = True
        body = writer.block(2, 1)
        writer.in_action, writer.vars = False, outer
        shown = ", ".join(f"{d} {kind.text} d{j}".strip() for j, (d, kind) in enumerate(params))
        rows.append(f"action {name}({shown}) {body}")
        function = Function(name, params, None)
        if called:
            writer.actions.append(function)
        else:
            plain_actions.append(function)
    tables = []
    for i in range(writer.random.choice([0, 1, 1, 2])):
        made = table(f"t{i}", f"I.i{number}", writer, plain_actions, writer.plain)
        rows.append(made.declaration)
        tables.append(made)
        writer.tables.append((made.name, made.actions))
    return rows, tables


def _states(number: int, random: Random, plain: bool) -> str:
    """States that extract some of the headers, each once."""
    parts = ["h", "g", "e", "v", "look", "w"]
    random.shuffle(parts)
    parts = parts[: random.randrange(1, 5)]
    names = [f"p{number}_{i}" for i in range(len(parts))] + ["accept"]
    return "\n".join(
        f"    state {name} {{ {_state(part, name, names[i + 1], random, plain)} }}"
        for i, (part, name) in enumerate(zip(parts, names, strict=False))
    )


def _state(part: str, name: str, following: str, random: Random, plain: bool) -> str:
    onward = f"transition {following};"
    if random.randrange(3) == 0:
        mask, value = random.choice([1, 3, 0x81]), random.randrange(4)
        low = random.randrange(4)
        onward = (
            f"transition select(hdr.k.a, hdr.k.b) {{ ({value} &&& {mask}, _): {following};"
            f" (_, {low}..{low + random.randrange(100)}): {following}; default: accept; }}"
        )
    if part in "hg":
        return f"p.extract(hdr.{part}); {onward}"
    if part == "e":
        return (
            f"p.extract(hdr.e.next);"
            f" transition select(hdr.e.last.more) {{ 1: {name}; default: {following}; }}"
        )
    if part in "vw":
        factor = random.choice([8, 8, 4])
        length = f"(bit<32>)(p.lookahead<bit<8>>() & 15) * {factor}"
        return f"p.extract(hdr.{part}, {length}); {onward}"
    if plain:
        return f"verify(hdr.k.a < 200, error.ParserInvalidArgument); {onward}"
    return random.choice(
        [
            f"hdr.k.b = p.lookahead<bit<8>>(); {onward}",
            f"verify(hdr.k.a < 200, error.ParserInvalidArgument); {onward}",
            f"p.advance({random.choice([8, 16])}); {onward}",
            f"hdr.k.b = hdr.k.b + 1; {onward}",
        ]
    )
