"""Our compiler and switch under the names of p4c's and bmv2's.

If these fail, `make run` of p4lang/tutorials ends with an error, or controllers for bmv2 do not
find their tables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab import _engine
from p4lab.p4runtime.carried import KEY
from p4lab.p4runtime.switch import load
from p4lab.paths import SHIMS_MARK, without_shims
from p4lab.shims import compiler, folder
from p4lab.shims.p4c_line import Line, LineError, parse
from p4lab.shims.source import whole_source

HEADERS = """
#ifndef HEADERS
#define HEADERS
#include "headers.p4"
header tag_t { bit<16> kind; bit<8> color; }
struct headers_t { tag_t tag; }
struct metadata_t { bit<4> class; }
#endif
"""
PROGRAM = """
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#ifdef ABSENT
#include "absent.p4"
#endif

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta,
         inout standard_metadata_t standard) {
    state start { packet.extract(hdr.tag); transition accept; }
}
control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(CELLS, CounterType.packets) seen;
    direct_counter(CounterType.packets) hits;
    register<bit<24>>(7) last;
    action drop() { mark_to_drop(standard); }
    action send(bit<9> port, bit<4> class) {
        seen.count(0);
        last.write(0, 1);
        meta.class = class;
        standard.egress_spec = port;
    }
    table by_kind {
        key = { hdr.tag.kind: exact; meta.class: ternary; }
        actions = { send; drop; }
        default_action = drop();
        counters = hits;
        size = 64;
    }
    apply { by_kind.apply(); }
}
control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    table last_look { actions = { NoAction; } default_action = NoAction(); }
    apply { last_look.apply(); }
}
control Compute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.tag); } }
V1Switch(P(), Verify(), In(), Out(), Compute(), D()) main;
"""
CONTROLLER = """
import queue, sys
import grpc
from google.rpc import code_pb2
from p4.config.v1 import p4info_pb2
from p4.tmp import p4config_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
import google.protobuf.text_format as text
import p4runtime_sh.p4runtime

address, info, config = sys.argv[1:]
stub = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel(address))
asked = queue.Queue()
hello = p4runtime_pb2.StreamMessageRequest()
hello.arbitration.device_id = 3
hello.arbitration.election_id.low = 1
asked.put(hello)
stream = stub.StreamChannel(iter(asked.get, None), wait_for_ready=True, timeout=20)
assert next(stream).arbitration.status.code == code_pb2.OK
wrapped = p4config_pb2.P4DeviceConfig(reassign=True, device_data=open(config, "rb").read())
request = p4runtime_pb2.SetForwardingPipelineConfigRequest(device_id=3)
request.election_id.low = 1
request.action = request.VERIFY_AND_COMMIT
text.Parse(open(info).read(), request.config.p4info)
request.config.p4_device_config = wrapped.SerializeToString()
stub.SetForwardingPipelineConfig(request)
asked.put(None)
stream.cancel()
print("the program is there:", request.config.p4info.tables[0].preamble.name)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program of two files that needs a definition from outside."""
    (tmp_path / "headers.p4").write_text(HEADERS)
    file = tmp_path / "little.p4"
    file.write_text(PROGRAM)
    return file


def compiled(program: Path, *words: str) -> dict:
    """The JSON that p4c-bm2-ss writes."""
    output = program.parent / "little.json"
    assert compiler.main("p4c-bm2-ss", ["-DCELLS=5", *words, "-o", str(output), str(program)]) == 0
    return json.loads(output.read_text())


def test_control_planes_find_their_tables_in_the_json(program: Path) -> None:
    config = compiled(program)
    ingress, egress = config["pipelines"]
    (table,) = ingress["tables"]
    assert [one["name"] for one in egress["tables"]] == ["Out.last_look"]
    assert table["name"] == "In.by_kind"
    assert (table["max_size"], table["match_type"], table["type"]) == (64, "ternary", "simple")
    assert table["with_counters"] and not table["support_timeout"]
    actions = {action["id"]: action for action in config["actions"]}
    assert {actions[number]["name"] for number in table["action_ids"]} == {"In.send", "In.drop"}
    (send,) = [action for action in config["actions"] if action["name"] == "In.send"]
    assert send["runtime_data"] == [
        {"name": "port", "bitwidth": 9},
        {"name": "class", "bitwidth": 4},
    ]
    # As simple_switch_CLI looks for the width of a key:
    types = {one["name"]: dict(f[:2] for f in one["fields"]) for one in config["header_types"]}
    of_header = {one["name"]: types[one["header_type"]] for one in config["headers"]}
    widths = [of_header[key["target"][0]][key["target"][1]] for key in table["key"]]
    assert widths == [16, 4]
    arrays = {(one["name"], one.get("size")) for one in config["counter_arrays"]}
    assert arrays == {("In.seen", 5), ("In.hits", None)}
    (register,) = config["register_arrays"]
    assert (register["name"], register["size"], register["bitwidth"]) == ("In.last", 7, 24)


def test_the_json_carries_the_whole_program(program: Path) -> None:
    original = _engine.compile(str(program), [], [("CELLS", "5")]).program
    compiled(program)
    program.unlink()
    (program.parent / "headers.p4").unlink()
    found = load(program.parent / "little.json")
    assert original is not None
    assert found.is_same_code(original)
    assert found.p4info() == original.p4info()
    assert not found.is_same_code(load(program.parent / "little.json", bmv2_compat=True))


def test_an_error_is_told_at_the_place_in_the_file_that_has_it(program: Path) -> None:
    (program.parent / "headers.p4").write_text(HEADERS.replace("bit<8> color", "byte color"))
    result = _engine.compile_text("whole.p4", whole_source(program, defines=[("CELLS", "5")]))
    assert "headers.p4:5" in result.render(), "the fifth line of headers.p4"


@pytest.mark.parametrize("ending", ["txtpb", "txt", "json", "bin"])
def test_p4info_is_written_in_the_form_of_its_ending(program: Path, ending: str) -> None:
    p4i = pytest.importorskip("finsy.proto").p4i
    from google.protobuf import json_format, text_format

    file = program.parent / f"out.{ending}"
    compiled(program, "--p4runtime-files", str(file))
    read = {
        "json": lambda data: json_format.Parse(data, p4i.P4Info()),
        "bin": p4i.P4Info.FromString,
    }
    parse_text = lambda data: text_format.Parse(data, p4i.P4Info())  # noqa: E731
    found = read.get(ending, parse_text)(file.read_bytes())
    assert [table.preamble.name for table in found.tables] == ["In.by_kind", "Out.last_look"]


def test_p4c_writes_into_a_folder(program: Path) -> None:
    words = ["--target", "bmv2", "--arch", "v1model", "--std", "p4-16", "-D", "CELLS=5"]
    output = program.parent / "a" / "build"
    assert compiler.main("p4c", [*words, "-o", str(output), str(program)]) == 0
    assert KEY in json.loads((output / "little.json").read_text())
    assert (output / "little.p4i").is_file()


def test_a_wrong_program_ends_with_1_and_its_place(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiler.main("p4c-bm2-ss", ["-o", "none.json", str(program)]) == 1
    assert "little.p4" in capsys.readouterr().err, "CELLS is not defined"


@pytest.mark.parametrize(
    ("tool", "words", "expected"),
    [
        (
            "p4c-bm2-ss",
            "--p4v 16 --p4runtime-files build/a.p4.p4info.txtpb -o build/a.json a.p4",
            Line(Path("a.p4"), Path("build/a.json"), (Path("build/a.p4.p4info.txtpb"),)),
        ),
        (
            "p4c-bm2-ss",
            "--std=p4-16 -Iinc -I more -DX=2 -D Y --Wdisable=unused -T x:3 a.p4",
            Line(Path("a.p4"), include_dirs=("inc", "more"), defines=(("X", "2"), ("Y", "1"))),
        ),
        (
            "p4c",
            "-b bmv2 -a v1model --p4runtime-files=a.txt,b.json -o out d/a.p4",
            Line(Path("d/a.p4"), Path("out/a.json"), (Path("a.txt"), Path("b.json"))),
        ),
        ("p4c", "a.p4", Line(Path("a.p4"), Path("a.json"))),
    ],
)
def test_lines_of_makefiles(tool: str, words: str, expected: Line) -> None:
    assert parse(tool, words.split()) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--std p4-14 a.p4", "P4_16"),
        ("--target tofino a.p4", "bmv2 only"),
        ("--arch psa a.p4", "v1model"),
        ("--toJSON x a.p4", "toJSON"),
        ("--nonsense x a.p4", "no option --nonsense"),
        ("a.p4 b.p4", "one program"),
        ("-o", "-o needs a value"),
        ("-o x", "no program"),
    ],
)
def test_what_cannot_be_done_is_refused(words: str, said: str) -> None:
    with pytest.raises(LineError, match=said):
        parse("p4c", words.split())


def test_shims_are_not_taken_for_bmv2(tmp_path: Path) -> None:
    names = folder.make_shims(tmp_path / "shims")
    assert {"p4c-bm2-ss", "p4c", "simple_switch_grpc", "simple_switch"} <= set(names)
    path = folder.on_path(tmp_path / "shims", {"PATH": "/bin"})["PATH"]
    assert shutil.which("p4c-bm2-ss", path=path) == str(tmp_path / "shims" / "p4c-bm2-ss")
    assert without_shims(path).split(os.pathsep)[0] == "/bin"
    assert folder.make_shims(tmp_path / "shims") == names, "a second time, over the first"


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = p4lab("shims", tmp_path)
    assert done.returncode == 2
    assert "other files" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
    assert SHIMS_MARK not in os.listdir(tmp_path)


def test_a_controller_sets_the_program_with_the_wrapper_of_the_tutorials(program: Path) -> None:
    """From a Makefile's lines to the controller's, each tool found on the path of `p4lab shell`."""
    (program.parent / "mycontroller.py").write_text(CONTROLLER)
    lines = """
        set -e
        p4c-bm2-ss --p4v 16 -DCELLS=5 --p4runtime-files l.p4info.txtpb -o l.json little.p4
        simple_switch_grpc --device-id 3 --no-p4 --nanolog ipc:///x --thrift-port 9090 \\
            -- --grpc-server-addr 127.0.0.1:0 > switch.log 2>&1 &
        trap "kill $!" EXIT
        while ! grep -q "Server listening on" switch.log; do sleep 0.1; done
        echo "pkill finds $(cat /proc/$!/comm)"
        address=$(sed -n 's/^Server listening on //p' switch.log)
        python3 mycontroller.py $address l.p4info.txtpb l.json
    """
    done = subprocess.run(
        [sys.executable, "-m", "p4lab", "shell", "sh", "-c", lines],
        cwd=program.parent,
        env={**os.environ, "PYTHONPATH": str(Path(_engine.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the program is there: In.by_kind" in done.stdout
    assert "pkill finds simple_switch" in done.stdout, "as scripts that end the switch look for it"
