"""The message that the tutorials wrap around p4c's JSON: p4.tmp.P4DeviceConfig of p4lang/PI."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto


def _described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3"
    )
    message = file.message_type.add(name="P4DeviceConfig")
    for name, number, kind in (
        ("reassign", 1, _FIELD.TYPE_BOOL),
        ("device_data", 3, _FIELD.TYPE_BYTES),
    ):
        message.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
    return file


_POOL = descriptor_pool.Default()
_POOL.AddSerializedFile(_described().SerializeToString())
P4DeviceConfig = message_factory.GetMessageClass(
    _POOL.FindMessageTypeByName("p4.tmp.P4DeviceConfig")
)
