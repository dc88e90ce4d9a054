"""A client in the place of `bfrt_grpc.client`, for machines without the SDE.

Of the SDE's client it has what p4lab uses, under the same names: what p4lab calls, it sends. Where
the SDE is installed, the same tests run with the SDE's own.
"""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

import grpc

from bfrt_fake.messages import METHODS, PACKAGE, SERVICE, msg

WIDE = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}


class BfruntimeRpcException(Exception):
    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self._error = error

    def grpc_error_get(self) -> Any:
        return self._error

    def sub_errors_get(self) -> list[tuple[int, Any]]:
        found = []
        for name, value in self._error.trailing_metadata() or ():
            if name == "grpc-status-details-bin":
                for i, detail in enumerate(msg.Status.FromString(value).details):
                    single = msg.Error.FromString(detail.value)
                    if single.canonical_code:
                        found.append((i, single))
        return found


class Target:
    def __init__(self, device_id: int = 0, pipe_id: int = 0xFFFF) -> None:
        self.device_id, self.pipe_id = device_id, pipe_id


class Notifications:
    def __init__(
        self,
        enable_learn: bool = True,
        enable_idletimeout: bool = True,
        enable_port_status_change: bool = True,
    ) -> None:
        self.wanted = enable_learn, enable_idletimeout, enable_port_status_change


class KeyTuple:
    def __init__(self, name, value=None, mask=None, prefix_len=None, low=None, high=None):
        self.name, self.value, self.mask = name, value, mask
        self.prefix_len, self.low, self.high = prefix_len, low, high


class DataTuple:
    def __init__(
        self, name, val=None, str_val=None, int_arr_val=None, bool_arr_val=None, bool_val=None
    ):
        self.name, self.val, self.str_val = name, val, str_val
        self.int_arr_val, self.bool_arr_val, self.bool_val = int_arr_val, bool_arr_val, bool_val


class Told:
    """A key or data, with what `to_dict` gives."""

    def __init__(self, message: Any, values: dict[str, Any]) -> None:
        self.message, self._values = message, values

    def to_dict(self) -> dict[str, Any]:
        return dict(self._values)


def _bytes(value: int, type_: dict[str, Any]) -> bytes:
    size = WIDE.get(type_["type"]) or (type_["width"] + 7) // 8
    return value.to_bytes(size, "big")


class Table:
    def __init__(self, told: dict[str, Any], client: ClientInterface) -> None:
        self._told, self._client = told, client
        self._keys = {each["name"]: each for each in told["key"]}

    def _fields(self, action: str | None) -> dict[str, dict[str, Any]]:
        for spec in self._told.get("action_specs", ()):
            if spec["name"] == action and spec["data"]:
                return {each["name"]: each for each in spec["data"]}
        return {each["singleton"]["name"]: each["singleton"] for each in self._told["data"]}

    def make_key(self, parts: list[KeyTuple]) -> Told:
        key = msg.TableKey()
        for part in parts:
            told = self._keys[part.name]
            added = key.fields.add(field_id=told["id"])
            if part.mask is not None:
                added.ternary.value = _bytes(part.value, told["type"])
                added.ternary.mask = _bytes(part.mask, told["type"])
            elif part.prefix_len is not None:
                added.lpm.value = _bytes(part.value, told["type"])
                added.lpm.prefix_len = part.prefix_len
            elif part.low is not None:
                added.range.low = _bytes(part.low, told["type"])
                added.range.high = _bytes(part.high, told["type"])
            else:
                added.exact.value = _bytes(part.value, told["type"])
        return Told(key, {})

    def make_data(
        self, parts: list[DataTuple], action: str | None = None, get: bool = False
    ) -> Told:
        data = msg.TableData()
        if action is not None:
            ids = {spec["name"]: spec["id"] for spec in self._told.get("action_specs", ())}
            data.action_id = ids[action]
        fields = self._fields(action)
        for part in parts:
            told = fields[part.name]
            added = data.fields.add(field_id=told["id"])
            if part.val is not None:
                added.stream = _bytes(part.val, told["type"])
            elif part.str_val is not None:
                added.str_val = part.str_val
            elif part.bool_val is not None:
                added.bool_val = part.bool_val
            elif part.int_arr_val is not None:
                added.int_arr_val.val.extend(part.int_arr_val)
            elif part.bool_arr_val is not None:
                added.bool_arr_val.val.extend(part.bool_arr_val)
        return Told(data, {})

    def _write(
        self, target: Target, kind: str, keys: Any, data: Any, atomicity: int, *, default: bool
    ) -> None:
        request = msg.WriteRequest(client_id=self._client.client_id, atomicity=atomicity)
        request.target.pipe_id = target.pipe_id
        for i in range(len(keys or data or [None])):
            update = request.updates.add(type=msg.Update.Type.Value(kind))
            entry = update.entity.table_entry
            entry.table_id, entry.is_default_entry = self._told["id"], default
            if keys:
                entry.key.CopyFrom(keys[i].message)
            if data:
                entry.data.CopyFrom(data[i].message)
        self._client.call("Write", request)

    def entry_add(self, target: Target, keys: Any, data: Any, atomicity: int = 0) -> None:
        self._write(target, "INSERT", keys, data, atomicity, default=False)

    def entry_mod(self, target: Target, keys: Any, data: Any, atomicity: int = 0) -> None:
        self._write(target, "MODIFY", keys, data, atomicity, default=False)

    def entry_del(self, target: Target, keys: Any = None, atomicity: int = 0) -> None:
        self._write(target, "DELETE", keys, None, atomicity, default=False)

    def default_entry_set(self, target: Target, data: Told) -> None:
        self._write(target, "MODIFY", None, [data], 0, default=True)

    def default_entry_reset(self, target: Target) -> None:
        self._write(target, "DELETE", None, None, 0, default=True)

    def attribute_port_status_change_set(self, target: Target, enable: bool = False) -> None:
        request = msg.WriteRequest(client_id=self._client.client_id)
        update = request.updates.add(type=msg.Update.INSERT)
        update.entity.table_attribute.table_id = self._told["id"]
        update.entity.table_attribute.port_status_notify.enable = enable
        self._client.call("Write", request)

    # As the SDE's: who says nothing asks the chip itself.
    def entry_get(
        self, target: Target, keys: Any = None, flags: Any = None, required_data: Any = None
    ) -> Any:
        return self._read(keys, flags, required_data, default=False)

    def default_entry_get(self, target: Target, flags: Any = None) -> Any:
        return self._read(None, flags, default=True)

    def _read(self, keys: Any, flags: Any, wanted: Any = None, *, default: bool) -> Any:
        request = msg.ReadRequest(client_id=self._client.client_id)
        for key in keys or [None]:
            entry = request.entities.add().table_entry
            entry.table_id, entry.is_default_entry = self._told["id"], default
            entry.table_flags.from_hw = (flags or {"from_hw": True})["from_hw"]
            if key is not None:
                entry.key.CopyFrom(key.message)
            if wanted is not None:
                entry.data.CopyFrom(wanted.message)
        for answer in self._client.call("Read", request):
            for entity in answer.entities:
                entry = entity.table_entry
                if entry.HasField("data") and entry.is_default_entry == default:
                    yield self._told_data(entry.data), self._told_key(entry.key)

    def _told_key(self, key: Any) -> Told:
        names = {each["id"]: name for name, each in self._keys.items()}
        values: dict[str, Any] = {}
        for part in key.fields:
            kind = part.WhichOneof("match_type")
            match = getattr(part, kind)
            told = {
                field.name: int.from_bytes(value, "big") if isinstance(value, bytes) else value
                for field, value in match.ListFields()
            }
            values[names[part.field_id]] = told
        return Told(key, values)

    def _told_data(self, data: Any) -> Told:
        action = next(
            (
                spec["name"]
                for spec in self._told.get("action_specs", ())
                if spec["id"] == data.action_id
            ),
            None,
        )
        fields = self._fields(action)
        names = {each["id"]: name for name, each in fields.items()}
        values: dict[str, Any] = {}
        for part in data.fields:
            kind = part.WhichOneof("value")
            value = None if kind is None else getattr(part, kind)
            if kind == "stream":
                value = int.from_bytes(value, "big")
            elif kind in ("int_arr_val", "bool_arr_val"):
                value = list(value.val)
            name = names[part.field_id]
            if any(note["value"] == "register_data" for note in fields[name]["annotations"]):
                values.setdefault(name, []).append(value)
            else:
                values[name] = value
        return Told(data, values | {"action_name": action, "is_default_entry": False})


class Info:
    def __init__(self, message: Any, client: ClientInterface) -> None:
        self._name = message.config[0].p4_name
        tables = json.loads(message.config[0].bfruntime_info)["tables"]
        tables += json.loads(message.non_p4_config.bfruntime_info)["tables"]
        self._tables = {told["name"]: Table(told, client) for told in tables}

    def p4_name_get(self) -> str:
        return self._name

    def table_get(self, name: str) -> Table:
        found = [t for full, t in self._tables.items() if full == name or full.endswith(f".{name}")]
        if len(found) != 1:
            raise KeyError(name)
        return found[0]


class ClientInterface:
    def __init__(
        self,
        grpc_addr: str,
        client_id: int,
        device_id: int,
        notifications: Notifications | None = None,
        timeout: float = 1,
        num_tries: int = 5,
    ) -> None:
        self.client_id, self._device = client_id, device_id
        self._channel = grpc.insecure_channel(grpc_addr)
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._in: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._methods = {name: self._method(name, *kinds) for name, *kinds in METHODS}
        self._stream = self._methods["StreamChannel"](iter(self._out.get, None))
        threading.Thread(target=self._listen, daemon=True).start()
        request = msg.StreamMessageRequest(client_id=client_id)
        request.subscribe.device_id = device_id
        wanted = request.subscribe.notifications
        (
            wanted.enable_learn_notifications,
            wanted.enable_idletimeout_notifications,
            wanted.enable_port_status_change_notifications,
        ) = (notifications or Notifications()).wanted
        self._out.put(request)
        try:
            answer = self._in.get(timeout=timeout)
        except queue.Empty:
            answer = None
        if answer is None or answer.subscribe.status.code != 0:
            self.tear_down_stream()
            raise RuntimeError(f"Failed to subscribe to server at {grpc_addr}")

    def _method(self, name: str, request: str, answer: str) -> Any:
        kind = "_".join("stream" if each.startswith(">") else "unary" for each in (request, answer))
        return getattr(self._channel, kind)(
            f"/{PACKAGE}.{SERVICE}/{name}",
            request_serializer=getattr(msg, request.lstrip(">")).SerializeToString,
            response_deserializer=getattr(msg, answer.lstrip(">")).FromString,
        )

    def _listen(self) -> None:
        try:
            for message in self._stream:
                self._in.put(message)
        except grpc.RpcError:
            self._in.put(None)

    def call(self, method: str, request: Any) -> Any:
        try:
            answer = self._methods[method](request)
            return list(answer) if method == "Read" else answer
        except grpc.RpcError as error:
            raise BfruntimeRpcException(error) from error

    def bfrt_info_get(self, p4_name: str | None = None) -> Info:
        request = msg.GetForwardingPipelineConfigRequest(client_id=self.client_id)
        return Info(self.call("GetForwardingPipelineConfig", request), self)

    def bind_pipeline_config(self, p4_name: str) -> None:
        request = msg.SetForwardingPipelineConfigRequest(client_id=self.client_id)
        request.config.add(p4_name=p4_name)
        self.call("SetForwardingPipelineConfig", request)

    def portstatus_notification_get(self, timeout: float = 1) -> Any:
        try:
            message = self._in.get(timeout=timeout)
        except queue.Empty:
            message = None
        if message is None:
            raise RuntimeError("port_status_change_notification not received.")
        return message.port_status_change_notification

    def tear_down_stream(self) -> None:
        self._out.put(None)
        self._stream.cancel()
        self._channel.close()
