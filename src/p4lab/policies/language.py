"""Which part of Python policies are written in."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from p4lab.policies.errors import UNREADABLE, PolicyError

LARGEST_FILE = 64 << 10  # characters
DEEPEST = 50  # expressions in expressions, statements in statements

_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.While, ast.For, ast.Break, ast.Continue,
    ast.Return, ast.Pass, ast.Expr, ast.FunctionDef,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Subscript, ast.Slice,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.FormattedValue,
    ast.Starred,
)  # fmt: skip
_PARTS = (
    ast.Module, ast.ClassDef, ast.arguments, ast.arg, ast.comprehension, ast.keyword,
    ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_ALLOWED = (*_STATEMENTS, *_EXPRESSIONS, *_PARTS)

_NAMES = {
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Try: "try",
    ast.With: "with",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.AsyncFunctionDef: "async",
    ast.NamedExpr: ":=",
    ast.MatMult: "@",
    ast.Match: "match",
}
"""How what is left out is written"""

_FORMAT = re.compile(r"[<>^]?\d{0,2}(\.\d{1,2})?[dfge%x]?")


def parsed(text: str, file: str) -> ast.Module:
    """The tree of a policy. Raises PolicyError for what is not in the language."""
    if len(text) > LARGEST_FILE:
        raise PolicyError(UNREADABLE, f"{file} is larger than {LARGEST_FILE >> 10} KiB.")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _not_python(file, error) from error
    _check(tree)
    _compile(tree, file)
    return tree


def _check(tree: ast.Module) -> None:
    for node, line, depth in _nodes(tree):
        if depth > DEEPEST:
            raise PolicyError(UNREADABLE, "This is nested too deeply.", line)
        if not _is_allowed(node):
            raise PolicyError(UNREADABLE, _left_out(node), line)
        if isinstance(node, ast.ClassDef) and node not in tree.body:
            told = f"The class {node.name} is inside of something else: policies take one class."
            raise PolicyError(UNREADABLE, told, line)
        if told := _misused(node):
            raise PolicyError(UNREADABLE, told, line)


def _is_allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.MatMult):  # the one operator that numbers do not have
        return False
    return isinstance(node, _ALLOWED) or _is_known_import(node)


def _compile(tree: ast.Module, file: str) -> None:
    """Lets Python refuse what its grammar does not, such as a return outside of functions. Nothing
    is carried out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as for `x is 0`
            compile(tree, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _not_python(file, error) from error


def _not_python(file: str, error: Exception) -> PolicyError:
    if not isinstance(error, SyntaxError):  # a number of 5,000 digits
        return PolicyError(UNREADABLE, f"{file} cannot be read as Python.")
    told = f"{file} is not Python: {error.msg.partition(';')[0].rstrip('.')}."
    return PolicyError(UNREADABLE, told, error.lineno or 0)


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, int, int]]:
    """Every node with its line and how deep it is."""
    waiting: list[tuple[ast.AST, int, int]] = [(tree, 1, 0)]
    while waiting:
        node, line, depth = waiting.pop()
        line = getattr(node, "lineno", line)
        yield node, line, depth
        if _is_known_import(node):
            continue
        waiting += [(child, line, depth + 1) for child in ast.iter_child_nodes(node)]


def _is_known_import(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return all(one.name == "math" and one.asname is None for one in node.names)
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _left_out(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        return f"`import {node.names[0].name}`: a policy may import math, and nothing else."
    if isinstance(node, ast.ImportFrom):
        name = "." * node.level + (node.module or "")
        return f"`from {name} import`: a policy may import math as a whole, and nothing else."
    name = _NAMES.get(type(node), type(node).__name__)
    return f"`{name}` is not in the part of Python that policies are written in."


def _misused(node: ast.AST) -> str:
    """Why a node of an allowed kind is refused; empty if it is not."""
    if isinstance(node, ast.Attribute):
        if node.attr.startswith("_"):
            return f"`.{node.attr}`: names that begin with _ cannot be reached."
        if not isinstance(node.ctx, ast.Load):
            return f"`.{node.attr} = ...`: a policy keeps nothing from one question to the next."
    if isinstance(node, ast.Name) and node.id == "__name__":
        return "`__name__`: policies are read and not started; leave out what would start them."
    if isinstance(node, ast.Name) and node.id.startswith("__"):
        return f"`{node.id}`: names that begin with __ cannot be reached."
    if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.decorator_list:
        return f"`@` in front of {node.name} is not in the part of Python there is."
    if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
        return f"The class {node.name} has to stand alone, without another in brackets."
    if isinstance(node, ast.arguments) and (node.vararg or node.kwarg or node.kwonlyargs):
        return "A function has plain parameters only, without * in front."
    if isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts):
        return "What stands in [ ] is one place or one part, as in x[2:5], and not several."
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str | None):
        return "Constants are numbers, texts, True, False and None."
    if isinstance(node, ast.Call) and any(one.arg is None for one in node.keywords):
        return "Call a function with its arguments one by one, without **."
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        spec = node.format_spec
        parts = spec.values if isinstance(spec, ast.JoinedStr) else []
        texts = [one.value for one in parts if isinstance(one, ast.Constant)]
        if len(texts) != len(parts) or not all(_FORMAT.fullmatch(str(one)) for one in texts):
            return "A number in a text is formatted as in {x:.2f}, no longer than that."
    return ""
