"""Table writes over P4Runtime: ours, and simple_switch_grpc's where it is on the machine.

Both get the same bytes from the same client, batch after batch. The client is a native one: to one
in Python, which takes longer to send a write than a server to carry it out, all servers look alike.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from p4lab import _engine
from p4lab.bench.measure import Measure, Say, missing, of, part, ratios, repeats
from p4lab.bench.tables import table_source

GROUP = "P4Runtime"
# By size of the batches: entries written, in less than a second fewer, and what of bmv2's rate we
# promise.
BATCHES = {1: (5_000, 2.0), 1_000: (100_000, 2.0), 10_000: (200_000, 2.0)}
TABLE_SIZE = 250_000
START_SECONDS = 20
DEVICE = 0
SERVICE = "/p4.v1.P4Runtime/"


@dataclass(frozen=True)
class Contestant:
    """A server that listens, and the device configuration that it wants."""

    address: str
    device_config: bytes


def writing(seconds: float, say: Say) -> Iterator[Measure]:
    """Inserts per second, one by one and in batches, and as ratios to simple_switch_grpc's."""
    try:
        import grpc  # noqa: F401 # heavy: grpc and finsy, an extra of ours: what the client needs
        from finsy.proto import p4i, p4r  # noqa: F401
    except ImportError as error:
        yield missing(GROUP, "inserts", "entries/s", f"not installed: {error.name}")
        return
    with tempfile.TemporaryDirectory(prefix="p4lab-bench-") as name:
        source = Path(name) / "bench.p4"
        source.write_text(table_source("exact", TABLE_SIZE))
        result = _engine.compile(str(source))
        if result.program is None:
            raise ValueError(result.render())
        requests = {
            batch: _requests(result.p4info(), batch, part(count, seconds, batch))
            for batch, (count, _) in BATCHES.items()
        }
        own: dict[int, list[float]] = {batch: [] for batch in BATCHES}
        other: dict[int, list[float]] = {batch: [] for batch in BATCHES}
        with _ours(result.program) as ours, _bmv2(source) as bmv2:
            for _ in range(repeats(seconds)):
                for batch, messages in requests.items():
                    say(f"writing over P4Runtime, batches of {batch:,}")
                    own[batch].append(_rate(ours, result.p4info(), messages, batch))
                    if isinstance(bmv2, Contestant):
                        say(f"writing to simple_switch_grpc, batches of {batch:,}")
                        other[batch].append(_rate(bmv2, result.p4info(), messages, batch))
            absent = bmv2 if isinstance(bmv2, str) else ""
    for batch, (_, goal) in BATCHES.items():
        how = "one by one" if batch == 1 else f"batches of {batch:,}"
        yield of(GROUP, f"inserts, {how}", "entries/s", own[batch])
        if absent:
            yield missing(GROUP, f"inserts, {how}", "x bmv2", absent, goal)
        else:
            yield of(GROUP, f"bmv2's inserts, {how}", "entries/s", other[batch])
            values = ratios(own[batch], other[batch])
            yield of(GROUP, f"inserts, {how}", "x bmv2", values, goal)


def _requests(info: str, batch: int, count: int) -> list[bytes]:
    """Serialized batches of so many inserts in all."""
    from finsy.proto import p4r

    table, action = _ids(info)
    messages = []
    for first in range(0, count, batch):
        request = p4r.WriteRequest(device_id=DEVICE)
        request.election_id.low = 1
        for key in range(first, first + batch):
            update = request.updates.add(type=p4r.Update.INSERT)
            entry = update.entity.table_entry
            entry.table_id = table
            length = max(1, (key.bit_length() + 7) // 8)
            entry.match.add(field_id=1).exact.value = key.to_bytes(length, "big")
            entry.action.action.action_id = action
            entry.action.action.params.add(param_id=1, value=b"\x01")
        messages.append(request.SerializeToString())
    return messages


def _parsed(info: str) -> Any:
    from finsy.proto import p4i
    from google.protobuf import text_format

    return text_format.Parse(info, p4i.P4Info())


def _ids(info: str) -> tuple[int, int]:
    parsed = _parsed(info)
    action = next(item for item in parsed.actions if item.preamble.alias == "forward")
    return parsed.tables[0].preamble.id, action.preamble.id


def _rate(contestant: Contestant, info: str, messages: list[bytes], batch: int) -> float:
    """Entries per second from an empty table on."""
    import grpc
    from finsy.proto import p4r

    with grpc.insecure_channel(contestant.address) as channel:
        update = p4r.StreamMessageRequest()
        update.arbitration.device_id = DEVICE
        update.arbitration.election_id.low = 1
        open_stream = channel.stream_stream(SERVICE + "StreamChannel")
        stream = open_stream(_once_and_wait(update.SerializeToString()))
        next(stream)
        config = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE)
        config.election_id.low = 1
        config.action = config.VERIFY_AND_COMMIT
        config.config.p4info.CopyFrom(_parsed(info))
        config.config.p4_device_config = contestant.device_config
        set_config = channel.unary_unary(SERVICE + "SetForwardingPipelineConfig")
        set_config(config.SerializeToString(), timeout=60)
        seconds = _engine.bench_calls(contestant.address, SERVICE + "Write", messages)
        stream.cancel()
        return len(messages) * batch / seconds


def _once_and_wait(message: bytes) -> Iterator[bytes]:
    yield message
    threading.Event().wait(600)


@contextmanager
def _ours(program: _engine.Program) -> Iterator[Contestant]:
    forwarder = _engine.Forwarder(program, [], _engine.Inbox())
    server = _engine.P4RuntimeServer("127.0.0.1:0")
    try:
        server.add(DEVICE, forwarder)
        yield Contestant(server.address, b"")
    finally:
        server.close()
        forwarder.stop()


@contextmanager
def _bmv2(source: Path) -> Iterator[Contestant | str]:
    """simple_switch_grpc without interfaces, or a sentence that says what is missing."""
    switch, compiler = shutil.which("simple_switch_grpc"), shutil.which("p4c-bm2-ss")
    if not (switch and compiler):
        names = {"simple_switch_grpc": switch, "p4c-bm2-ss": compiler}
        yield f"not installed: {', '.join(name for name, path in names.items() if not path)}"
        return
    program = source.with_suffix(".json")
    done = subprocess.run(
        [compiler, "--arch", "v1model", "-o", str(program), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        yield f"p4c-bm2-ss failed: {' '.join(done.stderr.split())[:200]}"
        return
    address = f"127.0.0.1:{20_000 + os.getpid() % 40_000}"
    command = [switch, "--no-p4", "--device-id", str(DEVICE), *_no_thrift(switch)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "--", "--grpc-server-addr", address], stdout=quiet, stderr=quiet
    ) as process:
        try:
            yield _when_it_listens(address, process) or Contestant(address, program.read_bytes())
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _no_thrift(switch: str) -> list[str]:
    """What keeps it from a port that another switch may have; a build without Thrift refuses it."""
    done = subprocess.run([switch, "--help"], capture_output=True, text=True, check=False)
    return ["--thrift-port", "0"] if "--thrift-port" in done.stdout else []


def _when_it_listens(address: str, process: subprocess.Popen[bytes]) -> str:
    """Waits for a server; what went wrong, if it does not come."""
    import grpc

    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=START_SECONDS)
        except grpc.FutureTimeoutError:
            ended = process.poll()
            return f"simple_switch_grpc did not listen (exit status {ended})"
    return ""
