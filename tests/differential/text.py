"""Random expressions and statements of P4, each from a random.Random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

WIDTHS = (1, 3, 4, 7, 8, 8, 9, 12, 16, 16, 31, 32, 33, 48, 63, 64, 65, 80, 128)
STACK = 4
"""Elements of the header stack: run-time indices are two bits wide"""


@dataclass(frozen=True)
class Type:
    """bit<width> or int<width>"""

    width: int
    signed: bool = False

    @property
    def text(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width}>"

    def number(self, value: int) -> str:
        """A literal with its width."""
        if not self.signed:
            return f"{self.width}w{value % (1 << self.width)}"
        value = (value + (1 << self.width - 1)) % (1 << self.width) - (1 << self.width - 1)
        # The most negative number has no literal of its own.
        return (
            f"(-{self.width}s{min(-value, (1 << self.width - 1) - 1)})"
            if value < 0
            else (f"{self.width}s{value}")
        )


@dataclass(frozen=True)
class Var:
    """Something that can be read, and mostly be assigned to"""

    name: str
    type: Type
    writable: bool = True


@dataclass(frozen=True)
class Function:
    """What calls need to know: the type of each parameter behind its direction"""

    name: str
    params: tuple[tuple[str, Type], ...]
    result: Type | None


@dataclass
class Writer:
    """Writes expressions and statements over `vars`; adds no declaration."""

    random: Random
    vars: list[Var]
    plain: bool
    """Nothing of which docs/bmv2.md says that bmv2 does it another way"""
    functions: list[Function] = field(default_factory=list)
    actions: list[Function] = field(default_factory=list)
    """Those that may be called with all of their arguments"""
    tables: list[tuple[str, list[str]]] = field(default_factory=list)
    """Tables not applied yet, with their actions"""
    specials: list[Callable[[], str]] = field(default_factory=list)
    """Statements of the place: clones in ingress, and so on"""
    in_action: bool = False
    headers: bool = True
    """Whether header operations are possible here"""
    fresh: int = 0

    def one_in(self, n: int) -> bool:
        return self.random.randrange(n) == 0

    def type(self) -> Type:
        width = self.random.choice(WIDTHS)
        return Type(width, width > 1 and self.one_in(4))

    def value(self, width: int) -> int:
        """Small, or near the top, or anything."""
        top = (1 << width) - 1
        small, near = self.random.randrange(4), top - self.random.randrange(3)
        return self.random.choice([small, small, near, self.random.getrandbits(width)]) & top

    # Expressions

    def read(self, to: Type) -> str:
        """A variable, cast to the type."""
        fitting = [var for var in self.vars if var.type == to]
        if fitting and not self.one_in(3):
            return self.random.choice(fitting).name
        others = [var for var in self.vars if var.type.signed == to.signed]
        if not others:
            return to.number(self.value(to.width))
        var = self.random.choice(others)
        return self.cast(var.name, var.type, to)

    def cast(self, text: str, own: Type, to: Type) -> str:
        """To another width. p4c loses the step between two casts, and then refuses what is left
        where one of them changes the sign."""
        return text if own == to else f"({to.text}){text}"

    def expression(self, to: Type, depth: int = 2) -> str:
        kind = self.random.randrange(4 if depth <= 0 else 17)
        width = to.width
        if kind == 0:
            return to.number(self.value(width))
        if kind <= 3:
            return self.read(to)
        if kind <= 8:
            operator = self.random.choice(["+", "-", "*", "&", "|", "^", "|+|", "|-|"])
            a, b = self.expression(to, depth - 1), self.expression(to, depth - 1)
            return f"({a} {operator} {b})"
        if kind == 9:
            amount = f"({self.expression(Type(8), depth - 1)} & 8w{self.random.choice([1, 7, 31])})"
            return f"({self.expression(to, depth - 1)} {self.random.choice(['<<', '>>'])} {amount})"
        if kind == 10:
            return f"({self.random.choice('~-')}{self.expression(to, depth - 1)})"
        if kind == 11 and not to.signed:
            wider = [v for v in self.vars if v.type.width > width and not v.type.signed]
            if wider:
                var = self.random.choice(wider)
                low = self.random.randrange(var.type.width - width + 1)
                return f"{var.name}[{low + width - 1}:{low}]"
        if kind == 12 and not to.signed and width > 1:
            left = self.random.randrange(1, width)
            high = self.expression(Type(left), depth - 1)
            return f"({high} ++ {self.expression(Type(width - left), depth - 1)})"
        if kind == 13:
            a, b = self.expression(to, depth - 1), self.expression(to, depth - 1)
            return f"({self.condition(depth - 1)} ? {a} : {b})"
        if kind in (14, 15):
            fitting = [f for f in self.functions if f.result == to] or [
                f for f in self.functions if f.result and f.result.signed == to.signed
            ]
            if fitting:
                function = self.random.choice(fitting)
                assert function.result
                call = self.call(function, depth - 1)
                return self.cast(call, function.result, to) if call else self.read(to)
        if kind == 16 and self.headers and not self.plain and not to.signed:
            return self.cast(f"hdr.e[{self.index()}].y", Type(16), to)
        return self.read(to)

    def index(self) -> str:
        """A run-time index of the stack."""
        narrow = [var for var in self.vars if var.type == Type(8)]
        return f"(bit<32>)({self.random.choice(narrow).name} & 8w{STACK - 1})"

    def condition(self, depth: int = 2) -> str:
        kind = self.random.randrange(8)
        if kind == 0 and self.headers:
            return f"hdr.{self.header()}.isValid()"
        if depth > 0 and kind == 1:
            return f"(!{self.condition(depth - 1)})"
        if depth > 0 and kind <= 3:
            both = self.condition(depth - 1), self.condition(depth - 1)
            operator = self.random.choice(["&&", "||"])
            return f"({both[0]} {operator} {both[1]})"
        to = self.random.choice(self.vars).type
        operator = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        a, b = self.expression(to, depth - 1), self.expression(to, depth - 1)
        return f"({a} {operator} {b})"

    def call(self, function: Function, depth: int) -> str:
        """A call, or "" if no variable fits an argument."""
        arguments = []
        for direction, wanted in function.params:
            if direction == "in":
                arguments.append(self.expression(wanted, depth))
                continue
            place = self.place(wanted)
            if not place:
                return ""
            arguments.append(place)
        return f"{function.name}({', '.join(arguments)})"

    def place(self, wanted: Type) -> str:
        """Something of this very type to assign to, "" if there is nothing."""
        fitting = [var.name for var in self.vars if var.writable and var.type == wanted]
        if not wanted.signed and self.one_in(4):
            wider = [v for v in self.vars if v.writable and v.type.width > wanted.width]
            wider = [v for v in wider if not v.type.signed]
            if wider:
                var = self.random.choice(wider)
                low = self.random.randrange(var.type.width - wanted.width + 1)
                return f"{var.name}[{low + wanted.width - 1}:{low}]"
        return self.random.choice(fitting) if fitting else ""

    def header(self) -> str:
        return self.random.choice(["h", "e[0]", "e[1]", "e[2]", "v", "w", "g"])

    # Statements

    def statements(self, most: int, depth: int) -> list[str]:
        return [self.statement(depth) for _ in range(1 + self.random.randrange(most))]

    def block(self, most: int, depth: int) -> str:
        return "{ " + " ".join(self.statements(most, depth)) + " }"

    def statement(self, depth: int) -> str:
        kind = self.random.randrange(24)
        if kind == 0:
            return self.compound()
        if kind in (1, 2) and self.functions:
            return self.called(self.random.choice(self.functions))
        if kind in (3, 4) and self.actions and not self.in_action:
            return self.called(self.random.choice(self.actions))
        if kind in (5, 6) and depth > 0:
            other = f" else {self.block(2, depth - 1)}" if self.one_in(2) else ""
            return f"if ({self.condition()}) {self.block(3, depth - 1)}{other}"
        if kind in (7, 8, 9) and depth > 0 and not self.in_action and self.tables:
            return self.applied(depth)
        if kind == 10 and depth > 0 and not self.in_action:
            return self.switch(depth)
        if kind in (11, 12, 13) and self.headers and not self.plain:
            return self.header_operation()
        if kind in (14, 15) and self.specials:
            return self.random.choice(self.specials)()
        if kind == 16 and self.one_in(4) and depth < 2:
            return "exit;" if self.one_in(2) or self.in_action else "return;"
        return self.assignment()

    def called(self, function: Function) -> str:
        call = self.call(function, 1)
        return f"{call};" if call else self.assignment()

    def assignment(self) -> str:
        var = self.random.choice([var for var in self.vars if var.writable])
        width = var.type.width
        if width > 2 and not var.type.signed and self.one_in(5):
            low = self.random.randrange(width - 1)
            high = self.random.randrange(low, width)
            return f"{var.name}[{high}:{low}] = {self.expression(Type(high - low + 1))};"
        return f"{var.name} = {self.expression(var.type)};"

    def compound(self) -> str:
        var = self.random.choice([var for var in self.vars if var.writable])
        operator = self.random.choice(["+", "-", "&", "|", "^", "|+|", "|-|"])
        functions = self.functions
        if self.plain:
            # bmv2 reads the left side after the calls of the right one.
            self.functions = []
        right = self.expression(var.type)
        self.functions = functions
        return f"{var.name} {operator}= {right};"

    def switch(self, depth: int) -> str:
        """Always with a default: p4c goes wrong without."""
        labels = self.random.sample(range(8), 3)
        value = self.random.choice(
            [v for v in self.vars if v.type.width >= 3 and not v.type.signed]
        )
        cases = [
            f"{labels[0]}: {self.block(2, depth - 1)}",
            f"{labels[1]}: {labels[2]}: {self.block(2, depth - 1)}",
            f"default: {self.block(2, depth - 1) if self.one_in(2) else '{ }'}",
        ]
        return f"switch ({value.name}[2:0]) {{ {' '.join(cases)} }}"

    def applied(self, depth: int) -> str:
        name, actions = self.tables.pop()
        kind = self.random.randrange(4)
        if kind == 0:
            return f"if ({name}.apply().hit) {self.block(2, depth - 1)}"
        if kind == 1:
            return f"if ({name}.apply().miss) {self.block(2, depth - 1)}"
        if kind == 2:
            cases = f"{actions[0]}: {self.block(2, depth - 1)} default: {self.block(2, depth - 1)}"
            return f"switch ({name}.apply().action_run) {{ {cases} }}"
        return f"{name}.apply();"

    def header_operation(self) -> str:
        kind = self.random.randrange(8)
        if kind <= 1:
            operation = self.random.choice(["setValid", "setInvalid"])
            return f"hdr.{self.header()}.{operation}();"
        if kind == 2:
            a, b = self.random.choice(
                [("e[0]", "e[1]"), ("e[2]", "e[0]"), ("v", "w"), ("w", "v"), ("h", "g"), ("g", "h")]
            )
            return f"hdr.{a} = hdr.{b};"
        if kind == 3:
            way = self.random.choice(["push", "pop"])
            return f"hdr.e.{way}_front({self.random.randrange(1, 3)});"
        if kind == 4:
            number = self.random.randrange(STACK)
            values = ", ".join(self.expression(Type(n), 1) for n in (7, 1, 16))
            return f"hdr.e[{number}] = {{ {values} }};"
        if kind == 5:
            return f"hdr.e[{self.index()}].y = {self.expression(Type(16))};"
        if kind == 6:
            return f"hdr.e[{self.index()}].x = {self.expression(Type(7), 1)};"
        return f"if (hdr.h == hdr.g) {{ {self.assignment()} }}"
