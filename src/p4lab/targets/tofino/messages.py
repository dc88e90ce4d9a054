"""The messages of BFRT, as far as p4lab uses them.

A field is its name, number and type; * is a list, | a member of the oneof that is named. The
numbers are facts of the protocol (bfruntime.proto of open-p4studio, Apache License 2.0).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "bfrt_proto"
SERVICE = "BfRuntime"
# Name, request, answer; > is a stream.
METHODS = (
    ("Write", "WriteRequest", "WriteResponse"),
    ("Read", "ReadRequest", ">ReadResponse"),
    (
        "SetForwardingPipelineConfig",
        "SetForwardingPipelineConfigRequest",
        "SetForwardingPipelineConfigResponse",
    ),
    (
        "GetForwardingPipelineConfig",
        "GetForwardingPipelineConfigRequest",
        "GetForwardingPipelineConfigResponse",
    ),
    ("StreamChannel", ">StreamMessageRequest", ">StreamMessageResponse"),
)

ENUMS = {
    "WriteRequest.Atomicity": ("CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"),
    "Update.Type": (
        "UNSPECIFIED",
        "INSERT",
        "MODIFY",
        "MODIFY_INC",
        "DELETE",
        "INSERT_OR_MODIFY",
        "RESET",
    ),
    "SetForwardingPipelineConfigRequest.Action": (
        "BIND",
        "VERIFY",
        "VERIFY_AND_WARM_INIT_BEGIN",
        "VERIFY_AND_WARM_INIT_BEGIN_AND_END",
        "WARM_INIT_END",
        "RECONCILE_AND_WARM_INIT_END",
    ),
}

TABLE = """
TargetDevice: device_id 1 uint32, pipe_id 2 uint32, direction 3 uint32, prsr_id 4 uint32
Error: canonical_code 1 int32, message 2 string, space 3 string, code 4 int32

WriteRequest: target 1 TargetDevice, client_id 2 uint32, updates 3 Update*,
    atomicity 4 WriteRequest.Atomicity, p4_name 5 string
WriteResponse: status 1 Error*
Update: type 1 Update.Type, entity 2 Entity
ReadRequest: target 1 TargetDevice, client_id 2 uint32, entities 3 Entity*, p4_name 4 string
ReadResponse: entities 1 Entity*, status 2 Error*

Entity: table_entry 1 TableEntry |entity, table_usage 2 TableUsage |entity,
    table_attribute 3 TableAttribute |entity
TableUsage: table_id 1 uint32, usage 2 uint32
TableAttribute: table_id 1 uint32, port_status_notify 7 PortStatusChg |attribute
PortStatusChg: enable 1 bool
TableEntry: table_id 1 uint32, key 2 TableKey |value, handle_id 7 uint32 |value, data 3 TableData,
    is_default_entry 4 bool, entry_tgt 8 TargetDevice, table_flags 9 TableFlags
TableFlags: from_hw 1 bool, key_only 2 bool, mod_del 3 bool, reset_ttl 4 bool, reset_stats 5 bool
TableKey: fields 1 KeyField*
KeyField: field_id 1 uint32, exact 2 KeyField.Exact |match_type,
    ternary 3 KeyField.Ternary |match_type, lpm 4 KeyField.LPM |match_type,
    range 5 KeyField.Range |match_type, optional 6 KeyField.Optional |match_type
KeyField.Exact: value 1 bytes
KeyField.Ternary: value 1 bytes, mask 2 bytes
KeyField.LPM: value 1 bytes, prefix_len 2 int32
KeyField.Range: low 1 bytes, high 2 bytes
KeyField.Optional: value 1 bytes, is_valid 2 bool
TableData: action_id 1 uint32, fields 2 DataField*
DataField: field_id 1 uint32, stream 2 bytes |value, float_val 3 float |value,
    str_val 4 string |value, int_arr_val 5 DataField.IntArray |value,
    bool_arr_val 6 DataField.BoolArray |value, bool_val 8 bool |value,
    str_arr_val 9 DataField.StrArray |value
DataField.IntArray: val 1 uint32*
DataField.BoolArray: val 1 bool*
DataField.StrArray: val 1 string*

StreamMessageRequest: client_id 1 uint32, subscribe 2 Subscribe |update
StreamMessageResponse: subscribe 1 Subscribe |update, digest 2 DigestList |update,
    port_status_change_notification 4 PortStatusChgNotification |update,
    set_forwarding_pipeline_config_response 5 SetForwardingPipelineConfigResponse |update
DigestList: digest_id 1 uint32, list_id 2 uint32, data 3 TableData*, target 4 TargetDevice
PortStatusChgNotification: table_entry 1 TableEntry, port_up 2 bool
Subscribe: device_id 2 uint32, notifications 3 Subscribe.Notifications, status 4 Status
Subscribe.Notifications: enable_learn_notifications 1 bool, enable_idletimeout_notifications 2 bool,
    enable_port_status_change_notifications 3 bool, enable_entry_active_notifications 4 bool,
    enable_selector_update_change_notifications 5 bool

SetForwardingPipelineConfigRequest: device_id 1 uint32, client_id 2 uint32,
    action 3 SetForwardingPipelineConfigRequest.Action, base_path 5 string,
    config 6 ForwardingPipelineConfig*
SetForwardingPipelineConfigResponse: set_forwarding_pipeline_config_response_type 1 int32
GetForwardingPipelineConfigRequest: device_id 1 uint32, client_id 2 uint32
GetForwardingPipelineConfigResponse: config 1 ForwardingPipelineConfig*, non_p4_config 2 NonP4Config
ForwardingPipelineConfig: p4_name 1 string, bfruntime_info 2 bytes,
    profiles 3 ForwardingPipelineConfig.Profile*
ForwardingPipelineConfig.Profile: profile_name 1 string, pipe_scope 4 uint32*
NonP4Config: bfruntime_info 1 bytes

Status: code 1 int32, message 2 string, details 3 Any*
Any: type_url 1 string, value 2 bytes
"""

Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "uint32": Field.TYPE_UINT32,
    "int32": Field.TYPE_INT32,
    "bool": Field.TYPE_BOOL,
    "string": Field.TYPE_STRING,
    "bytes": Field.TYPE_BYTES,
    "float": Field.TYPE_FLOAT,
}


def rows() -> dict[str, list[tuple[str, int, str, bool, str]]]:
    """The table, read: by message name, number, type, whether it is a list, and its oneof."""
    found: dict[str, list[tuple[str, int, str, bool, str]]] = {}
    for line in TABLE.replace(",\n    ", ", ").strip().splitlines():
        if not line:
            continue
        message, _, fields = line.partition(": ")
        found[message] = []
        for field in fields.split(", "):
            plain, _, oneof = field.partition(" |")
            name, number, kind = plain.split()
            found[message].append((name, int(number), kind.rstrip("*"), kind.endswith("*"), oneof))
    return found


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="p4lab_bfrt.proto", package=PACKAGE, syntax="proto3"
    )
    table = rows()
    made: dict[str, Any] = {}
    for name in sorted(table, key=lambda name: name.count(".")):
        outer, _, own = name.rpartition(".")
        made[name] = (made[outer].nested_type if outer else file.message_type).add(name=own)
    for name, values in ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = made[outer].enum_type.add(name=own)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in table.items():
        for field, number, kind, repeated, oneof in fields:
            added = made[name].field.add(name=field, number=number)
            added.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            if kind in SCALARS:
                added.type = SCALARS[kind]
            else:
                added.type = Field.TYPE_ENUM if kind in ENUMS else Field.TYPE_MESSAGE
                added.type_name = f".{PACKAGE}.{kind}"
            if oneof:
                names = [each.name for each in made[name].oneof_decl]
                if oneof not in names:
                    made[name].oneof_decl.add(name=oneof)
                    names.append(oneof)
                added.oneof_index = names.index(oneof)
    return file


def _classes() -> dict[str, Any]:
    # A pool of its own: modules generated from the SDE's file have messages of the same names.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in rows()
    }


CLASSES = _classes()
msg = SimpleNamespace(**{name: kind for name, kind in CLASSES.items() if "." not in name})
"""The message classes: `msg.WriteRequest`"""
