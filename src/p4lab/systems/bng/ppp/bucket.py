"""A bound on how often something is done for one subscriber: in seconds, as PPP's timers are, and
with rates below one a second."""

from __future__ import annotations


class Bucket:
    """`burst` at once, then `rate` per second; the bucket starts full."""

    __slots__ = ("burst", "level", "rate", "stamp")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate, self.burst, self.level, self.stamp = rate, burst, burst, now

    def allows(self, now: float) -> bool:
        """Whether once more is within the bound; if so, it counts."""
        level = self.level
        if now > self.stamp:
            level += (now - self.stamp) * self.rate
            if level > self.burst:
                level = self.burst
            self.stamp = now
        if level < 1:
            self.level = level
            return False
        self.level = level - 1
        return True
