"""BFRT on a socket: a client's number, its stream and its calls."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import grpc

from p4lab.control.channel import Channel
from p4lab.targets.tofino.messages import METHODS, PACKAGE, SERVICE, msg

CALL = 1.0  # seconds for a subscription to be answered
DEVICE = 0
ALL_PIPES, BOTH_DIRECTIONS, ALL_PARSERS = 0xFFFF, 0xFF, 0xFF
NOT_FOUND = 5  # gRPC's code
LONGEST = 1 << 30  # bytes of a message
DETAILS = "grpc-status-details-bin"


class WireError(Exception):
    """What a server has refused, in one sentence. `not_there`: nothing else went wrong than that
    there is no such row."""

    def __init__(self, text: str, *, not_there: bool = False) -> None:
        self.not_there = not_there
        super().__init__(text)


class Wire:
    """A client that has subscribed. Digests and idle timeouts are not for it: nobody here would
    take them."""

    def __init__(self, address: str, client: int) -> None:
        """Subscribes under a number, at once or not at all. Raises WireError."""
        self._client = client
        options = [
            ("grpc.max_send_message_length", LONGEST),
            ("grpc.max_receive_message_length", LONGEST),
            ("grpc.max_metadata_size", LONGEST),
        ]
        self._channel = Channel(address, options)
        self._methods = {name: self._method(name, *kinds) for name, *kinds in METHODS}
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._ports: queue.SimpleQueue[tuple[int, bool]] = queue.SimpleQueue()
        self._stream = self._methods["StreamChannel"](iter(self._out.get, None))
        threading.Thread(target=self._listen, name=f"BFRT of {address}", daemon=True).start()
        request = msg.StreamMessageRequest(client_id=client)
        request.subscribe.device_id = DEVICE
        request.subscribe.notifications.enable_port_status_change_notifications = True
        self._out.put(request)
        try:
            answer = self._answers.get(timeout=CALL)
        except queue.Empty:
            answer = f"no answer to client {client}"
        if answer:
            self.close()
            raise WireError(answer)

    def _method(self, name: str, request: str, answer: str) -> Any:
        kind = "_".join("stream" if each.startswith(">") else "unary" for each in (request, answer))
        return getattr(self._channel.grpc, kind)(
            f"/{PACKAGE}.{SERVICE}/{name}",
            request_serializer=getattr(msg, request.lstrip(">")).SerializeToString,
            response_deserializer=getattr(msg, answer.lstrip(">")).FromString,
        )

    def _listen(self) -> None:
        """What comes on the stream, until it ends."""
        try:
            for message in self._stream:
                kind = message.WhichOneof("update")
                if kind == "subscribe":
                    status = message.subscribe.status
                    refusal = status.message or f"code {status.code}"
                    self._answers.put(refusal if status.code else "")
                elif kind == "port_status_change_notification":
                    news = message.port_status_change_notification
                    number = news.table_entry.key.fields[0].exact.value
                    self._ports.put((int.from_bytes(number, "big"), news.port_up))
        except grpc.RpcError as error:
            self._answers.put(_reason(error))

    def port_news(self, patience: float) -> tuple[int, bool] | None:
        """The next port of the chip that has got or lost its link, if one has so far."""
        with suppress(queue.Empty):
            return self._ports.get(timeout=patience)
        return None

    def programs(self) -> dict[str, list[dict[str, Any]]]:
        """What the switch runs: the tables of each program, the chip's own among them. Raises
        WireError."""
        request = msg.GetForwardingPipelineConfigRequest(client_id=self._client, device_id=DEVICE)
        answer = self._call(lambda: self._methods["GetForwardingPipelineConfig"](request))
        chip = _tables(answer.non_p4_config.bfruntime_info)
        return {each.p4_name: _tables(each.bfruntime_info) + chip for each in answer.config}

    def bind(self, program: str) -> None:
        """This client is the program's from now on. Raises WireError."""
        request = msg.SetForwardingPipelineConfigRequest(client_id=self._client, device_id=DEVICE)
        request.config.add(p4_name=program)
        self._call(lambda: self._methods["SetForwardingPipelineConfig"](request))

    def write(self, updates: Sequence[Any], *, together: bool, pipe: int = ALL_PIPES) -> None:
        """Carries updates out; `together` all of them or none. Raises WireError."""
        kinds = msg.WriteRequest
        request = kinds(client_id=self._client, updates=updates)
        request.atomicity = kinds.ROLLBACK_ON_ERROR if together else kinds.CONTINUE_ON_ERROR
        self._aim(request, pipe)
        self._call(lambda: self._methods["Write"](request))

    def read(self, entities: Sequence[Any]) -> list[Any]:
        """What is found, as table entries. Raises WireError."""
        request = msg.ReadRequest(client_id=self._client, entities=entities)
        self._aim(request, ALL_PIPES)
        answers = self._call(lambda: list(self._methods["Read"](request)))
        return [entity.table_entry for answer in answers for entity in answer.entities]

    @staticmethod
    def _aim(request: Any, pipe: int) -> None:
        target = request.target
        target.device_id, target.pipe_id = DEVICE, pipe
        target.direction, target.prsr_id = BOTH_DIRECTIONS, ALL_PARSERS

    @staticmethod
    def _call(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except grpc.RpcError as error:
            raise WireError(_reason(error), not_there=_not_there(error)) from error

    def close(self) -> None:
        """Ends the stream, and with it what the server knows of this client."""
        self._out.put(None)
        self._stream.cancel()
        self._channel.close()


def _tables(info: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(info)["tables"] if info else []
    return found


def _parts(error: Any) -> list[tuple[int, Any]]:
    """Which parts of a request were refused, and how."""
    found = []
    for name, value in error.trailing_metadata() or ():
        if name == DETAILS:
            for number, detail in enumerate(msg.Status.FromString(value).details, 1):
                part = msg.Error.FromString(detail.value)
                if part.canonical_code:
                    found.append((number, part))
    return found


def _reason(error: Any) -> str:
    for number, part in _parts(error):
        return f"row {number}: {part.message or f'code {part.canonical_code}'}"
    return str(error.details() or error.code().name)


def _not_there(error: Any) -> bool:
    # Drivers call it so in words, with a code that says nothing.
    parts = [part for _, part in _parts(error)]
    return bool(parts) and all(
        part.canonical_code == NOT_FOUND or "not found" in part.message.lower() for part in parts
    )
