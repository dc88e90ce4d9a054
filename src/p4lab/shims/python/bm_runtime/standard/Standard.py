"""Tables, counters, registers and the rest."""

from p4lab.thrift.stubs import TYPES, client

globals().update(TYPES)
Client = client("standard")
