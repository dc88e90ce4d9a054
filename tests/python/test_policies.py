"""A policy is carried out as Python would, and can do nothing else.

If these fail, a student's right policy is judged wrong, or a hostile one takes the grader with it.
"""

from __future__ import annotations

import ast

import pytest

from p4lab.policies import PolicyError, language, machine, read

HEAD = "class Policies:\n    def f(self, x=0):\n        "


def program(body: str, above: str = ""):
    return read(above + HEAD + body.replace("\n", "\n        ") + "\n", "policies.py")


# Each is an expression or a body; Python itself says what comes out.
SAME = [
    "return x + 7 // 2 * 3 - -x % 5",
    "return [n * n for n in range(10) if n % 2] + [*'ab', x]",
    "return {n: str(n) for n in (3, 1)}, {1, 2} | {x}, {**{}} if False else {'a': 1}.get('b', 4)",
    "a, (b, c) = 1, [2, 3]\na += c\nreturn a, b, c",
    "total = 0\nwhile True:\n    total += 1\n    if total % 2: continue\n    if total > 8: break\n"
    "else:\n    total = -1\nreturn total",
    "for n in [1, 2]:\n    pass\nelse:\n    return 'all'\nreturn 'some'",
    "q = [1]\nfor n in q:\n    if n < 5: q.append(n + 1)\n"
    "return q, len(q), q.pop(0), q[-2:], q[::-1]",
    "return sorted([(2, 'b'), (1, 'c')], key=lambda one: one[1], reverse=True)",
    "d = {}\nfor n in range(6):\n    d.setdefault(n % 3, []).append(n)\n"
    "d[2][0] += 10\nreturn list(d.items()), sum(d[1]), 2 in d, 7 not in d",
    "return x < 3 <= 5 != 6, not x, x or 'no', x and 1, 5 if x else 6, x is None",
    "return f'{x:.2f}', round(2.567, 1), max(3, 9), min([4, 2]), abs(-2), divmod(7, 2)",
    "return 2 ** 10, 1 << 4, 7 & 3, 7 | 8, 7 ^ 2, ~4, 9 >> 1",
    "return list(zip([1, 2], 'ab')), list(enumerate('ab', 1)), list(reversed([1, 2]))",
    "return list(map(abs, [-1, 2])), list(filter(lambda n: n > 1, [1, 2]))",
    "return int('12'), float(3), bool([]), any([]), all([])",
    "s = {1, 2}\ns.add(3)\ns.discard(9)\nreturn s, s.union([7]), (1, 2).index(2)",
    "f = lambda a, b=2: a * b\nreturn f(4), f(4, b=1)",
    "def g(n):\n    return n + x if n < 1 else g(n - 1) * 2\nreturn g(3)",
    "def g():\n    def h(a):\n        return a + later\n    return h\nlater = 3\nreturn g()(x)",
    "import math\nreturn math.ceil(x / 2)",
]


@pytest.mark.parametrize("body", SAME)
def test_it_means_what_python_means(body: str) -> None:
    names: dict = {}
    exec(HEAD + body.replace("\n", "\n        "), names)
    for x in (0, 5, 2.5):
        assert program(body).call("f", x) == names["Policies"]().f(x)


def test_methods_constants_and_functions_see_each_other() -> None:
    text = (
        "import math\nLIMIT = [240]\n\ndef half(n):\n    return n / LIMIT[0]\n\n"
        "class Mine:\n    STEP = 3\n    def f(self, x):\n"
        "        return self.g(x) + math.ceil(half(60))\n"
        "    def g(self, x, more=1):\n        return x * self.STEP if x < 9 else self.g(x - 9)\n"
    )
    assert read(text, "policies.py").call("f", 11) == 7
    assert read(text, "policies.py").methods == {"f": ("x",), "g": ("x", "more")}


# What a policy may not have, or not there, in the method.
LEFT_OUT = [
    "class Inner:\n    pass",
    "return x @ x",
    "return [x][0:1, 0]",
    "return *x",
    "break",
    "nonlocal x",
    "return [(yield)]",
    "async def g():\n    pass",
    "return [n async for n in x]",
    "while (y := x):\n    pass",
    "match x:\n    case 0:\n        pass",
    "return b'x', 1j, ...",
    "a: int\ndel x",
    "raise ValueError",
    "return (await x)",
]


@pytest.mark.parametrize("body", LEFT_OUT)
def test_what_is_left_out_is_refused_when_the_file_is_read(body: str) -> None:
    with pytest.raises(PolicyError) as caught:
        program("y = 1\n" + body)
    assert caught.value.kind == "no policy" and caught.value.line >= 4
    assert str(caught.value).endswith(".") and "ast." not in str(caught.value)


IMPORTS = {ast.Import, ast.ImportFrom}
"""Of math and the future, and of nothing else: `REFUSED`"""


def kinds(kind: type[ast.AST]) -> set[type[ast.AST]]:
    """The nodes of a kind, whichever this Python has. Some are of old and no longer made."""
    old = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"}
    return {one for one in kind.__subclasses__() if one.__name__ not in old}


@pytest.mark.parametrize(
    ("kind", "table", "elsewhere"),
    [
        (ast.stmt, machine._STATEMENTS, {ast.ClassDef, *IMPORTS}),
        (ast.expr, machine._EXPRESSIONS, {ast.Slice}),
        (ast.operator, machine._BINARY, set()),
        (ast.unaryop, machine._UNARY, set()),
        (ast.cmpop, machine._COMPARED, set()),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_each_node_of_python_is_carried_out_or_refused(kind, table, elsewhere) -> None:
    """Without this, a node that the language lets through ends in a sentence about the grader."""
    allowed = {one for one in kinds(kind) - IMPORTS if language._is_allowed(one())}
    assert allowed - elsewhere == set(table) - IMPORTS


def test_a_function_in_a_function_changes_its_own_names_only() -> None:
    mine = program("total = 0\ndef add():\n    total += 1\nadd()\nreturn total")
    with pytest.raises(PolicyError, match="total has no value in this function") as caught:
        mine.call("f")
    assert caught.value.line == 5


def test_a_function_that_a_function_made_keeps_nothing() -> None:
    above = (
        "def make():\n    seen = []\n    def count(x):\n        seen.append(x)\n"
        "        return len(seen)\n    return count\nCOUNT = [make()]\n"
    )
    with pytest.raises(PolicyError, match="no method append"):
        program("return COUNT[0](x)", above).call("f")


def test_a_call_for_each_member_is_deep_but_not_too_deep() -> None:
    """639 members, one call for each, as who learned it from lists would write it."""
    mine = program(
        "if not x:\n    return [0]\nelse:\n    for one in [x]:\n        if one:\n"
        "            return [x[0] + 1] + self.f(x[1:])"
    )
    assert mine.call("f", list(range(639)), steps=2_000_000) == [*range(1, 640), 0]


KEY = "sorted([1], key=lambda n: {})"


@pytest.mark.parametrize("brackets", [0, 4, 8, 12, 40])
@pytest.mark.parametrize("form", ["[{}]", "max({}, 0)", "[*{}]", "self.g({})", KEY])
def test_calls_without_end_are_stopped_before_pythons_own_stack_is_full(brackets, form) -> None:
    inner = "self.f(x)"
    for _ in range(brackets):
        inner = form.replace("{}", inner)
    text = f"{HEAD}return {inner}\n    def g(self, x):\n        return x\n"
    try:
        mine = read(text, "policies.py")
    except PolicyError as error:
        assert "nested too deeply" in str(error)
        return
    with pytest.raises(PolicyError, match="deep") as caught:
        mine.call("f", 1, steps=2_000_000)
    assert caught.value.kind == "policy stopped"


REFUSED = [
    ("import os", 1, "import math, and nothing else"),
    ("from math import ceil", 1, "import math as a whole"),
    ("x = ().__class__", 1, "names that begin with _"),
    ("x = __builtins__", 1, "names that begin with __"),
    ("try:\n    pass\nexcept OSError:\n    pass", 1, "`try` is not in the part of Python"),
    ("class A:\n    pass", 3, "2 classes"),
    ("x = (", 1, "is not Python"),
    ("x = " + "9" * 5000, 1, ""),
    ("x = " + "-" * 200 + "1", 1, "too deeply"),
    ("x = open('p4/fabric/policies.py')", 1, "no name open"),
    ("x = eval('1')", 1, "no name eval"),
    ("x = [0]\nx.__init__()", 2, "names that begin with _"),
    ("x = 10 ** 10 ** 10", 1, "more than 128 bits"),
    ("x = [0] * 10 ** 9", 1, "steps"),
    ("x = 'a' * 10 ** 12", 1, "steps"),
    ("x = list(range(10 ** 12))", 1, "steps"),
    ("x = 1 << 10 ** 9", 1, "more than 128 bits"),
    ("x = round(5, -10 ** 9)", 1, "up to 20 digits"),
    ("while True:\n    pass", None, "a loop that never ends"),
    ("x = [1]\nfor n in x:\n    x.append(n)", None, "a loop that never ends"),
    ("x = [0]\nfor n in range(60):\n    x = [x, x]\ny = x == x", None, "too deeply"),
    ("x = [0]\nfor n in range(60):\n    x = [x, x]", None, "a loop that never ends"),
    ("x = f'{1:1000000000}'", 1, "formatted as in"),
    ("x = (-8) ** 0.5", 1, "no such root"),
    ("x = 1 / 0", 1, "ZeroDivisionError"),
    ("x = {}[4]", 1, "there is no 4"),
    ("x = {[]: 1}", 1, "cannot be a key"),
    ("x = math.exp", 1, "no .exp"),
    ("def g(n):\n    return g(n)\nx = g(1)", None, "more than 700 deep"),
    ("x = 5\nx.real", 2, "no .real"),
    ("x = [print]\nfor one in map(print, x):\n    pass", None, ""),
]


@pytest.mark.parametrize(("above", "line", "told"), REFUSED, ids=[one[0][:30] for one in REFUSED])
def test_what_is_hostile_or_wrong_gets_one_sentence_and_a_line(above, line, told, capfd) -> None:
    with pytest.raises(PolicyError) as caught:
        program("return 1", above + "\n")
    assert told in str(caught.value) and str(caught.value).endswith(".")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    if line is not None:
        assert caught.value.line in (line, 0)
    assert capfd.readouterr() == ("", "")


def test_a_call_leaves_nothing_for_the_next_one() -> None:
    with pytest.raises(PolicyError, match="no method append"):
        program("SEEN.append(x)\nreturn len(SEEN)", "SEEN = []\n").call("f", 1)
    with pytest.raises(PolicyError, match="keeps nothing"):
        program("self.n = x")
    mine = program("x.append(1)\nprint(x)\nreturn len(x)")
    given = [5]
    assert [mine.call("f", list(given)), mine.call("f", list(given))] == [2, 2]
    assert mine.printed == ["[5, 1]"]


def test_what_it_raises_has_the_line_where_it_was() -> None:
    mine = program("y = 1\nreturn self.g(x) + y", "def deep(n):\n    return 1 // n\n")
    with pytest.raises(PolicyError) as caught:
        mine.call("f", 0)
    assert "no method g" in str(caught.value) and caught.value.line == 6
    mine = program("y = deep(x)\nreturn y", "def deep(n):\n    return 1 // n\n")
    with pytest.raises(PolicyError) as caught:
        mine.call("f", 0)
    assert caught.value.line == 2
