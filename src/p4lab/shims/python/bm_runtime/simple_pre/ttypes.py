"""Types, refusals and their numbers."""

from p4lab.thrift.stubs import TYPES

globals().update(TYPES)
__all__ = list(TYPES)
