"""The views of the notebook: what they show is what the switches did, and edits reach them.

Oracles are independent of the views: the ideal tree from the topology, the bytes of frames read by
scapy, the rows that the engine itself gives.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.l2 import Ether

from p4lab.control.listeners import membership
from p4lab.course.home import HERE
from p4lab.course.material import start
from p4lab.model.notation import Notation, ValueTextError, bit_numbers, bits, read, set_bits
from p4lab.notebook import Lab, open_lab
from p4lab.paths import ROOT
from p4lab.systems.bier.entries import ideal_copies
from p4lab.systems.bier.packets import BIER
from p4lab.systems.bier.views import passes
from p4lab.widgets import view
from p4lab.widgets.flights import flights
from p4lab.widgets.layout import edge, place

pytestmark = pytest.mark.beside(seconds=12)

SCRIPTS = (Path(view.__file__).parent / "js", Path(passes.__file__).parent)
WORDS = re.compile(r"^bits? (.+)$")


@pytest.fixture(autouse=True)
def nothing_in_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A student's folder that no test has named is a temporary one."""
    monkeypatch.setenv("P4LAB_FOLDER", str(tmp_path / "unnamed"))


@pytest.fixture
def lab() -> Lab:
    return open_lab("01-bier", folder=HERE.sources)


def lab_on(topology: str) -> Lab:
    return open_lab("01-bier", folder=HERE.sources, topology=topology)


@pytest.mark.parametrize("topology", ["tree10", "ring", "paper", "sets"])
def test_the_packets_that_fly_are_those_of_the_ideal_tree(topology: str) -> None:
    """A student trusts the picture: one arrow too many or too few teaches the wrong thing."""
    lab = lab_on(topology)
    sent = lab.send()
    stream = lab.plan.streams[0]
    ideal = ideal_copies(
        lab.topology,
        stream.source.name,
        int(stream.destination),
        membership(lab.plan),
        lab.plan.settings.bsl,
    )
    shown = Counter(
        (flight["source"], flight["target"]) for flight in lab.topology_view(sent).data["flights"]
    )
    assert shown == ideal
    assert sent.ok


def test_a_flight_has_the_bits_of_its_frame(lab: Lab) -> None:
    """The bits on a packet are those in the bytes on the wire, as scapy reads them."""
    sent = lab.send()
    expected = Counter()
    for hop in sent.all_hops():
        frame = Ether(hop.data)
        label = f"{frame[BIER].bit_string:010b}" if BIER in frame else "IPv4"
        expected[hop.source, hop.router, label] += 1
    seen = Counter(
        (flight.source, flight.target, flight.label)
        for flight in flights(sent)
        if flight.target in {router.name for router in lab.topology.routers}
    )
    assert seen == expected


def test_many_bits_are_counted_where_they_have_no_room() -> None:
    sent = lab_on("sets").send()
    for hop in sent.all_hops():
        frame = Ether(hop.data)
        if BIER in frame:
            count = frame[BIER].bit_string.bit_count()
            label = f"{count} bits" if count > 1 else "1 bit"
            assert label in [one.label for one in flights(sent) if one.target == hop.router]


def test_flights_follow_each_other_in_virtual_time(lab: Lab) -> None:
    """No copy leaves a router before the packet has come there."""
    found = flights(lab.send(packets=5))
    assert {flight.packet for flight in found} == set(range(5))
    for flight in found:
        assert flight.start < flight.end
        into = [
            other.end
            for other in found
            if (other.target, other.packet) == (flight.source, flight.packet)
        ]
        assert not into or min(into) <= flight.start


def test_a_broken_link_loses_what_is_on_it(lab: Lab) -> None:
    view = lab.topology_view(lab.send())
    lab.set_link("r1", "r2", False)
    assert view.down == [["r1", "r2"]]
    sent = lab.send()
    assert sent.missing == ("h2", "h4")
    lost = [flight for flight in flights(sent) if flight.lost]
    assert [(flight.source, flight.target) for flight in lost] == [("r1", "r2")]
    assert "the link is down" in str(lab.topology_view(sent).data["events"])
    lab.set_link("r1", "r2", True)
    assert lab.send().ok and view.down == []


def test_the_control_plane_finds_another_way_when_it_is_told() -> None:
    ring = lab_on("ring")
    ring.set_link("r1", "r2", False)
    assert not ring.send().ok
    ring.set_link("r1", "r2", True)
    ring.set_link("r1", "r2", False, tell=True)
    sent = ring.send()
    assert sent.ok and sent.copies("r1", "r2") == 0


@pytest.mark.parametrize("topology", ["tree10", "ring", "paper"])
def test_the_stepper_accounts_for_every_bit(topology: str) -> None:
    """At each router: what comes in equals what its copies carry, and its own bit."""
    lab = lab_on(topology)
    sent = lab.send()
    for hop in sent.all_hops():
        frame = Ether(hop.data)
        if BIER not in frame:
            continue
        wanted = frame[BIER].bit_string
        stepper = lab.bit_view(hop.router, sent)
        steps = [step for one in stepper.data["passes"] for step in one["steps"]]
        remaining = [int(step["state"]["remaining"] or "0", 2) for step in steps]
        assert max(remaining) == wanted and remaining[-1] == 0
        served = 0
        for one in stepper.data["passes"]:
            for copy in one["outcome"].split("; "):
                if " with bit" in copy:
                    words = copy.split(" with ")[1].replace(" and ", ", ")
                    numbers = WORDS.match(words)
                    assert numbers is not None
                    for number in numbers[1].split(", "):
                        assert not served >> int(number) - 1 & 1, "served twice"
                        served |= 1 << int(number) - 1
        own = 1 << lab.topology.router(hop.router).own("bfr_id") - 1
        assert served | (wanted & own) == wanted


def test_every_step_names_a_line_that_is_there(lab: Lab) -> None:
    data = lab.bit_view("r1", lab.send()).data
    for one in data["passes"]:
        for step in one["steps"]:
            if step["line"]:
                assert step["line"] <= len(data["sources"][step["file"]]["lines"])
    text = "\n".join(data["sources"][str(HERE.sources / "bier" / "bier.p4")]["lines"])
    assert text == (HERE.sources / "bier" / "bier.p4").read_text().rstrip("\n")


def test_the_packet_view_marks_what_changed_and_nothing_else(lab: Lab) -> None:
    data = lab.packet_view("r6", lab.send()).data
    (variant,) = data["variants"]
    headers = {header["name"]: header for header in variant["headers"]}
    assert [header["state"] for header in headers.values()] == ["changed", "added", "changed"]
    changed = {field["name"] for field in headers["ipv4"]["fields"] if field["changed"]}
    assert changed == {"ttl", "hdr_checksum"}
    bits = {field["name"]: field["after"] for field in headers["bier"]["fields"]}
    assert bits["bit_string"] == "bits 1, 7, 8 and 9"


def test_of_a_packet_that_is_dropped_there_is_what_came(tmp_path: Path) -> None:
    """Just then a student wants to see it: why does nothing match?"""
    list(start("03-protect", tmp_path))
    dropping = open_lab("03-protect", folder=tmp_path)
    dropping.send()
    view = dropping.packet_view("r1")
    assert view.data["variants"] == []
    came = {one["name"]: one["fields"] for one in view.data["came"]}
    assert list(came) == ["ethernet", "ipv4", "ports"]
    assert came["ipv4"]["dst_addr"] == "10.0.5.1"
    assert view.summary().startswith("r1 got a packet from h1 and sent nothing\nethernet: ")
    assert "<th>ipv4.ttl<td>64</tr>" in view.picture()
    assert dropping.packet_view("r2").data["came"] == [], "no packet came there"


def test_a_removed_header_stands_where_it_stood(lab: Lab) -> None:
    data = lab.packet_view("r1", lab.send()).data
    to_host = next(one for one in data["variants"] if one["label"].startswith("to h5"))
    assert [(h["name"], h["state"]) for h in to_host["headers"]] == [
        ("ethernet", "changed"),
        ("bier", "removed"),
        ("ipv4", "changed"),
    ]


def row_of(table: view.View, key: str) -> dict[str, object]:
    return next(row for row in table.data["rows"] if row["keys"][1] == key)


def test_an_edit_goes_to_the_switch_and_the_next_packet_meets_it(lab: Lab) -> None:
    table = lab.table_view("r1", "bift")
    assert lab.send().copies("r1", "r2") == 1
    row = row_of(table, "bit 7")
    table._message(None, {**row, "do": "set", "args": {"fbm": "{7}", "port": "2"}}, None)
    assert table.message["ok"], table.message
    assert lab.entries("r1", "bift")[-1]["args"] != {}
    assert {"fbm": 64, "port": 2} in [entry["args"] for entry in lab.entries("r1", "bift")]
    assert lab.send().copies("r1", "r2") == 2
    lab.reload()
    assert lab.send().copies("r1", "r2") == 1


def test_a_deleted_row_drops_its_receivers_and_can_be_added_again(lab: Lab) -> None:
    table = lab.table_view("r1", "bift")
    row = row_of(table, "bit 8")
    table._message(None, {"do": "delete", "handle": row["handle"]}, None)
    assert "h3" in lab.send().missing
    table._message(None, {**row, "do": "add"}, None)
    assert table.message["ok"], table.message
    assert lab.send().ok


def test_the_control_plane_wins_over_rows_made_by_hand() -> None:
    """After a deletion by hand the control plane's next batch must not fail."""
    ring = lab_on("ring")
    table = ring.table_view("r1", "bift")
    for row in list(table.data["rows"])[:4]:
        table._message(None, {"do": "delete", "handle": row["handle"]}, None)
        assert table.message["ok"]
    ring.set_link("r1", "r2", False, tell=True)
    ring.set_link("r1", "r2", True, tell=True)
    assert ring.send().copies("r1") > 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"args": {"fbm": "bits 7", "port": "2"}}, "Fbm: bits 7 is not a number"),
        ({"args": {"fbm": "-1", "port": "2"}}, "Fbm: -1 is negative"),
        ({"args": {"fbm": "{0}", "port": "2"}}, "Fbm: bits are counted from 1"),
        ({"args": {"fbm": "1", "port": "600"}}, "Port: 600 does not fit into 9 bits"),
        ({"args": {"fbm": "1"}}, "Port: nothing is not a number"),
        ({"keys": ["1", "bit 1"], "do": "add"}, "already"),
        ({"handle": 4711}, "This row is gone"),
        ({"action": "nonsense"}, "The table has no action nonsense"),
        ({"priority": "x"}, "Priority: x is not a number"),
    ],
)
def test_a_wrong_edit_is_one_sentence_and_changes_nothing(
    lab: Lab, change: dict[str, object], sentence: str
) -> None:
    table = lab.table_view("r1", "bift")
    row = row_of(table, "bit 7")
    if sentence == "already":
        change = {**row, "do": "add"}
    before = lab.entries("r1", "bift")
    table._message(None, {"do": "set", **row, **change}, None)
    assert not table.message["ok"]
    assert sentence.lower() in table.message["text"].lower()
    assert table.message["text"].count("\n") == 0 and table.message["text"].endswith(".")
    assert lab.entries("r1", "bift") == before


def test_random_edits_never_break_the_view(lab: Lab) -> None:
    """Whatever a student types, the answer is a sentence and the switch goes on."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    texts = [
        "",
        "0",
        "7",
        "{1,2}",
        "0xZZ",
        "*",
        "bit 3",
        "1 &&& 1",
        "999999999999",
        "a.b.c.d",
        "1/2",
    ]
    table = lab.table_view("r1", "bift")
    actions = [*table.data["actions"], "gone"]
    for _ in range(120):
        rows = table.data["rows"] or [{"handle": 0}]
        table._message(
            None,
            {
                "do": draw.choice(["set", "add", "delete"]),
                "handle": draw.choice(rows)["handle"],
                "keys": [draw.choice(texts), draw.choice(texts)],
                "priority": draw.choice(texts),
                "action": draw.choice(actions),
                "args": {"fbm": draw.choice(texts), "port": draw.choice(texts)},
            },
            None,
        )
        assert table.message["text"].endswith(".")
    lab.send()


FIELDS = (
    ("fbm", 64),
    ("port", 64),
    ("mac", 48),
    ("dst", 32),
    ("group", 32),
    ("ipv6.src_addr", 128),
    ("ether_type", 16),
)


@given(st.integers(0, 2**128 - 1), st.integers(1, 16))
def test_values_are_read_as_they_are_shown(value: int, digits: int) -> None:
    notation = Notation({"fbm": bits(digits)})
    for name, width in FIELDS:
        part = value & (1 << width) - 1
        assert read(name, notation.text(name, part, width), width) == part


def test_a_set_has_a_digit_for_every_router(lab: Lab) -> None:
    """Of 64 bits a topology of ten routers has ten to show."""
    texts = [row["args"]["fbm"] for row in lab.table_view("r1", "bift").data["rows"]]
    assert texts and all(re.fullmatch(r"0b[01]{10}", text) for text in texts)
    wide = lab_on("sets").table_view("r1", "bift").data["rows"]
    assert any(re.fullmatch(r"\{\d+(, \d+)+\}", row["args"]["fbm"]) for row in wide)


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_a_sentence(text: str) -> None:
    try:
        assert 0 <= read("port", text, 9) < 512
    except ValueTextError as error:
        assert str(error).startswith("port: ")


@given(st.integers(0, 2**10 - 1))
def test_bits_are_said_by_their_numbers(value: int) -> None:
    numbers = [int(number) for number in re.findall(r"\d+", bit_numbers(value))]
    assert sum(1 << number - 1 for number in numbers) == value
    assert numbers == set_bits(value)


def starter(folder: Path) -> Lab:
    for _ in start("01-bier", folder):
        pass
    return open_lab("01-bier", folder=folder)


def test_a_starter_that_does_nothing_can_be_watched(tmp_path: Path) -> None:
    lab = starter(tmp_path)
    sent = lab.send()
    assert not sent.ok and sent.copies("r6", "r1") == 0
    assert lab.bit_view("r1").summary() == "r1 got no packet"
    assert "r1 got no packet" in lab.packet_view("r1").picture()
    assert "r6 sends nothing" in lab.topology_view().picture()


def test_a_saved_file_is_compiled_anew_and_a_wrong_one_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next packet runs what the editor has saved; a mistake is said."""
    from p4lab.notebook.saying import DoesNotCompile

    lab = starter(tmp_path)
    lab.send()
    program = tmp_path / "bier" / "bier.p4"
    program.write_text("nonsense")
    with pytest.raises(DoesNotCompile, match="does not compile: "):
        lab.send()
    program.write_text((HERE.sources / "bier" / "bier.p4").read_text())
    assert lab.send().ok
    assert "compiled again" in capsys.readouterr().out


def test_the_errors_of_a_program_stand_in_place_of_its_pictures(tmp_path: Path) -> None:
    """A picture beside a program that no longer compiles is that of another program."""
    from p4lab.notebook.saying import DoesNotCompile

    lab = starter(tmp_path)
    views = [lab.topology_view(), lab.bit_view("r1"), lab.packet_view("r1")]
    before = [one.picture() for one in views]
    program = tmp_path / "bier" / "bier.p4"
    text = program.read_text()
    program.write_text(text.replace("carried.source_port = arrival", "carried.port = arrival"))
    with pytest.raises(DoesNotCompile):
        lab.send()
    for one in views:
        assert one.broken and "has no member `port`" in one.old and "bier.p4:" in one.old
        assert "has no member" in one.picture() and one.drawn() not in one.picture()
        assert one.summary() == one.old
    program.write_text(text)
    lab.send()
    for one in views:
        one.show(None)
    assert [one.picture() for one in views] == before
    assert not any(one.broken for one in views)


def test_a_program_that_loops_stops_with_a_sentence(tmp_path: Path) -> None:
    """Frames in a loop end the run, not the notebook."""
    lab = starter(tmp_path)
    program = tmp_path / "bier" / "bier.p4"
    text = (HERE.sources / "bier" / "bier.p4").read_text()
    broken = text.replace("hdr.bier.bit_string = carried.remaining & fbm;", "")
    broken = broken.replace("hdr.bier.ttl = hdr.bier.ttl - 1;", "")
    assert broken != text
    program.write_text(broken)
    sent = lab.send()
    lab.topology_view(sent).picture()
    assert not sent.ok or sent.problem
    assert lab.send(packets=1).hops


@pytest.mark.parametrize(
    ("name", "topology"),
    [("01-bier", "tree10"), ("01-bier", "ring"), ("04-msr6", None), ("06-bng", None)],
)
def test_words_in_the_picture_cover_neither_nodes_nor_links(
    name: str, topology: str | None
) -> None:
    """What stands beside a node keeps off the links, where arrows go, and each arrow has room."""
    lab = open_lab(name, folder=HERE.sources, topology=topology)
    data = lab.topology_view().data
    places = place(lab.topology, lab.plan.streams[0].source.name)
    assert {one["name"]: (one["x"], one["y"]) for one in data["nodes"]} == places.nodes
    nodes = {one["name"]: one for one in data["nodes"]}
    for one in nodes.values():
        if one["kind"] == "host":
            assert one["half"] >= len(one["name"]) * 7.2 / 2  # bold letters of 12 pixels
        if not one["mark"]:
            continue
        x, bottom = one["mark_at"]
        reach = len(one["mark"]) * 2.7
        text = [(x + reach * part / 10, bottom - 4) for part in range(-10, 11)]
        for a, b in data["links"]:
            for part in range(101):
                (x1, y1), (x2, y2) = places.nodes[a], places.nodes[b]
                on = (x1 + (x2 - x1) * part / 100, y1 + (y2 - y1) * part / 100)
                assert min(math.dist(on, point) for point in text) > 3, (one["name"], a, b)
        for other, (there, down) in places.nodes.items():
            off = min(math.dist((there, down), point) for point in text)
            assert off > places.size, (one["name"], other)
    for a, b in data["links"]:
        (x1, y1), (x2, y2) = places.nodes[a], places.nodes[b]
        length = math.dist((x1, y1), (x2, y2))
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        ends = sum(edge(nodes[end].get("half"), places.size, ux, uy) for end in (a, b))
        assert length - ends > 14, (a, b)  # as long as the head of an arrow


MODULES = [
    path
    for folder in SCRIPTS
    for path in sorted(folder.glob("*.js"))
    if path.name not in ("common.js", "player.js")
]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_view_brings_all_it_needs(module: Path) -> None:
    """No network in a lab room: no import is left, no address is asked, and it is small."""
    text = view.script(module.name, module.parent)
    sheets = view.style(*module.parent.glob(f"{module.stem}.css"))
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert text.count("export ") == 1 and "export default { render };" in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text + sheets)
    assert len(text.encode()) + len(sheets.encode()) < 50_000


def test_a_cell_with_p4_is_a_program_for_the_lab() -> None:
    from p4lab.magic import UsageError, compile_cell

    text = (HERE.sources / "bier" / "bier.p4").read_text()
    mine = compile_cell("mine --lab 01-bier --file bier/bier.p4", text)
    assert mine.ok
    lab = open_lab("01-bier", program=mine)
    assert lab.send().ok
    assert "bier/bier.p4" in lab.bit_view("r1").data["sources"]
    wrong = compile_cell("mine", "header h_t { bit<8> ttl }\n")
    html = wrong._repr_html_()
    assert not wrong.ok and "E0101" in html and "mine.p4" in html and "^" in html
    assert "&lt;8&gt;" in html, "code is text, whatever is in it"
    for line in ("two words", "x --file y.p4", "x --lab 01-bier --file nothing.p4", "x -D", "3"):
        with pytest.raises(UsageError, match="%%p4: "):
            compile_cell(line, text)


def test_a_cell_says_first_that_a_file_is_not_there() -> None:
    """What it should have declared is missed ten times above the line that wants it."""
    from p4lab.magic import compile_cell

    text = (HERE.sources / "bier-frr" / "frr.p4").read_text()
    assert text.count('"../bier/bier.p4"') == 1
    wrong = text.replace('"../bier/bier.p4"', '"../bier/bierz.p4"')
    html = compile_cell("mine --lab 02-frr --file bier-frr/frr.p4", wrong)._repr_html_()
    assert re.findall(r"<b>error (E\d+)</b>", html)[:2] == ["E0010", "E0201"]


def test_the_notebook_and_its_extension_are_in_their_places() -> None:
    from p4lab.notebook.server import CONFIG, Server

    notebook = ROOT / "notebooks" / "01-bier.ipynb"
    server = Server(ROOT, notebook, 8888)
    assert server.path == "/lab/tree/notebooks/01-bier.ipynb"
    assert server.token in server.url and len(server.token) >= 20
    assert (CONFIG / "labconfig" / "page_config.json").is_file()
    assert not any(server.token in word for word in server._command()), "others see it in ps"


def test_files_are_looked_at_once_for_a_packet_however_many_views_there_are(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is sent, and for none of the views. In a browser each look takes a tenth of a
    second, and a notebook that looks for each of its views takes a minute."""
    views = [lab.topology_view(), lab.bit_view("r1"), lab.packet_view("r1")]
    looks: list[int] = []
    age = type(lab.folder).age
    monkeypatch.setattr(type(lab.folder), "age", lambda folder: looks.append(1) or age(folder))
    lab.send()
    assert len(looks) == 1
    assert [one.old for one in views] == [""] * len(views)
