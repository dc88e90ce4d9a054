"""bitwuzla behind the questions of the prover (crates/p4-prove): can these truth values hold
together, and with which values?

A term is a bit vector, a truth value has one bit. Terms stay known from question to question, so a
question costs what is new in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager

Node = tuple[Any, ...]
Values = list[tuple[int, int, int | None]]

_SAME = {
    "and": Kind.BV_AND,
    "or": Kind.BV_OR,
    "xor": Kind.BV_XOR,
    "add": Kind.BV_ADD,
    "sub": Kind.BV_SUB,
    "mul": Kind.BV_MUL,
    "shl": Kind.BV_SHL,
    "shr": Kind.BV_SHR,
    "shr_signed": Kind.BV_ASHR,
}
_ORDER = {"less": Kind.BV_ULT, "less_signed": Kind.BV_SLT}
_DIVIDE = {"div": Kind.BV_UDIV, "mod": Kind.BV_UREM}


STEP = 6e-6
LOOK = 6e-4
"""Seconds of one core of 2026 for a step of the search, and for what the prover does between two
looks at the clock"""


class _Steps:
    """Counts the steps of all searches, and ends a search after its last one. Not a method of the
    solver: the library holds on to what it calls, and would keep the solver alive for ever."""

    def __init__(self) -> None:
        self.taken = 0
        self.last = 0

    def __call__(self) -> bool:
        self.taken += 1
        return self.taken > self.last


class Solver:
    """Answers the questions of one comparison. `longest` is the time for one question.

    Time is counted in steps and not measured: what is decided within a budget depends neither on
    the machine nor on what else it does.
    """

    def __init__(self, longest: float = 5.0) -> None:
        self._longest = longest
        self._steps = _Steps()
        self._looks = 0
        self.forget()

    def clock(self) -> float:
        """How long everything so far has taken, about, in seconds of one core."""
        self._looks += 1
        return self._steps.taken * STEP + self._looks * LOOK

    def forget(self) -> None:
        """Other terms follow, numbered from 0 again."""
        self._manager = TermManager()
        options = Options()
        options.set(Option.PRODUCE_MODELS, True)
        options.set(Option.PREPROCESS, False)  # of what is asked once, it costs more than it saves
        self._solver = Bitwuzla(self._manager, options)
        self._steps.last = 0
        self._solver.configure_terminator(self._steps)
        self._terms: dict[int, Term] = {}
        self._truths: dict[int, Term] = {}
        self._functions: dict[tuple[str, int, int], Term] = {}
        self._asked: list[tuple[int, Term, Term | None]] = []
        self._one = self._manager.mk_bv_value(self._manager.mk_bv_sort(1), 1)
        self._zero = self._manager.mk_bv_value(self._manager.mk_bv_sort(1), 0)

    def ask(
        self,
        nodes: Sequence[Node],
        facts: Sequence[int],
        assumptions: Sequence[int],
        seconds: float,
    ) -> Values | bool | None:
        """None: the assumptions cannot hold together with all facts so far; False: not known in
        time; else the value of each unknown and applied function by number, for functions with the
        argument."""
        for node in nodes:
            self._add(node)
        for fact in facts:
            self._solver.assert_formula(self._truth(fact))
        self._steps.last = self._steps.taken + int(min(seconds, self._longest) / STEP)
        result = self._solver.check_sat(*(self._truth(number) for number in assumptions))
        if result == Result.UNSAT:
            return None
        if result != Result.SAT:
            return False
        return [
            (number, self._value(term), None if argument is None else self._value(argument))
            for number, term, argument in self._asked
        ]

    def _value(self, term: Term) -> int:
        return int(self._solver.get_value(term).value(2), 2)

    def _truth(self, number: int) -> Term:
        truth = self._truths.get(number)
        if truth is None:
            truth = self._manager.mk_term(Kind.EQUAL, [self._terms[number], self._one])
            self._truths[number] = truth
        return truth

    def _bit(self, truth: Term) -> Term:
        return self._manager.mk_term(Kind.ITE, [truth, self._one, self._zero])

    def _add(self, node: Node) -> None:
        number, operator, width, *rest = node
        make: Callable[..., Term] = self._manager.mk_term
        terms = self._terms
        if operator == "value":
            term = self._manager.mk_bv_value(self._manager.mk_bv_sort(width), rest[0])
        elif operator == "unknown":
            term = self._manager.mk_const(self._manager.mk_bv_sort(width))
            self._asked.append((number, term, None))
        elif operator == "not":
            term = make(Kind.BV_NOT, [terms[rest[0]]])
        elif operator == "choose":
            term = make(Kind.ITE, [self._truth(rest[0]), terms[rest[1]], terms[rest[2]]])
        elif operator == "concat":
            term = make(Kind.BV_CONCAT, [terms[rest[0]], terms[rest[1]]])
        elif operator == "slice":
            low = rest[1]
            term = make(Kind.BV_EXTRACT, [terms[rest[0]]], [low + width - 1, low])
        elif operator == "apply":
            term = self._apply(number, width, *rest)
        elif operator == "equal":
            term = make(Kind.BV_COMP, [terms[rest[0]], terms[rest[1]]])
        elif operator in _ORDER:
            term = self._bit(make(_ORDER[operator], [terms[rest[0]], terms[rest[1]]]))
        elif operator in _DIVIDE:
            term = self._divide(_DIVIDE[operator], terms[rest[0]], terms[rest[1]], width)
        else:
            term = make(_SAME[operator], [terms[rest[0]], terms[rest[1]]])
        terms[number] = term

    def _divide(self, kind: Kind, dividend: Term, divisor: Term, width: int) -> Term:
        """By zero it is 0, as the engine has it."""
        make = self._manager.mk_term
        zero = self._manager.mk_bv_zero(self._manager.mk_bv_sort(width))
        by_zero = make(Kind.EQUAL, [divisor, zero])
        return make(Kind.ITE, [by_zero, zero, make(kind, [dividend, divisor])])

    def _apply(self, number: int, width: int, argument: int, name: str) -> Term:
        """A function of which only this is known: equal arguments give equal results."""
        given = self._terms[argument]
        domain = given.sort()
        key = (name, domain.bv_size(), width)
        function = self._functions.get(key)
        if function is None:
            sort = self._manager.mk_fun_sort([domain], self._manager.mk_bv_sort(width))
            function = self._functions[key] = self._manager.mk_const(sort)
        term = self._manager.mk_term(Kind.APPLY, [function, given])
        self._asked.append((number, term, given))
        return term
