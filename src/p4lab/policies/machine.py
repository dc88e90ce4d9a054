"""Carries a policy out, node by node; each node, and each element that is looked at, is a step.

Values are Python's own numbers, texts, lists, tuples, dicts and sets, so operators mean what they
mean there. Nothing of theirs can be reached but the methods in `library`.
"""

from __future__ import annotations

import ast
import operator
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from p4lab.plurals import count_of
from p4lab.policies import library
from p4lab.policies.errors import STOPPED, PolicyError
from p4lab.policies.library import Meter

DEEPEST_CALL = 700
"""A call for each of 639 members is natural"""
DEEPEST_KEY = 60
"""Of calls that sorted and the like make: each has a large place on Python's own stack"""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


class Function:
    """A function, method or lambda, with the names that it sees beside its own."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, outer: Mapping[str, Any]) -> None:
        self.node = node
        self.outer = outer
        self.line = node.lineno
        self.name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
        self.parameters = tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))
        self.is_frozen = False


class Instance:
    """`self`: methods, and the constants of the class."""

    def __init__(self, methods: Mapping[str, Function], values: Mapping[str, Any]) -> None:
        self.methods = methods
        self.values = values


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


Scope = dict[str, Any]


class Machine:
    """Carries out calls, with so many steps for all of them."""

    def __init__(self, steps: int, printed: list[str], most_printed: int) -> None:
        self.meter = Meter(steps)
        self.line = 0
        self._depth = 0
        self._keys = 0
        self._printed = printed
        self._most_printed = most_printed
        self._outer: Mapping[str, Any] = {}

    def top_level(self, node: ast.stmt, names: Scope, outer: Mapping[str, Any]) -> None:
        """Carries out a statement that stands outside of functions, in these names."""
        self._outer = outer
        self._run([node], names)

    def call(self, function: Function, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """What a function of the policy returns."""
        if self._depth == DEEPEST_CALL:
            told = f"{function.name} calls itself, or others it, more than {DEEPEST_CALL} deep."
            raise PolicyError(STOPPED, told, function.line)
        scope = self._bound(function, given, named)
        outer, line = self._outer, self.line
        self._outer = function.outer
        self._depth += 1
        value = None
        try:
            if isinstance(function.node, ast.Lambda):
                value = self._value(function.node.body, scope)
            else:
                self._run(function.node.body, scope)
        except _Return as returned:
            value = returned.value
        finally:
            self._depth -= 1
            self._outer = outer
        self.line = line  # not where it raises: there the line is told
        return value

    def _bound(self, function: Function, given: Sequence[Any], named: Mapping[str, Any]) -> Scope:
        """The arguments of a call by their names."""
        names = function.parameters
        if len(given) > len(names):
            told = f"{function.name} takes {count_of(len(names), 'argument')}, not {len(given)}"
            raise TypeError(told)
        scope: Scope = dict(zip(names, given, strict=False))
        for name, value in named.items():
            if name not in names or name in scope:
                raise TypeError(f"{function.name} does not take {name} here")
            scope[name] = value
        defaults = function.node.args.defaults
        first = len(names) - len(defaults)
        for place, name in enumerate(names):
            if name in scope:
                continue
            if place < first:
                raise TypeError(f"{function.name} lacks the argument {name}")
            scope[name] = self._value(defaults[place - first], {})
        return scope

    # ---- Statements

    def _run(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for node in body:
            self.line = node.lineno
            self.meter.take(1)
            _STATEMENTS[type(node)](self, node, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self._value(node.value, scope)
        for target in node.targets:
            self._store(target, value, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._store(node.target, self._value(node.value, scope), scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        target = node.target
        if isinstance(target, ast.Subscript):
            many, at = self._value(target.value, scope), self._index(target.slice, scope)
            value = self._binary(node.op, many[at], self._value(node.value, scope))
            self._put(many, at, value)
            return
        assert isinstance(target, ast.Name)  # the language has no attributes to be assigned
        if target.id not in scope:
            told = f"{target.id} has no value in this function yet; one outside stays as it is"
            raise TypeError(told)
        before = scope[target.id]
        scope[target.id] = self._binary(node.op, before, self._value(node.value, scope))

    def _store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, ast.Subscript):
            many = self._value(target.value, scope)
            self._put(many, self._index(target.slice, scope), value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = self.meter.listed(value)
            if any(isinstance(one, ast.Starred) for one in target.elts):
                raise TypeError("a * cannot take what is left over")
            if len(values) != len(target.elts):
                raise ValueError(
                    f"{count_of(len(values), 'value')} for {count_of(len(target.elts), 'name')}"
                )
            for one, part in zip(target.elts, values, strict=True):
                self._store(one, part, scope)

    def _put(self, many: Any, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            raise TypeError("assign to one element at a time, not to a slice")
        if isinstance(many, dict):
            at = self.meter.key(at)
        many[at] = value

    def _if(self, node: ast.If, scope: Scope) -> None:
        self._run(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _loop(self, node: ast.While | ast.For, scope: Scope) -> None:
        for _ in self._turns(node, scope):
            try:
                self._run(node.body, scope)
            except _Break:
                return
            except _Continue:
                pass
            self.line = node.lineno
        self._run(node.orelse, scope)

    def _turns(self, node: ast.While | ast.For, scope: Scope) -> Iterator[None]:
        """As long as the test holds, or once for each value, which then has its name."""
        if isinstance(node, ast.While):
            while self._value(node.test, scope):
                yield
            return
        for value in library.each(self.meter, self._value(node.iter, scope)):
            self.meter.take(1)
            self._store(node.target, value, scope)
            yield

    def _return(self, node: ast.Return, scope: Scope) -> None:
        raise _Return(None if node.value is None else self._value(node.value, scope))

    def _break(self, node: ast.Break, scope: Scope) -> None:
        raise _Break

    def _continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _Continue

    def _pass(self, node: ast.stmt, scope: Scope) -> None:
        """Also for an import: math is there anyway."""

    def _function(self, node: ast.FunctionDef, scope: Scope) -> None:
        scope[node.name] = self._closure(node, scope)

    def _alone(self, node: ast.Expr, scope: Scope) -> None:
        self._value(node.value, scope)

    # ---- Expressions

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        self.meter.take(1)
        return _EXPRESSIONS[type(node)](self, node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return self.meter.number(node.value)

    def _named(self, node: ast.Name, scope: Scope) -> Any:
        return self._name(node.id, scope)

    def _name(self, name: str, scope: Scope) -> Any:
        for names in (scope, self._outer, library.FUNCTIONS):
            if name in names:
                return names[name]
        if name == "math":
            return library.MATH
        raise NameError(name)

    def _list(self, node: ast.List, scope: Scope) -> list[Any]:
        return list(self._elements(node.elts, scope))

    def _tuple(self, node: ast.Tuple, scope: Scope) -> tuple[Any, ...]:
        return tuple(self._elements(node.elts, scope))

    def _set(self, node: ast.Set, scope: Scope) -> set[Any]:
        return set(map(self.meter.key, self._elements(node.elts, scope)))

    def _elements(self, nodes: Sequence[ast.expr], scope: Scope) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.meter.listed(self._value(node.value, scope))
            else:
                yield self._value(node, scope)

    def _dict(self, node: ast.Dict, scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise TypeError("write the keys of a dict one by one, without **")
            found[self.meter.key(self._value(key, scope))] = self._value(value, scope)
        return found

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        many, at = self._value(node.value, scope), self._index(node.slice, scope)
        if isinstance(at, slice):
            self.meter.take(len(many))
        elif isinstance(many, dict | MappingProxyType):
            at = self.meter.key(at)
        return many[at]

    def _index(self, node: ast.expr, scope: Scope) -> Any:
        if not isinstance(node, ast.Slice):
            return self._value(node, scope)
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self._value(part, scope) for part in parts))

    def _operation(self, node: ast.BinOp, scope: Scope) -> Any:
        left = self._value(node.left, scope)
        return self._binary(node.op, left, self._value(node.right, scope))

    def _binary(self, kind: ast.operator, left: Any, right: Any) -> Any:
        self.meter.may(type(kind), left, right)
        return self.meter.number(_BINARY[type(kind)](left, right))

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return _UNARY[type(node.op)](self._value(node.operand, scope))

    def _and_or(self, node: ast.BoolOp, scope: Scope) -> Any:
        value = None
        for part in node.values:
            value = self._value(part, scope)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> bool:
        left = self._value(node.left, scope)
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, scope)
            if isinstance(kind, ast.In | ast.NotIn):
                self.meter.search(left, right)
            elif not isinstance(kind, ast.Is | ast.IsNot):
                self.meter.plain(left)
                self.meter.plain(right)
            if not _COMPARED[type(kind)](left, right):
                return False
            left = right
        return True

    def _either(self, node: ast.IfExp, scope: Scope) -> Any:
        return self._value(node.body if self._value(node.test, scope) else node.orelse, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        owner = self._value(node.value, scope)
        if isinstance(owner, Instance):
            if node.attr in owner.values:
                return owner.values[node.attr]
            told = f"self has no constant {node.attr}; a method is called, as in self.f(x)"
            raise TypeError(told)
        if owner is library.MATH and node.attr in owner:
            return owner[node.attr]
        raise TypeError(f"there is no .{node.attr} to be read here")

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        line = self.line
        called = self._called(node.func, scope)
        given = list(self._elements(node.args, scope))
        named = {str(one.arg): self._value(one.value, scope) for one in node.keywords}
        self.line = line
        if isinstance(called, Function):
            return self.call(called, given, named)
        if called is library.PRINT:
            self._print(given)
            return None
        named = {name: self._wrapped(value) for name, value in named.items()}
        return called(self.meter, *map(self._wrapped, given), **named)

    def _called(self, node: ast.expr, scope: Scope) -> Any:
        """A function of the policy, or one of the library that takes the meter first."""
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, scope)
            if isinstance(owner, Instance):
                if node.attr in owner.methods:
                    method = owner.methods[node.attr]
                    return lambda _, *given, **named: self.call(method, [owner, *given], named)
                raise TypeError(f"self has no method {node.attr}")
            return library.method(owner, node.attr)
        called = self._value(node, scope)
        if isinstance(called, Function) or called is library.PRINT or callable(called):
            return called
        raise TypeError("only functions can be called")

    def _wrapped(self, value: Any) -> Any:
        """A function of the policy as one that the library can call, as `key` of sorted."""
        if isinstance(value, Function):
            return lambda *given: self._key(value, given)
        if callable(value):
            return lambda *given: value(self.meter, *given)
        return value

    def _key(self, function: Function, given: Sequence[Any]) -> Any:
        """A call that a function of the library makes."""
        if self._keys == DEEPEST_KEY:
            told = f"{function.name} is called by sorted or the like more than {DEEPEST_KEY} deep."
            raise PolicyError(STOPPED, told, function.line)
        self._keys += 1
        try:
            return self.call(function, given, {})
        finally:
            self._keys -= 1

    def _print(self, given: Sequence[Any]) -> None:
        if len(self._printed) < self._most_printed:
            self._printed.append(" ".join(library.shown(self.meter, one) for one in given))

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Function:
        return self._closure(node, scope)

    def _closure(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Function:
        """A function that sees the names around it, with the values that they have when it is
        called."""
        return Function(node, ChainMap(scope, self._outer))  # type: ignore[arg-type]

    def _rounds(self, generators: Sequence[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        """The names of each round of a comprehension."""
        if not generators:
            yield scope
            return
        first, *others = generators
        for value in library.each(self.meter, self._value(first.iter, scope)):
            self.meter.take(1)
            inner = dict(scope)
            self._store(first.target, value, inner)
            if all(self._value(test, inner) for test in first.ifs):
                yield from self._rounds(others, inner)

    def _comprehended(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope
    ) -> Any:
        values = [self._value(node.elt, inner) for inner in self._rounds(node.generators, scope)]
        if isinstance(node, ast.SetComp):
            return set(map(self.meter.key, values))
        return values

    def _dict_comprehended(self, node: ast.DictComp, scope: Scope) -> dict[Any, Any]:
        return {
            self.meter.key(self._value(node.key, inner)): self._value(node.value, inner)
            for inner in self._rounds(node.generators, scope)
        }

    def _text(self, node: ast.JoinedStr, scope: Scope) -> str:
        text: str = self.meter.number("".join(self._value(part, scope) for part in node.values))
        return text

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self._value(node.value, scope)
        if node.format_spec is None:
            return library.shown(self.meter, value)
        return format(value, self._value(node.format_spec, scope))

    def _starred(self, node: ast.Starred, scope: Scope) -> Any:
        raise TypeError("a * can stand in a list or a call only")


def frozen(value: Any, meter: Meter) -> Any:
    """A value that no call can change for the next one."""
    meter.take(1)
    if isinstance(value, Function):
        _freeze(value, meter)
    if isinstance(value, list | tuple):
        return tuple(frozen(one, meter) for one in value)
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(one, meter) for key, one in value.items()})
    return value


def _freeze(function: Function, meter: Meter) -> None:
    """Freezes what a function sees of those that it was made in."""
    if function.is_frozen:
        return
    function.is_frozen = True  # first: it may see itself
    names = function.outer
    while isinstance(names, ChainMap):
        scope, names = names.maps
        scope.update({name: frozen(value, meter) for name, value in scope.items()})


_STATEMENTS: Mapping[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: Machine._assign,
    ast.AnnAssign: Machine._annotated,
    ast.AugAssign: Machine._augmented,
    ast.If: Machine._if,
    ast.While: Machine._loop,
    ast.For: Machine._loop,
    ast.Return: Machine._return,
    ast.Break: Machine._break,
    ast.Continue: Machine._continue,
    ast.Pass: Machine._pass,
    ast.Import: Machine._pass,
    ast.ImportFrom: Machine._pass,
    ast.FunctionDef: Machine._function,
    ast.Expr: Machine._alone,
}
_EXPRESSIONS: Mapping[type[ast.expr], Callable[..., Any]] = {
    ast.Constant: Machine._constant,
    ast.Name: Machine._named,
    ast.List: Machine._list,
    ast.Tuple: Machine._tuple,
    ast.Set: Machine._set,
    ast.Dict: Machine._dict,
    ast.Subscript: Machine._subscript,
    ast.BinOp: Machine._operation,
    ast.UnaryOp: Machine._unary,
    ast.BoolOp: Machine._and_or,
    ast.Compare: Machine._compare,
    ast.IfExp: Machine._either,
    ast.Attribute: Machine._attribute,
    ast.Call: Machine._call,
    ast.Lambda: Machine._lambda,
    ast.ListComp: Machine._comprehended,
    ast.GeneratorExp: Machine._comprehended,
    ast.SetComp: Machine._comprehended,
    ast.DictComp: Machine._dict_comprehended,
    ast.JoinedStr: Machine._text,
    ast.FormattedValue: Machine._formatted,
    ast.Starred: Machine._starred,
}
