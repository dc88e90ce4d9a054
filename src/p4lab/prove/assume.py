"""What a lab promises of entries, as text: `fbm & remaining.mask == remaining.mask`.

Names are keys and parameters, `KEY.mask` is what an entry covers of a key, `multicast_group` is the
number of the one that there is. A promise holds for the actions that have all parameters named.
"""

from __future__ import annotations

import ast
from typing import Any

Expression = tuple[Any, ...]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.Add: "add",
    ast.Sub: "sub",
}


class PromiseError(ValueError):
    """A promise that means nothing; the message is one sentence."""


def parse(text: str) -> Expression:
    """The expression in the engine's form. Raises PromiseError."""
    try:
        return _read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, RecursionError) as error:
        raise PromiseError(f"{text!r} is not an expression.") from error


def _read(node: ast.expr) -> Expression:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
        return ("number", node.value)
    if isinstance(node, ast.Name):
        return ("group",) if node.id == "multicast_group" else ("name", node.id)
    if isinstance(node, ast.Attribute) and node.attr == "mask":
        return ("mask", ast.unparse(node.value))
    if isinstance(node, ast.Attribute):
        return ("name", ast.unparse(node))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        return ("not", _read(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return (_OPERATORS[type(node.op)], _read(node.left), _read(node.right))
    if isinstance(node, ast.BoolOp):
        joined = _read(node.values[0])
        for value in node.values[1:]:
            joined = ("and" if isinstance(node.op, ast.And) else "or", joined, _read(value))
        return joined
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.ops[0], _read(node.left), _read(node.comparators[0]))
    raise PromiseError(
        f"{ast.unparse(node)!r} is not understood; there are numbers, names, KEY.mask, "
        "comparisons, & | ^ ~ + -, and, or, not."
    )


def _comparison(operator: ast.cmpop, left: Expression, right: Expression) -> Expression:
    if isinstance(operator, ast.Eq):
        return ("equal", left, right)
    if isinstance(operator, ast.NotEq):
        return ("not", ("equal", left, right))
    if isinstance(operator, ast.Lt):
        return ("less", left, right)
    if isinstance(operator, ast.Gt):
        return ("less", right, left)
    if isinstance(operator, ast.LtE):
        return ("not", ("less", right, left))
    if isinstance(operator, ast.GtE):
        return ("not", ("less", left, right))
    raise PromiseError("there are the comparisons == != < <= > >=.")
