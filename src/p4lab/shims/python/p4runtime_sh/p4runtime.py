"""Errors of p4runtime-shell: controllers of the tutorials name them; nothing here raises them."""


class P4RuntimeException(Exception):
    """What the shell says of a call that failed."""


class P4RuntimeWriteException(Exception):
    """What the shell says of a write that failed."""
