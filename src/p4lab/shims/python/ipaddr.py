"""The package from before the standard library had its own, as far as p4-utils asks for it."""

from ipaddress import AddressValueError, IPv4Address, IPv6Address

__all__ = ["AddressValueError", "IPv4Address", "IPv6Address"]
