"""What the circle's view says of a copy: what it met, what became of it, and what that means.

The verdict is the switch's. Whether it is the one that the policy's definition leads to is said
only where it is not, and as "by the rule".
"""

from __future__ import annotations

from p4lab.plurals import count_of
from p4lab.systems.protect.settings import ProtectSettings
from p4lab.systems.protect.views.copies import ACCEPTED, DUPLICATE, ROGUE, Arrival

MICROSECOND, MILLISECOND = 1_000, 1_000_000  # in nanoseconds

_SIGNS = {ACCEPTED: "✓ accepted", DUPLICATE: "✕ duplicate", ROGUE: "✕ rogue"}
_VERDICTS = {
    ACCEPTED: "The switch accepts it.",
    DUPLICATE: "The switch discards it as a duplicate.",
    ROGUE: "The switch discards it as rogue: neither new nor a duplicate.",
}
_WINDOWED = ("highest", "slots")


def milliseconds(nanoseconds: int) -> str:
    """A time as people say it: "2.5 ms"."""
    return f"{nanoseconds / MILLISECOND:.3f}".rstrip("0").rstrip(".") + " ms"


def short(arrival: Arrival, zero: int, is_lost: bool) -> str:
    """One line: when, which number, by which path, and the verdict."""
    when, by = milliseconds(arrival.time - zero), _path(arrival)
    return f"{when}: number {arrival.number} by {by}, {sign(arrival, is_lost)}"


def sign(arrival: Arrival, is_lost: bool) -> str:
    """What the switch said, in a word; `is_lost`: no copy of this packet is accepted."""
    if is_behind(arrival, is_lost):
        return "✕ behind"
    return _SIGNS.get(arrival.verdict, "✕ dropped")


def _path(arrival: Arrival) -> str:
    return f"path {arrival.path}" if arrival.path else "a wrong address"


def head(arrival: Arrival, zero: int) -> str:
    """What came, and when."""
    when = milliseconds(arrival.time - zero)
    return f"Number {arrival.number} comes by {_path(arrival)} at {when}."


def why(arrival: Arrival, settings: ProtectSettings) -> str:
    """What the number met in the registers."""
    cell = arrival.cell
    if not arrival.verdict:
        return f"Nobody asks whether it is new: {arrival.reason or 'the program says nothing'}."
    if cell is None:
        return "This policy remembers nothing."
    slot = cell.index % settings.history
    if cell.before is None:
        is_slot = settings.accept == "slots"
        empty = f"Slot {slot} is empty" if is_slot else "Nothing was accepted yet"
        return f"{empty}, so any number is new."
    held = f"{cell.before}, which slot {slot} holds"
    if settings.accept != "slots":
        held = f"{cell.before}, the last number accepted"
        if settings.accept in ("highest", "vector"):
            held = f"{cell.before}, the highest number accepted"
    if arrival.forgot:
        silence = milliseconds((arrival.now - cell.time) * MICROSECOND)
        return (
            f"That is {silence} after {held}; the reset time is "
            f"{milliseconds(arrival.reset * MICROSECOND)}, so any number is new."
        )
    return f"It is {_distance(arrival, settings, held)}."


def _distance(arrival: Arrival, settings: ProtectSettings, held: str) -> str:
    size = 1 << settings.sn_bits
    ahead = arrival.ahead(size)
    if ahead == 0:
        return held
    if settings.accept == "match":
        return f"not {held}"
    if settings.accept in _WINDOWED and ahead <= settings.steps:
        return f"{_steps(ahead)} ahead of {held}: within the window of {window(settings)}"
    behind = size - ahead
    beyond = ""
    if settings.accept in _WINDOWED and ahead < behind:
        beyond = f": beyond the window of {window(settings)}"
    if settings.accept == "vector":
        covers = "within" if min(ahead, behind) < settings.history else "beyond"
        beyond = f": {covers} the history of {settings.history}"
    if ahead < behind:
        return f"{_steps(ahead)} ahead of {held}{beyond}"
    return f"{_steps(behind)} behind {held}{beyond}"


def window(settings: ProtectSettings) -> str:
    """W in steps; large powers of two as such."""
    steps = settings.steps
    if steps > 1 << 16 and not steps & steps - 1:
        return f"2^{steps.bit_length() - 1} steps"
    return _steps(steps)


def _steps(count: int) -> str:
    return count_of(count, "step")


def verdict(arrival: Arrival, settings: ProtectSettings, is_lost: bool) -> str:
    """What the switch said, and whether the rule says something else."""
    said = _VERDICTS.get(arrival.verdict, "It is dropped.")
    if is_behind(arrival, is_lost):
        said = "The switch discards it: it takes it for one that lies behind."
    is_new = _by_the_rule(arrival, settings)
    if is_new is None or is_new == (arrival.verdict == ACCEPTED):
        return said
    other = "By the rule it is new" if is_new else "By the rule it is not new"
    return f"{other}, and yet: {said[0].lower()}{said[1:]}"


def is_behind(arrival: Arrival, is_lost: bool) -> bool:
    """Whether the switch calls a copy a duplicate of which it has accepted no other: its number
    only lies behind."""
    return is_lost and arrival.verdict == DUPLICATE


def _by_the_rule(arrival: Arrival, settings: ProtectSettings) -> bool | None:
    """Whether the definition of a policy with a window calls a copy new; None for other policies
    and for copies that nobody judged."""
    if not arrival.verdict or arrival.cell is None or settings.accept not in _WINDOWED:
        return None
    if arrival.cell.before is None or arrival.forgot:
        return True
    return 1 <= arrival.ahead(1 << settings.sn_bits) <= settings.steps
