"""What simple_switch adds: mirroring, queues, time."""

from p4lab.thrift.stubs import TYPES, client

globals().update(TYPES)
Client = client("simple_switch")
