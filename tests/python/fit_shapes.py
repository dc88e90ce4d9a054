"""The BIER-like probe programs of tests/recorded/tna, written again from their description
there (README.md, section B). Six of them are recorded as programs, too; test_fit.py compares those
with what is made here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One probe: `kind` as in the README, and the entries of its two large tables."""

    bits: int
    kind: str  # tbl, idx, onefield, ifs, or, nofrr, direct
    bift: int = 256
    frr: int = 128

    @property
    def widths(self) -> list[int]:
        if self.kind == "onefield":
            return [self.bits]
        full, rest = divmod(self.bits, 32)
        return [32] * full + ([rest] if rest else [])


@dataclass(frozen=True)
class Observed:
    """What bf-p4c did with it: stages of ingress, cycles, blocks of the whole pipe."""

    name: str
    shape: Shape
    stages: int
    cycles: int
    tcams: int
    srams: int


# Of the table in section B; "gw" has no numbers. `fits` of those with stages is no only where the
# mirror header is too long or the stages are 14.
OBSERVED = [
    Observed("bier128_big", Shape(128, "tbl", 1024, 1024), 7, 147, 17, 13),
    Observed("bier128_direct", Shape(128, "direct"), 4, 125, 6, 11),
    Observed("bier128_idx", Shape(128, "idx"), 7, 147, 10, 13),
    Observed("bier128_ifs", Shape(128, "ifs"), 10, 170, 7, 12),
    Observed("bier128_max", Shape(128, "tbl", 4096, 4096), 8, 168, 59, 20),
    Observed("bier128_nofrr", Shape(128, "nofrr"), 5, 146, 6, 11),
    Observed("bier128_onefield", Shape(128, "onefield"), 7, 147, 10, 13),
    Observed("bier128_or", Shape(128, "or"), 8, 128, 7, 12),
    Observed("bier128_tbl", Shape(128, "tbl"), 7, 147, 10, 13),
    Observed("bier192_tbl", Shape(192, "tbl"), 7, 147, 15, 15),
    Observed("bier224_tbl", Shape(224, "tbl"), 7, 147, 18, 15),
    Observed("bier240_tbl", Shape(240, "tbl"), 7, 147, 18, 15),
    Observed("bier256_4k", Shape(256, "idx", 4096, 4096), 11, 211, 110, 31),
    Observed("bier256_8k", Shape(256, "idx", 8192, 512), 10, 170, 109, 32),
    Observed("bier256_big", Shape(256, "idx", 1024, 1024), 7, 147, 32, 15),
    Observed("bier256_direct", Shape(256, "direct"), 4, 125, 12, 12),
    Observed("bier256_idx", Shape(256, "idx"), 7, 147, 19, 15),
    Observed("bier256_ifs", Shape(256, "ifs"), 14, 130, 13, 14),
    Observed("bier256_nofrr", Shape(256, "nofrr"), 5, 146, 12, 12),
    Observed("bier256_onefield", Shape(256, "onefield"), 7, 147, 19, 15),
    Observed("bier256_tbl", Shape(256, "tbl"), 7, 147, 19, 15),
    Observed("bier64_big", Shape(64, "tbl", 2048, 2048), 7, 147, 18, 13),
    Observed("bier64_direct", Shape(64, "direct"), 4, 125, 4, 11),
    Observed("bier64_idx", Shape(64, "idx"), 7, 147, 6, 13),
    Observed("bier64_ifs", Shape(64, "ifs"), 8, 148, 4, 12),
    Observed("bier64_max", Shape(64, "tbl", 8192, 8192), 9, 169, 66, 21),
    Observed("bier64_nofrr", Shape(64, "nofrr"), 5, 146, 4, 11),
    Observed("bier64_onefield", Shape(64, "onefield"), 7, 147, 6, 13),
    Observed("bier64_or", Shape(64, "or"), 7, 127, 4, 12),
    Observed("bier64_tbl", Shape(64, "tbl"), 7, 147, 6, 13),
]
# The compiler refuses these: the condition reads too many bits.
REFUSED = {bits: Shape(bits, "gw") for bits in (64, 128, 256)}

# What stands around the ingress of a program: the rest of its first state, and its deparser.
AROUND = """\
parser IP(packet_in p, out h_t h, out m_t m, out ingress_intrinsic_metadata_t ig) {{
  state start {{ p.extract(ig); p.advance(PORT_METADATA_SIZE); {states} }}
}}
control I(inout h_t h, inout m_t m, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t pr,
    inout ingress_intrinsic_metadata_for_deparser_t d,
    inout ingress_intrinsic_metadata_for_tm_t tm) {{
{ingress}
}}
control ID(packet_out p, inout h_t h, in m_t m, in ingress_intrinsic_metadata_for_deparser_t d) {{
  {deparser}
}}
parser EP(packet_in p, out h_t h, out m_t m, out egress_intrinsic_metadata_t eg) {{
  state start {{ p.extract(eg); transition accept; }}
}}
control E(inout h_t h, inout m_t m, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t pr,
    inout egress_intrinsic_metadata_for_deparser_t d,
    inout egress_intrinsic_metadata_for_output_port_t o) {{ apply {{ }} }}
control ED(packet_out p, inout h_t h, in m_t m, in egress_intrinsic_metadata_for_deparser_t d) {{
  apply {{ }}
}}
Pipeline(IP(), I(), ID(), EP(), E(), ED()) pipe;
Switch(pipe) main;
"""
STATES = """p.extract(h.eth);
    transition select(h.eth.type) { 0xab37: bier; default: accept; }
  }
  state bier { p.extract(h.bier); transition accept;"""


def program(shape: Shape) -> str:
    """The program of a shape."""
    widths = list(enumerate(shape.widths))
    fields = " ".join(f"bit<{width}> b{i};" for i, width in widths)
    index = shape.kind == "idx" or (shape.bits == 256 and shape.kind == "direct")
    mirror = "bit<16> idx;" if index else fields
    remaining = f"struct rem_t {{ {fields} }}" if index else ""
    held = "rem_t r; mir_h mh;" if index else "mir_h r;"
    small = "mh" if index else "r"
    rest = ["m.mh.idx"] if index else [f"m.r.b{i}" for i, _ in widths]
    mirrored = ", ".join([f"m.{small}.t", f"m.{small}.pad", *rest])
    ors = " ".join(f"bit<32> t{i};" for i in range(len(widths)))
    emitted = f"mr.emit<mir_h>(m.sid, {{ {mirrored} }});"
    deparser = f"Mirror() mr; apply {{ if (d.mirror_type == 1) {{ {emitted} }} p.emit(h); }}"
    return f"""\
#include <core.p4>
#include <tna.p4>
header eth_h {{ bit<48> dst; bit<48> src; bit<16> type; }}
header bier_h {{ {fields} bit<16> proto; }}
header mir_h {{ bit<8> t; bit<8> pad; {mirror} }}
struct h_t {{ eth_h eth; bier_h bier; }}
{remaining}
struct fbm_t {{ {fields} }}
struct m_t {{
  {held} fbm_t f; MirrorId_t sid; bit<16> rr; bit<16> k; bit<1> more; bit<9> port;
  bit<32> any; {ors}
}}
{AROUND.format(states=STATES, ingress=_ingress(shape, widths, index, small), deparser=deparser)}"""


def _ingress(shape: Shape, widths: list[tuple[int, int]], index: bool, small: str) -> str:
    direct = shape.kind == "direct"
    masks = "".join(f", bit<{width}> m{i}" for i, width in widths)
    first = "bit<16> idx, " if index else ""
    note = " m.mh.idx = idx;" if index else ""
    keep = "".join(f" m.f.b{i} = m{i};" for i, _ in widths)

    def split(mask: str) -> str:
        return "".join(
            f" m.r.b{i} = h.bier.b{i} & ~{mask}{i}; h.bier.b{i} = h.bier.b{i} & {mask}{i};"
            for i, _ in widths
        )

    key = " ".join(f"h.bier.b{i}: ternary;" for i, _ in widths)
    left = " ".join(f"m.r.b{i}: ternary;" for i, _ in widths)
    zeros = ", ".join("0" for _ in widths)
    zeros = f"({zeros})" if len(widths) > 1 else zeros
    parts = [
        "  Register<bit<16>, bit<8>>(256, 0) rr;",
        "  RegisterAction<bit<16>, bit<8>, bit<16>>(rr) next = {"
        " void apply(inout bit<16> x, out bit<16> o) {"
        " o = x; if (x >= m.k) { x = 0; } else { x = x + 1; } } };",
        "  Register<bit<8>, bit<9>>(512, 0) pstat;",
        "  RegisterAction<bit<8>, bit<9>, bit<8>>(pstat) isdown = {"
        " void apply(inout bit<8> x, out bit<8> o) { o = x; } };",
        f"  action fwd({first}PortId_t port{masks}) {{ m.port = port;{note}"
        f"{split('m') if direct else keep} }}",
        "  action none() { d.drop_ctl = 1; }",
        f"  table bift {{ key = {{ {key} }} actions = {{ fwd; none; }} default_action = none();"
        f" size = {shape.bift}; }}",
        f"  action bk({first}PortId_t port{masks}) {{ m.port = port;{note}{keep} }}",
        f"  table frr {{ key = {{ {key} m.port: exact; }} actions = {{ bk; NoAction; }}"
        f" default_action = NoAction(); size = {shape.frr}; }}",
        f"  action split() {{{split('m.f.b')} }}",
        f"  action clone() {{ d.mirror_type = 1; m.{small}.t = 1; m.{small}.pad = 0; }}",
        "  action sess(MirrorId_t s) { m.sid = s; }",
        "  table msel { key = { m.rr: exact; } actions = { sess; NoAction; }"
        " default_action = NoAction(); size = 64; }",
        "  bit<8> down;",
        "  action yes() { m.more = 1; }",
        "  action no() { m.more = 0; }",
        f"  table tz {{ key = {{ {left} }} actions = {{ yes; no; }}"
        f" const default_action = yes(); size = 2; const entries = {{ {zeros}: no(); }} }}",
    ]
    test, condition = "        tz.apply();", "m.more == 1"
    if shape.kind == "ifs":
        test = "\n".join(f"        if (m.r.b{i} != 0) {{ m.more = 1; }}" for i, _ in widths)
    elif shape.kind == "gw":
        test, condition = "", " || ".join(f"m.r.b{i} != 0" for i, _ in widths)
    elif shape.kind == "or":
        actions, test = _or_tree([f"m.r.b{i}" for i, _ in widths])
        parts += actions
        condition = "m.any != 0"
    gate = "" if shape.kind in ("nofrr", "direct") else "        if (down != 0) { frr.apply(); }\n"
    again = "" if direct else "        split();\n"
    parts.append(f"""\
  apply {{
    if (h.bier.isValid()) {{
      m.k = 3;
      if (bift.apply().hit) {{
        down = isdown.execute(m.port);
{gate}        tm.ucast_egress_port = m.port;
{again}{test}
        if ({condition}) {{
          m.rr = next.execute(0);
          clone();
          msel.apply();
        }}
      }}
    }}
  }}""")
    return "\n".join(parts)


def _or_tree(words: list[str]) -> tuple[list[str], str]:
    """Tables without key that join the words two by two into `m.any`."""
    actions: list[str] = []
    applied: list[str] = []
    count = 0
    while len(words) > 1:
        joined = []
        for one, other in zip(words[::2], words[1::2], strict=True):
            target = "m.any" if len(words) == 2 else f"m.t{count}"
            actions.append(f"  action or{count}() {{ {target} = {one} | {other}; }}")
            actions.append(
                f"  table join{count} {{ actions = {{ or{count}; }}"
                f" default_action = or{count}(); size = 1; }}"
            )
            applied.append(f"        join{count}.apply();")
            joined.append(target)
            count += 1
        words = joined
    return actions, "\n".join(applied)
