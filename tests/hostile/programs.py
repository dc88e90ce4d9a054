"""Programs that a student could hand in as bier/bier.p4 to make a compiler or a switch suffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MEBIBYTE = 1 << 20
LIMIT = "takes more than|memory fault"  # a limit of the sandbox stopped it


@dataclass(frozen=True)
class Program:
    """A hostile bier/bier.p4 and what must come of it.

    `expect` is "compiles not" (the program is refused with a diagnostic), "runs" (it is judged like
    any other), "right" (it is the solution, and scores as that) or a pattern that the one sentence
    about the trouble has. A limit of the sandbox is never a failure: it is clear, and bounded.
    """

    name: str
    text: str
    expect: str = "compiles not"


def programs(solution: str) -> Iterator[Program]:
    """All of them, made from the text of the lab's solution."""
    for family in (includes, macros, deep, large, widths, endless, copies, odd):
        yield from family(solution)


def _after_guard(solution: str, text: str) -> str:
    """The solution with `text` in front of its controls."""
    mark = "// ---- BFIR"
    assert solution.count(mark) == 1
    return solution.replace(mark, f"{text}\n{mark}")


def _in_router(solution: str, locals_: str, statements: str) -> str:
    """The solution with declarations and statements at the beginning of what every packet meets."""
    mark = "    Bfir() bfir;\n    Bfr() bfr;\n\n    apply {\n"
    assert solution.count(mark) == 1
    return solution.replace(mark, f"{locals_}\n{mark}{statements}\n")


def includes(solution: str) -> Iterator[Program]:
    for name, path in {
        "passwd": "/etc/passwd",
        "parents": "../../../../../../../../etc/passwd",
        "zeros": "/dev/zero",
        "memory": "/proc/self/mem",
        "folder": "/",
        "nothing": "",
        "long": "x/" * 10_000,
    }.items():
        yield Program(f"include-{name}", f'#include "{path}"\n{solution}')
    yield Program("include-system", f"#include </etc/passwd>\n{solution}")
    yield Program("include-itself", '#include "bier.p4"\n')
    yield Program("include-itself-twice", '#include "bier.p4"\n#include "bier.p4"\n')
    yield Program("include-the-entry", f'#include "v1model.p4"\n{solution}', "right")
    yield Program("include-by-macro", f'#define X "/etc/passwd"\n#include X\n{solution}')
    yield Program("line-directive", f'#line 7 "/etc/passwd"\nx y z\n{solution}')
    yield Program("another-entry", f"#define V1Switch(a, b, c, d, e, f) V1Switch(a)\n{solution}")


def macros(solution: str) -> Iterator[Program]:
    levels = range(1, 61)
    doubling = "\n".join(f"#define M{n} M{n - 1} M{n - 1}" for n in levels)
    yield Program("macro-bomb", f"#define M0 x\n{doubling}\nM60\n{solution}")
    calls = "\n".join(f"#define F{n}(x) F{n - 1}(x x)" for n in levels)
    yield Program("macro-bomb-arguments", f"#define F0(x) x\n{calls}\nF60(y)\n{solution}")
    yield Program("macro-itself", f"#define A B\n#define B A\nA\n{solution}")
    yield Program("if-nested", "#if 1\n" * 50_000 + solution)
    yield Program("if-expression", f"#if {'(' * 100_000}1{')' * 100_000}\n#endif\n{solution}")
    yield Program("if-operators", f"#if {'!' * 200_000}1\n#endif\n{solution}")
    yield Program(
        "continued-lines", "#define X \\\n" + "y \\\n" * 200_000 + f"\n{solution}", "runs"
    )
    yield Program("many-macros", "".join(f"#define N{n} {n}\n" for n in range(40_000)) + solution,
                  "right")  # fmt: skip


def deep(solution: str) -> Iterator[Program]:
    count = 100_000
    for name, text in {
        "parentheses": f"const bit<8> Z = {'(' * count}1{')' * count};",
        "unary": f"const bit<8> Z = {'~' * count}8w1;",
        "minus": f"const int Z = {'- ' * count}1;",
        "casts": f"const bit<8> Z = {'(bit<8>)' * count}1;",
        "sum": f"const bit<8> Z = 8w1{' + 8w1' * count};",
        "ternaries": f"const int Z = {'true ? ' * 60_000}1{' : 1' * 60_000};",
        "lists": f"const bit<8> Z = {'{' * count}1{'}' * count};",
        "types": f"typedef {'tuple<' * count}bit<8>{'>' * count} deep_t;",
        "widths": f"typedef {'bit<' * count}8{'>' * count} deep_t;",
        "members": f"const bit<8> Z = a{'.a' * count};",
        "indexes": f"const bit<8> Z = a{'[a' * count}{']' * count};",
        "annotations": f"@x({'(' * count}{')' * count}) const bit<8> Z = 1;",
        "blocks": f"control Z() {{ apply {'{' * count}{'}' * count} }}",
        "ifs": f"control Z() {{ apply {{ {'if (true) ' * count}{{}} }} }}",
        "else-ifs": f"control Z() {{ apply {{ if (true) {{}} {'else if (true) {} ' * 40_000} }} }}",
        "comment": f"/* {'/*' * count}",
    }.items():
        yield Program(f"deep-{name}", _after_guard(solution, text), "runs")


def large(solution: str) -> Iterator[Program]:
    yield Program("ten-mebibytes", solution + "// " + "x" * (10 * MEBIBYTE), "larger than 1 MiB")
    yield Program("just-too-large", (solution + "//").ljust(MEBIBYTE + 1, "x"), "larger than 1 MiB")
    yield Program("just-small-enough", (solution + "//").ljust(MEBIBYTE, "x"), "right")
    yield Program("one-line", "x " * 500_000)
    yield Program("one-name", "x" * 1_000_000)
    yield Program("one-number", f"const int Z = {'9' * 1_000_000};\n{solution}", "runs")
    yield Program("million-errors", "x\n" * 500_000)
    yield Program("undeclared-names", "control Z() { apply {" + "y = z;" * 100_000 + "} }")
    yield Program("open-string", f'@name("{"x" * 1_000_000}')
    yield Program(
        "annotation", _after_guard(solution, f'@name("{"x" * 900_000}") const int Z = 1;'), "runs"
    )
    yield Program("open-comment", "/*" + "x" * 1_000_000)
    yield Program("many-names", "".join(f"const bit<8> N{n} = 1;\n" for n in range(30_000))
                  + solution, "right")  # fmt: skip
    fields = "".join(f"bit<8> f{n};" for n in range(50_000))
    yield Program("many-fields", _after_guard(solution, f"header z_t {{ {fields} }}"), "runs")
    members = ", ".join(f"M{n}" for n in range(80_000))
    yield Program("many-members", _after_guard(solution, f"enum z_t {{ {members} }}"), "right")
    cases = "".join(f"8w{n % 256}: {{}} " for n in range(60_000))
    yield Program("many-cases", _in_router(solution, "bit<8> z;", f"switch (z) {{ {cases} }}"))
    errors = ", ".join(f"E{n}" for n in range(80_000))
    yield Program("many-error-codes", _after_guard(solution, f"error {{ {errors} }}"), "runs")
    entries = "".join(f"{n}: NoAction();\n" for n in range(40_000))
    table = f"""table z {{ key = {{ hdr.ipv4.dst_addr: exact; }} actions = {{ NoAction; }}
        const entries = {{ {entries} }} }}"""
    yield Program("many-entries", _in_router(solution, table, "z.apply();"), "runs")
    yield Program("statements", _in_router(solution, "bit<8> z = 0;", "z = z + 1;\n" * 80_000),
                  "runs")  # fmt: skip


def widths(solution: str) -> Iterator[Program]:
    for name, local, statement in (
        ("table-2-31", _table(1 << 31), "z.apply();"),
        ("table-10-12", _table(10**12), "z.apply();"),
        ("table-10-30", _table(10**30), "z.apply();"),
        ("register-2-32", "register<bit<64>>(4294967295) z;", "z.write(7, 1);"),
        ("register-wide", "register<bit<2048>>(268435455) z;", "z.write(7, 1);"),
        ("counter-2-32", "counter(4294967295, CounterType.packets) z;", "z.count(7);"),
        ("meter-2-32", "meter(4294967295, MeterType.packets) z; bit<8> c;",
         "z.execute_meter<bit<8>>(7, c);"),
        ("width-2000", "bit<2000> z = 3;", "z = z * z;" * 2000),
        ("width-2-20", "bit<1048576> z = 1;", "z = z * z + (z << 77777);"),
        ("width-2-31", "bit<2147483647> z = 1;", "z = z + 1;"),
        ("width-10-30", f"bit<{10**30}> z = 1;", "z = z + 1;"),
        ("width-negative", "bit<(-1)> z = 1;", "z = z + 1;"),
        ("varbit", "varbit<4294967288> z;", ""),
        ("shift", "bit<8> z = (bit<8>)(1 << 1000000000);", ""),
        ("shift-2-62", "bit<8> z = (bit<8>)(1 << 4611686018427387904);", ""),
        ("shift-wide", "bit<32768> z = 1;", "z = z << (bit<32>)hdr.ipv4.dst_addr;"),
        ("divide-by-zero", "bit<8> z = 1 / 0;", ""),
        ("divide-by-field", "bit<32> z = 5;", "z = z / (hdr.ipv4.dst_addr - hdr.ipv4.dst_addr);"),
        ("stack", "z_t[1000000000] z;", "z[5].setValid();"),
        ("stack-65536", "z_t[65536] z;", "z.push_front(65535);"),
    ):  # fmt: skip
        text = _after_guard(solution, "header z_t { bit<64> x; }")
        yield Program(name, _in_router(text, local, statement), "runs")
    squares = "\n".join(f"const int Q{n} = Q{n - 1} * Q{n - 1};" for n in range(1, 41))
    yield Program("squares", _after_guard(solution, f"const int Q0 = 1 << 64;\n{squares}"), "runs")
    yield Program("many-registers", _in_router(
        solution, "".join(f"register<bit<512>>(1000000) z{n};\n" for n in range(100)),
        "".join(f"z{n}.write(7, 1);" for n in range(100))), "runs")  # fmt: skip


def _table(size: int) -> str:
    return f"""table z {{ key = {{ hdr.ipv4.dst_addr: exact; }} actions = {{ NoAction; }}
        size = {size}; }}"""


def endless(solution: str) -> Iterator[Program]:
    for name, states in {
        "never": "state start { transition again; } state again { transition again; }",
        "two-states": """state start { transition a; } state a { transition b; }
            state b { transition select(port) { 9w0 &&& 9w0: a; default: b; } }""",
        "extracting": """state start { packet.extract(hdr.ethernet);
            packet.advance(0); transition start; }""",
        "looking": "state start { bit<8> x = packet.lookahead<bit<8>>(); transition start; }",
    }.items():
        parser = f"""parser OwnParser(packet_in packet, out headers_t hdr, in bit<9> port) {{
            {states} }}
            #define PacketParser OwnParser"""
        yield Program(f"parser-{name}", _after_guard(solution, parser), "runs")
    states = "".join(f"state s{n} {{ transition s{n + 1}; }}\n" for n in range(20_000))
    chain = f"""parser OwnParser(packet_in packet, out headers_t hdr, in bit<9> port) {{
        state start {{ transition s0; }} {states} state s20000 {{ transition accept; }} }}
        #define PacketParser OwnParser"""
    yield Program("parser-chain", _after_guard(solution, chain), "runs")
    end = "            bfir.apply(hdr, carried, arrival, decision);\n        }\n"
    assert solution.count(end) == 1
    for name, statement in {
        "recirculate": "decision.drop = drop_reason_t.NONE; decision.egress_port = RECIRC_PORT;",
        "clone": "decision.again = true;",
        "clone-and-recirculate": """decision.again = true; decision.drop = drop_reason_t.NONE;
            decision.egress_port = RECIRC_PORT;""",
        "resubmit": "resubmit_preserving_field_list(1);",
        "clone-every-way": """clone(CloneType.I2E, 1); clone_preserving_field_list(CloneType.I2E, 1,
            1); decision.again = true; decision.egress_port = RECIRC_PORT;""",
        "to-the-controller": "decision.drop = drop_reason_t.NONE; decision.egress_port = CPU_PORT;",
        "every-group": "decision.drop = drop_reason_t.NONE; decision.mcast_grp = 1;",
        "digest": "digest<bit<32>>(1, hdr.ipv4.dst_addr);",
        "truncate": "truncate(0);",
        "port-511": "decision.drop = drop_reason_t.NONE; decision.egress_port = 511;",
    }.items():
        yield Program(f"loop-{name}", solution.replace(end, f"{end}        {statement}\n"), "runs")
    count = "for (bit<64> i = 0; i < 0xffffffffffffffff; i = i + 1) { z = z + i; }"
    yield Program("for", _in_router(solution, "bit<64> z = 0;", count), "runs")
    nested = "for (bit<32> i%d in 32w0 .. 32w0xffffffff) {" * 5 % (1, 2, 3, 4, 5)
    yield Program(
        "for-nested",
        _in_router(solution, "bit<64> z = 0;", nested + "z = z + 1;" + "}" * 5),
        "runs",
    )


def copies(solution: str) -> Iterator[Program]:
    levels = range(1, 31)
    controls = "control C0() { apply {} }\n" + "\n".join(
        f"control C{n}() {{ C{n - 1}() a; C{n - 1}() b; apply {{ a.apply(); b.apply(); }} }}"
        for n in levels
    )
    text = _after_guard(solution, controls)
    yield Program("instances", _in_router(text, "C30() z;", "z.apply();"))
    flat = "control C() { register<bit<8>>(16) r; apply { r.write(0, 1); } }"
    many = "\n".join(f"C() z{n};" for n in range(5_000))
    applied = "".join(f"z{n}.apply();" for n in range(5_000))
    yield Program("5000-instances", _in_router(_after_guard(solution, flat), many, applied), "runs")
    functions = "void f0() {}\n" + "\n".join(
        f"void f{n}() {{ f{n - 1}(); f{n - 1}(); }}" for n in levels
    )
    yield Program("functions", _in_router(_after_guard(solution, functions), "", "f30();"), "runs")
    actions = "action a0() {}\n" + "\n".join(
        f"action a{n}() {{ a{n - 1}(); a{n - 1}(); }}" for n in levels
    )
    yield Program("actions", _in_router(solution, actions, "a30();"), "runs")
    structs = "struct s0 { bit<8> x; }\n" + "\n".join(
        f"struct s{n} {{ s{n - 1} a; s{n - 1} b; }}" for n in range(1, 61)
    )
    text = _after_guard(solution, structs)
    yield Program("structs", text, "runs")
    yield Program("structs-used", _in_router(text, "s60 z; s60 y;", "z = y;"), "runs")
    tuples = "typedef bit<8> t0;\n" + "\n".join(
        f"typedef tuple<t{n - 1}, t{n - 1}> t{n};" for n in range(1, 61)
    )
    yield Program("tuples", _in_router(_after_guard(solution, tuples), "t60 z;", ""))
    yield Program("struct-of-itself", _after_guard(solution, "struct s { s x; }"), "runs")
    yield Program("function-of-itself", _in_router(
        _after_guard(solution, "void f() { f(); }"), "", "f();"))  # fmt: skip
    yield Program("control-of-itself", _in_router(
        _after_guard(solution, "control C() { C() c; apply { c.apply(); } }"),
        "C() z;", "z.apply();"))  # fmt: skip


def odd(solution: str) -> Iterator[Program]:
    yield Program("empty", "", "is empty")
    yield Program("blank", " \n\t\n" * 1000, "is empty")
    yield Program("html", "<script>alert(1)</script><img src=x onerror=alert(2)>\n")
    yield Program(
        "markdown", "](javascript:alert(1)) ![x](http://x.example/y) `code` | a | **b**\n"
    )
    yield Program("xml", "]]></failure><!ENTITY x SYSTEM 'file:///etc/passwd'> &x;\n")
    yield Program("terminal", "\x1b[31mred\x1b]0;title\x07 \x1b[2J \u202egnp.exe\n")
    yield Program("template", "{{ 7 * 7 }} {% raw %} ${7*7} %s %n {0.__class__}\n")
    yield Program("formula", "=1+1\n@SUM(A1)\n")
    yield Program("python", "__import__('os').system('touch /tmp/owned')\n")
    yield Program("carriage-returns", solution.replace("\n", "\r\n"), "right")
    yield Program("unicode-names", "const bit<8> größe = 1;\n" + solution)
    yield Program(
        "own-main", f"control Z() {{ apply {{}} }} package P(Z z); P(Z()) main;\n{solution}"
    )
    yield Program("no-such-table", solution.replace("table bift", "table bitf")
                  .replace("bift.apply", "bitf.apply"), "runs")  # fmt: skip
