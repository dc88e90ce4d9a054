"""Tables, counters, registers and the rest."""

from p4lab.thrift.stubs import client

Client = client("standard")
