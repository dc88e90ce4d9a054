"""How often a router answers with errors: a token bucket in virtual time.

RFC 4443, section 2.4 (f), wants ICMPv6 errors limited, so that a router that is flooded with bad
packets does not flood their senders; its example of a bucket is the default here.
"""

from __future__ import annotations

SECOND = 10**9


class TokenBucket:
    """`burst` answers in a row, then `rate` a second. Exact: it counts in whole nanoseconds."""

    def __init__(self, rate: int = 10, burst: int = 10) -> None:
        self._rate = rate
        self._full = burst * SECOND  # a token is worth SECOND, and each nanosecond adds `rate`
        self._credit = self._full
        self._at: int | None = None

    def allows(self, now: int) -> bool:
        """Whether one more may leave at `now`, in nanoseconds; counts it if so."""
        passed = 0 if self._at is None else now - self._at
        self._at = now
        self._credit = min(self._full, self._credit + passed * self._rate)
        if self._credit < SECOND:
            return False
        self._credit -= SECOND
        return True
