"""A policy as a program: its class, and calls of its methods."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from p4lab.policies.errors import RAISED, STOPPED, UNREADABLE, WRONG_VALUE, PolicyError
from p4lab.policies.language import parsed
from p4lab.policies.machine import Function, Instance, Machine, frozen

STEPS = 100_000
"""Of one call, if whoever calls does not say otherwise"""
MOST_PRINTED = 20  # lines
FRAMES = 9000
"""Of Python's own. A call of a policy takes a dozen, and a stack of 8 MiB holds these and more"""


@dataclass
class Program:
    """A policy that was read. Calls do not see each other."""

    file: str
    text: str
    name: str
    """Of its class"""
    instance: Instance
    printed: list[str] = field(default_factory=list)
    """What the last call has printed, the first lines of it"""
    kept: dict[Any, Any] = field(default_factory=dict)
    """What a measure has made of answers, so that it does not ask again"""

    @property
    def methods(self) -> dict[str, tuple[str, ...]]:
        """The class's methods and their parameters, without self."""
        return {name: function.parameters[1:] for name, function in self.instance.methods.items()}

    def line(self, method: str) -> int:
        """Where a method begins; 0 if there is none."""
        found = self.instance.methods.get(method)
        return found.line if found else 0

    def call(self, method: str, *arguments: Any, steps: int = STEPS) -> Any:
        """What a method answers, which may be anything of the language. Raises PolicyError."""
        function = self.instance.methods.get(method)
        if function is None:
            raise PolicyError(WRONG_VALUE, f"{self.file}: {self.name} has no method {method}.")
        self.printed.clear()
        machine = Machine(steps, self.printed, MOST_PRINTED)
        return _guarded(
            machine, self.file, lambda: machine.call(function, [self.instance, *arguments], {})
        )

    def wrong(self, method: str, sentence: str, kind: str = WRONG_VALUE) -> PolicyError:
        """What a method has answered cannot be used."""
        return PolicyError(kind, sentence, self.line(method))


def read(text: str, file: str) -> Program:
    """The policy in a file: its one class, with the functions and constants beside it. Raises
    PolicyError."""
    tree = parsed(text, file)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(classes) != 1:
        told = f"{file} has {len(classes)} classes; it takes one, with the policies as methods."
        raise PolicyError(UNREADABLE, told)
    machine = Machine(STEPS, [], 0)
    instance = _guarded(machine, file, lambda: _made(machine, tree.body, classes[0]))
    return Program(file, text, classes[0].name, instance)


def _made(machine: Machine, body: Sequence[ast.stmt], own: ast.ClassDef) -> Instance:
    """Carries out what stands outside of functions, once: afterwards it does not change."""
    names: dict[str, Any] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = Function(node, names)
        elif not isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom):
            if any(isinstance(one, ast.Name) and one.id == own.name for one in ast.walk(node)):
                told = (
                    f"{own.name} cannot be used here: leave out this line, checks ask its methods."
                )
                raise PolicyError(UNREADABLE, told, node.lineno)
            machine.top_level(node, names, {})
    # Methods see the file's names, those of the class only by self, as in Python.
    values: dict[str, Any] = {}
    methods: dict[str, Function] = {}
    for node in own.body:
        if isinstance(node, ast.FunctionDef):
            methods[node.name] = Function(node, names)
            if not node.args.args:
                told = f"{own.name}.{node.name} needs self as its first parameter."
                raise PolicyError(UNREADABLE, told, node.lineno)
        else:
            machine.top_level(node, values, names)
    names.update({name: frozen(value, machine.meter) for name, value in names.items()})
    return Instance(methods, {name: frozen(value, machine.meter) for name, value in values.items()})


def _guarded(machine: Machine, file: str, work: Any) -> Any:
    """The result, every mistake of which is a PolicyError with its line."""
    try:
        with _deep():
            return work()
    except PolicyError as error:
        error.line = error.line or machine.line
        raise
    except RecursionError as error:
        told = "The functions call each other too deeply."
        raise PolicyError(STOPPED, told, machine.line) from error
    except MemoryError as error:
        raise PolicyError(STOPPED, "This takes too much memory.", machine.line) from error
    except KeyError as error:
        told = f"KeyError: there is no {error}."
        raise PolicyError(RAISED, told, machine.line) from error
    except NameError as error:
        raise PolicyError(RAISED, f"There is no name {error} here.", machine.line) from error
    except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError) as error:
        told = f"{type(error).__name__}: {error}."
        raise PolicyError(RAISED, told[:300], machine.line) from error


@contextmanager
def _deep() -> Iterator[None]:
    """Lets Python call as deeply as policies may."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
