"""Tidy data: what is written is read back, and says where it is from.

If these fail, a plot made from a saved table differs from one made from the run, or nobody can tell
which version made a figure.
"""

import csv
import io
import math
import random

import pytest

from p4lab import __version__
from p4lab.experiment import tidy
from p4lab.paths import ROOT

ROUTER = ROOT / "crates" / "p4-arch" / "benches" / "route.p4"


def value(draw):
    return draw.choice(
        [
            None,
            True,
            False,
            draw.randrange(-(2**70), 2**70),
            draw.uniform(-1e9, 1e9) * 10.0 ** draw.randrange(-300, 290),
            math.inf,
            0.1,
            "".join(draw.choice("a\"\n\r,;' 1.é") for _ in range(draw.randrange(8))),
            draw.choice(["", "12", "1e5", "true", "nan", "None"]),
        ]
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_table_comes_back_exactly(seed):
    draw = random.Random(seed)
    names = [f"column_{number}" for number in range(draw.randrange(2, 6))]
    rows = [{name: value(draw) for name in names} for _ in range(draw.randrange(1, 30))]
    back = tidy.from_csv(tidy.to_csv(rows))
    assert back == rows
    assert [list(map(type, row.values())) for row in back] == [
        list(map(type, row.values())) for row in rows
    ]
    # Others read the same text.
    others = list(csv.DictReader(io.StringIO(tidy.to_csv(rows), newline="")))
    texts = [{n: v for n, v in row.items() if isinstance(v, str)} for row in rows]
    assert [{n: row[n] for n in text} for row, text in zip(others, texts, strict=True)] == texts


def test_each_row_says_where_it_is_from(tmp_path):
    origin = tidy.origin(7, ROUTER, engine="jit")
    rows = tidy.table([{"rate_bps": 1.5, "host": "h1"}, {"rate_bps": 2.5, "host": "h2"}], origin)
    assert rows[1]["seed"] == 7
    assert rows[1]["p4lab_version"] == __version__
    assert str(rows[1]["engine_build"]).startswith("jit sha256:")
    tidy.write_csv(rows, tmp_path / "rows.csv")
    assert tidy.read_csv(tmp_path / "rows.csv") == rows
    assert tidy.to_csv([]) == "" and tidy.from_csv("") == []


def test_the_hash_is_of_the_text_and_not_of_the_place(tmp_path):
    text = ROUTER.read_text()
    (tmp_path / "same.p4").write_text(text)
    (tmp_path / "other.p4").write_text(text.replace("size = 1024", "size = 1023"))
    assert tidy.program_hash(tmp_path / "same.p4") == tidy.program_hash(ROUTER)
    assert tidy.program_hash(tmp_path / "other.p4") != tidy.program_hash(ROUTER)
    assert tidy.program_hash(ROUTER, [("X", "1")]) != tidy.program_hash(ROUTER)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"a": 1}, {"b": 1}], "row 2 has other columns"),
        ([{"Rate [Gb/s]": 1}], "is not a column name"),
        ([{"a": [1]}], "a list is not a number"),
    ],
)
def test_what_is_not_tidy_is_refused(rows, reason):
    with pytest.raises(ValueError, match=reason):
        tidy.to_csv(rows)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('a\n"x', "quotes"),
        ("a,b\n1\n", "row 1 has 1 values, not 2"),
        ("a\nx\n", "'x' is not a number"),
    ],
)
def test_what_is_no_table_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        tidy.from_csv(text)
