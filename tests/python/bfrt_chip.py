"""Our switch in a chip's place, in this process: what `p4lab switch --arch tna` runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import grpc

from p4lab import _engine
from p4lab.engine import load_program
from p4lab.paths import ROOT
from p4lab.targets.tofino.messages import METHODS, PACKAGE, SERVICE, msg

ALL_PIPES = 0xFFFF
CPU_PORT = 192
"""Where frames come from that a test sends by `forwarder.send_from_cpu`: in pipe 1"""
ANSWERS = ("PortStat", "PortHdlInfo", "PortFpIdxInfo", "PortStrInfo", "DynHashCompute")
"""Tables that hold nothing that somebody has written"""


class Caller:
    """The calls of the service, as they are on the wire."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.insecure_channel(address)
        for name, request, answer in METHODS:
            streams = [word.startswith(">") for word in (request, answer)]
            way = "_".join("stream" if streaming else "unary" for streaming in streams)
            call = getattr(self.channel, way)(
                f"/{PACKAGE}.{SERVICE}/{name}",
                request_serializer=getattr(msg, request.lstrip(">")).SerializeToString,
                response_deserializer=getattr(msg, answer.lstrip(">")).FromString,
            )
            setattr(self, name, call)


@cache
def lab_program() -> Any:
    """p4/bier/tna.p4 for short BitStrings, compiled once."""
    return load_program(ROOT / "p4/bier/tna.p4", [("BSL", "64")])


class Chip:
    """A switch with a server of BF Runtime, and all that it holds."""

    def __init__(
        self, name: str, program: Any = None, ports: Iterable[tuple[int, str]] = ()
    ) -> None:
        self.name = name
        self._program = program or lab_program()
        self._ports = list(ports)
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        """As new, where it was before."""
        self.forwarder = _engine.Forwarder(
            self._program, self._ports, _engine.Inbox(), cpu_port=CPU_PORT
        )
        self._server = _engine.BfrtServer([self.name], self.forwarder, self.address)
        self.address = self._server.address
        self._caller: Any = Caller(self.address)
        request = msg.GetForwardingPipelineConfigRequest()
        told = self._caller.GetForwardingPipelineConfig(request)
        infos = (told.config[0].bfruntime_info, told.non_p4_config.bfruntime_info)
        self.tables = [table for info in infos for table in json.loads(info)["tables"]]

    def end(self) -> None:
        """As a switch ends whose process does."""
        self._caller.channel.close()
        self._server.close()
        self.forwarder.stop()

    def __enter__(self) -> Chip:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def state(self) -> dict[str, Any]:
        """All that it holds, by table, as it comes on the wire."""
        found = {}
        for table in self.tables:
            kind = table["table_type"]
            if kind in ANSWERS:
                continue
            held = self._read(table["id"])
            if "action_specs" in table and table["key"] and kind.startswith("MatchAction"):
                held |= self._read(table["id"], is_default_entry=True)
            found[table["name"]] = held
        return found

    def _read(self, table: int, **asked: bool) -> set[bytes]:
        request = msg.ReadRequest()
        request.target.pipe_id = ALL_PIPES
        entry = request.entities.add().table_entry
        entry.table_id, entry.table_flags.from_hw = table, True
        for name, value in asked.items():
            setattr(entry, name, value)
        answers = self._caller.Read(request)
        return {
            entity.table_entry.SerializeToString(deterministic=True)
            for answer in answers
            for entity in answer.entities
        }
