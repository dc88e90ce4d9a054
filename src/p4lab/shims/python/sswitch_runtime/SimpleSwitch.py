"""What simple_switch adds: mirroring, queues, time."""

from p4lab.thrift.stubs import client

Client = client("simple_switch")
