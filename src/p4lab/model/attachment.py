"""How a host is attached to its cable, where that takes more than Ethernet: a subscriber dials in
before it has an address, and what it sends travels inside of what its line asks for."""

from __future__ import annotations

from typing import NamedTuple, Protocol

Answers = list[tuple[int, bytes]]
"""Frames to send, each with its delay in nanoseconds"""


class Heard(NamedTuple):
    """What becomes of a frame that has reached the card."""

    answers: Answers
    """What the attachment says to it, on the cable"""
    inner: bytes | None = None
    """The Ethernet frame that is in it for the host"""
    trouble: str = ""
    """Why there is none, if it carries something that the attachment cannot read"""


class Program(NamedTuple):
    """What attaches a host that is a real one. It runs as long as the network, dials in by itself,
    and makes an interface with the host's address."""

    command: tuple[str, ...]
    interface: str


class Attachment(Protocol):
    """One host's end of its cable. Times are nanoseconds of the network; frames are Ethernet frames
    without FCS."""

    def connect(self, now: int) -> Answers:
        """The host wants to be attached; called once, before anything else."""

    def heard(self, now: int, frame: bytes) -> Heard:
        """A frame has reached the card."""

    def timer(self, now: int) -> Answers:
        """What is due at `now`."""

    def next_timer(self) -> int | None:
        """When `timer` must be called at the latest; None for never."""

    def wrap(self, frame: bytes) -> bytes:
        """The frame on the cable for one that the host sends. Raises ValueError with a sentence if
        the host is not attached yet."""
