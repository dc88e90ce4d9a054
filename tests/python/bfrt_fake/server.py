"""The service: clients subscribe, bind to the program, write and read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc

from bfrt_fake.messages import METHODS, PACKAGE, SERVICE, msg
from bfrt_fake.switch import Refused, Switch

STATUS_CODES = {code.value[0]: code for code in grpc.StatusCode}


class Server:
    """A server on a free port of this machine, or where it is told to be; `address` says where. A
    context manager."""

    def __init__(self, switch: Switch, listen: str = "127.0.0.1:0") -> None:
        self.switch = switch
        self._lock = threading.Lock()
        self._clients: set[int] = set()
        self._bound: int | None = None
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
        try:
            for request in requests:
                if client is not None or not request.HasField("subscribe"):
                    continue
                with self._lock:
                    if request.client_id in self._clients:
                        context.abort(grpc.StatusCode.ALREADY_EXISTS, "client id in use")
                    client = request.client_id
                    self._clients.add(client)
                answer = msg.StreamMessageResponse()
                answer.subscribe.status.code = 0
                yield answer
        except grpc.RpcError:
            return
        finally:
            with self._lock:
                if client is not None:
                    self._clients.discard(client)
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
        with self._lock:
            answers = self.switch.apply(request.updates, together)
        if any(answers):
            self._fail(answers, context)
        return msg.WriteResponse()

    def _read(self, request: Any, context: Any) -> Iterator[Any]:
        self._check(request, context)
        answer, problems = msg.ReadResponse(), []
        with self._lock:
            for entity in request.entities:
                try:
                    for entry in self.switch.read(entity.table_entry):
                        answer.entities.add().table_entry.CopyFrom(entry)
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
