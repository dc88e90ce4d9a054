"""What to say to a student whose packet differs: the lab's own words, those of its system, or what
holds in any lab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, model_validator

from p4lab.grading import difference


class Hint(BaseModel):
    """The table [[hint]]: said if everything that it names fits; the first that fits is taken.
    `text` says what to think of, and `almost` nearly the code; each is looked for by itself.
    `check` is one check, or a list of those that the same lines decide."""

    model_config = ConfigDict(extra="forbid")
    text: str = ""
    almost: str = ""
    signature: str | None = None
    field: str | None = None
    check: str | list[str] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Hint:
        if not self.text and not self.almost:
            raise ValueError("a hint has a text, or almost the code, or both")
        return self

    def fits(self, check: str, signature: str, field: str) -> bool:
        """Whether this is about a difference in a check."""
        checks = [self.check] if isinstance(self.check, str) else self.check
        given = ((self.signature, signature), (self.field, field))
        is_its = checks is None or check in checks
        return is_its and all(wanted is None or wanted == found for wanted, found in given)


GENERAL = {
    difference.LOOP: "The packet goes through the switch again and again. What tells it that it "
    "is done, and does every pass bring it nearer to that?",
    difference.TABLE_MISSED: "The table has no entry for this key. Compare the key with the "
    "entries above: is the value complete when the table is applied?",
    difference.DROPPED: "The packet was dropped. The trace says where; which condition led there?",
    difference.COPY_MISSING: "A packet that should have left never did. Follow the trace: which "
    "is the last line that did something for it?",
    difference.COPY_TOO_MANY: "More packets leave than should. What makes a copy, and what should "
    "stop it?",
    difference.WRONG_PORT: "The packet is right but leaves elsewhere. Where is its port decided?",
    difference.HEADER_NOT_REMOVED: "A header is still in the packet: only valid headers are sent. "
    "What makes one invalid?",
    difference.HEADER_MISSING: "A header is not in the packet: only valid headers are sent. What "
    "makes it valid?",
    difference.TTL: "Every router takes one from the hop count of what it forwards.",
    difference.CHECKSUM: "The header changed, its checksum did not. Where is it computed?",
    difference.WRONG_FIELD: "The field does not hold the value it should. Which line wrote it?",
    difference.UNMET: "A line of a script did not find what it expects. Run the script by itself, "
    "with p4lab stf, and read what it sends before that line.",
    difference.PARSER: "Follow the states: which value chooses the next one?",
    "wrong number": "Put your number into the formula yourself: do both sides agree?",
    "number missing": "Every number has a line of its own: its name, an equals sign, a number.",
    "no TOML": "A line of this file is a table such as [loss], a number such as p = 0.5, or a "
    "comment that begins with #.",
    "too many passes": "A pass that makes no copy costs as much as one that does. Which packet "
    "came back although no one was waiting?",
    "too few passes": "A receiver still waits for a copy, and the packet has not come back for it.",
    "looped port unused": "A packet that comes round again takes one of k ports, each in turn. "
    "Which one never gets its turn?",
    "wrong looped port": "How many looped ports take turns may change while packets flow. Who "
    "knows how many there are now?",
    "looped ports unfair": "Every packet that comes round again takes a turn, and no other packet. "
    "Write down the ports of the first ten.",
    "wrong count": "Each packet that is given up is counted by its reason. Which reason does your "
    "program give, and is it the right one?",
    "too many tables": "What do the tables look up? One table may have several keys, and entries "
    "for each case.",
    "too many copies made": "The original leaves, too: who gets that, and who is left?",
    "no policy": "Take the first mistake alone. What the small Python of policies has is listed at "
    "the top of the file.",
    "policy missing": "The names of methods and parameters stay as they are in the starter.",
    "policy stopped": "Follow the loop by hand for a few rounds: what ends it, what grows, and is "
    "each round a step towards the end?",
    "policy raised": "Put the values of this line into it yourself. Which of them is not what you "
    "meant?",
    "wrong value": "The comment in the method says what it returns. Does it return that on "
    "every path?",
    "nothing breaks": "Read the program as a machine would: which value of a field does it treat "
    "in a way that no one meant?",
    "no packets": "The comment at the top of the file shows how a packet is written.",
    difference.PAYLOAD: "What follows the headers must stay as it came in.",
}

_BY_ITSELF = (difference.LOOP, "no TOML")
"""Kinds of differences of which what a lab says of a check in general is not true"""


def choose(
    hints: Sequence[Hint], system: Mapping[str, str], check: str, signature: str, field: str
) -> str:
    """The hint for a difference: the lab's own, else that of its `system` for this kind, else what
    holds in any lab; empty if nothing fits."""
    own = of_lab(hints, check, signature, field)
    return own or system.get(signature) or GENERAL.get(signature, "")


def of_lab(hints: Sequence[Hint], check: str, signature: str, field: str) -> str:
    """The lab's own hint for a difference; empty if nothing fits. Of a packet that never leaves the
    switch, and of a file that cannot be read, only a hint counts that is about just that."""
    own = [one for one in hints if one.signature or signature not in _BY_ITSELF]
    fitting = (one.text for one in own if one.text and one.fits(check, signature, field))
    return next(fitting, "")


def almost(hints: Sequence[Hint], check: str, signature: str, field: str) -> str:
    """Nearly the code that a difference asks for; empty if the lab does not say."""
    fitting = (one.almost for one in hints if one.almost and one.fits(check, signature, field))
    return next(fitting, "")
