"""The service: clients subscribe, bind to the program, write and read."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import suppress
from typing import Any

import grpc

from bfrt_fake.messages import METHODS, PACKAGE, SERVICE, msg
from bfrt_fake.switch import Refused, Switch
from p4lab.targets.tofino.schema import PORT

STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Server:
    """A server on a free port of this machine, or where it is told to be; `address` says where. A
    context manager."""

    def __init__(self, switch: Switch, listen: str = "127.0.0.1:0") -> None:
        self.switch = switch
        self._lock = threading.Lock()
        self._clients: set[int] = set()
        self._bound: int | None = None
        self._wants_ports: set[int] = set()
        self._hears_ports: int | None = None
        self._out: dict[int, queue.SimpleQueue[Any]] = {}
        switch.told_of_ports.append(self._port)
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        port = self._server.add_insecure_port(listen)
        self.address = f"{listen.rpartition(':')[0]}:{port}"

    def __enter__(self) -> Server:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(grace=None).wait()

    def _handlers(self) -> Any:
        kinds = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        handlers = {}
        for name, request, answer in METHODS:
            handlers[name] = kinds[request.startswith(">"), answer.startswith(">")](
                getattr(self, f"_{name.lower()}"),
                request_deserializer=getattr(msg, request.lstrip(">")).FromString,
                response_serializer=getattr(msg, answer.lstrip(">")).SerializeToString,
            )
        return grpc.method_handlers_generic_handler(f"{PACKAGE}.{SERVICE}", handlers)

    def _streamchannel(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        client = None
        out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_ended, args=(requests, out), daemon=True).start()
        try:
            while (told := out.get()) is not None:
                if not isinstance(told, msg.StreamMessageRequest):
                    yield told
                    continue
                if client is not None or not told.HasField("subscribe"):
                    continue
                with self._lock:
                    if told.client_id in self._clients:
                        context.abort(grpc.StatusCode.ALREADY_EXISTS, "client id in use")
                    client = told.client_id
                    self._clients.add(client)
                    self._out[client] = out
                    if told.subscribe.notifications.enable_port_status_change_notifications:
                        self._wants_ports.add(client)
                answer = msg.StreamMessageResponse()
                answer.subscribe.status.code = 0
                yield answer
        finally:
            with self._lock:
                if client is not None:
                    self._clients.discard(client)
                    self._wants_ports.discard(client)
                    if self._hears_ports == client:
                        self._hears_ports = None
                    if self._bound == client:
                        self._bound = None

    def _getforwardingpipelineconfig(self, request: Any, context: Any) -> Any:
        answer = msg.GetForwardingPipelineConfigResponse()
        answer.config.add(p4_name=self.switch.program, bfruntime_info=self.switch.p4.encode())
        answer.non_p4_config.bfruntime_info = self.switch.chip.encode()
        return answer

    def _setforwardingpipelineconfig(self, request: Any, context: Any) -> Any:
        code = grpc.StatusCode
        if request.client_id not in self._clients:
            context.abort(code.FAILED_PRECONDITION, "client is not subscribed")
        if request.action != 0 or len(request.config) != 1:
            context.abort(code.INVALID_ARGUMENT, "only BIND, with one program")
        if request.config[0].p4_name != self.switch.program:
            context.abort(code.NOT_FOUND, f"no program {request.config[0].p4_name}")
        if self._bound not in (None, request.client_id):
            context.abort(code.ALREADY_EXISTS, "another client is bound to the program")
        self._bound = request.client_id
        return msg.SetForwardingPipelineConfigResponse()

    def _check(self, request: Any, context: Any) -> None:
        if self._bound is None or request.client_id != self._bound:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "client is not bound to a program")

    def _write(self, request: Any, context: Any) -> Any:
        self._check(request, context)
        if request.atomicity == msg.WriteRequest.DATAPLANE_ATOMIC:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "DATAPLANE_ATOMIC isn't implemented")
        together = request.atomicity == msg.WriteRequest.ROLLBACK_ON_ERROR
        attributes = [u for u in request.updates if u.entity.HasField("table_attribute")]
        if attributes:
            for update in attributes:
                self._set_notification(request.client_id, update.entity.table_attribute, context)
            return msg.WriteResponse()
        with self._lock:
            answers = self.switch.apply(request.updates, together, request.target.pipe_id)
        if any(answers):
            self._fail(answers, context)
        return msg.WriteResponse()

    def _set_notification(self, client: int, attribute: Any, context: Any) -> None:
        """Whether a client hears of ports; it must have said so when it subscribed."""
        if attribute.table_id != self.switch.table(PORT).told["id"]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the table has no such attribute")
        if client not in self._wants_ports:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, "Port status change notifications are not enabled"
            )
        with self._lock:
            self._hears_ports = client if attribute.port_status_notify.enable else None

    def _port(self, port: int, up: bool) -> None:
        """For the client that wants to hear of ports."""
        if self._hears_ports is None:
            return
        answer = msg.StreamMessageResponse()
        notification = answer.port_status_change_notification
        table = self.switch.table(PORT)
        notification.table_entry.table_id = table.told["id"]
        part = notification.table_entry.key.fields.add(field_id=table.told["key"][0]["id"])
        part.exact.value = port.to_bytes(4, "big")
        notification.port_up = up
        self._out[self._hears_ports].put(answer)

    def _read(self, request: Any, context: Any) -> Iterator[Any]:
        self._check(request, context)
        answer, problems = msg.ReadResponse(), []
        with self._lock:
            for entity in request.entities:
                try:
                    wanted = {part.field_id for part in entity.table_entry.data.fields}
                    for entry in self.switch.read(entity.table_entry):
                        told = answer.entities.add().table_entry
                        told.CopyFrom(entry)
                        for part in entry.data.fields if wanted else ():
                            if part.field_id not in wanted:
                                told.data.fields.remove(part)
                    problems.append(None)
                except Refused as error:
                    problems.append(error)
        yield answer
        if any(problems):
            self._fail(problems, context)

    def _fail(self, answers: list[Refused | None], context: Any) -> None:
        """Every update's own error, as P4Runtime and BFRT tell them."""
        status = msg.Status(code=2, message="one or more updates failed")
        for answer in answers:
            error = msg.Error()
            if answer is not None:
                error.canonical_code, error.message = answer.code, answer.text
            status.details.add(
                type_url=f"type.googleapis.com/{PACKAGE}.Error", value=error.SerializeToString()
            )
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, status.message)


def _ended(requests: Iterator[Any], out: queue.SimpleQueue[Any]) -> None:
    """Passes a client's messages on, and None when there will be no more."""
    with suppress(grpc.RpcError):
        for request in requests:
            out.put(request)
    out.put(None)
