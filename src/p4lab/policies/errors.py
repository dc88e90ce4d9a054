"""What is wrong with a policy."""

from __future__ import annotations

UNREADABLE = "no policy"
"""It is not Python, or not in the part of it that there is"""
STOPPED = "policy stopped"
"""It takes too many steps, or too much room"""
RAISED = "policy raised"
"""It did what Python refuses too, such as a division by zero"""
WRONG_VALUE = "wrong value"
"""What it returns is nothing that could be done"""


class PolicyError(Exception):
    """A policy that cannot be carried out, or whose answer cannot be used: a sentence, the kind of
    the mistake, and the line, 0 if none is to blame."""

    def __init__(self, kind: str, sentence: str, line: int = 0) -> None:
        self.kind = kind
        self.line = line
        super().__init__(sentence)
