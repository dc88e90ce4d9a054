"""Without these, a student could read a hidden case or not read the report, a name could become a
script or a formula, or a learning platform could refuse the results."""

import csv
import io
import json
import random
import unicodedata
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from statistics import correlation

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grade_verdicts import ANN, BOB, CAT, HEADING
from p4lab.grading import results
from p4lab.grading.attempts import FAILS, UNPROMISED
from p4lab.grading.record import Proof, Verdict
from p4lab.grading.roster import Person
from p4lab.grading.writers import (
    dolos,
    gradebook,
    gradescope,
    heatmap,
    junit,
    layout,
    prairielearn,
    report,
    statistics,
    summary,
    table,
    text,
)
from p4lab.grading.writers.layout import Beside, Graded
from p4lab.grading.writers.view import for_student

REPORT = """\
# 07-dots: Lines and dots

Submission of `ann`: **12.5 of 25 points**

- 2 other files were not looked at.

| check | result | points |
|---|---|---:|
| The program compiles | passed |  |
| A line is straight | passed | 10 of 10 |
| A dot goes away | failed | 2.5 of 5 |
| Dots \\| stay \\*apart\\* | failed | 0 of 5 |
| It ends | not run, waits for: A dot goes away | 0 of 5 |

## Draw dots

### A dot goes away

**The packet on port 2 still has the header dot.**

Kind: header not removed

1. table t: key=1 -> go(port=2)
2. a packet comes in on port 1: ethernet()

The packet on port 2:

- headers expected: ethernet
- headers got: ethernet, dot

| field | expected | got |
|---|---|---|
| `dot.x` | `-` | `0x1 \\| 2` |
| `ethernet.t` | `1` | `2` |

Missing: a packet on port 3.

Not wanted: a packet on port 4.

The packet on port 6, which belongs on port 5.

First wrong:

- `on r1, lines.p4, line 12`
- `` hdr.dot.setValid(); // `*` ``
- `this leaves dot valid`

**Hint.** Only valid headers are sent.

### Dots \\| stay \\*apart\\*

All public cases are right; a hidden case is not.

Kind: wrong field

**Hint.** Which line wrote it?
"""


class Reader(HTMLParser):
    """What a browser makes of a page: the words, and the tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "path", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_the_report_reads_as_it_did():
    notes = ("2 other files were not looked at.",)
    assert report.as_markdown(for_student(ANN), HEADING, notes) == REPORT


def test_the_page_says_what_the_report_says():
    page = Reader(report.as_html(for_student(ANN), HEADING, ("A note.",)))
    for words in (
        "07-dots: Lines and dots",
        "Submission of ann : 12.5 of 25 points",
        "A note.",
        "Dots | stay *apart* failed 0 of 5",
        "The packet on port 2 still has the header dot.",
        "table t: key=1 -> go(port=2)",
        "dot.x - 0x1 | 2",
        "Missing: a packet on port 3",
        "on r1, lines.p4, line 12 hdr.dot.setValid(); // `*` this leaves dot valid",
        "Hint. Only valid headers are sent.",
        "All public cases are right; a hidden case is not. Kind: wrong field",
    ):
        assert words in page.text
    trouble = Reader(report.as_html(BOB, HEADING))
    assert "The submission is a <pipe>;" in trouble.text


def test_of_many_packets_the_first_are_told():
    story = ANN.checks[2].story
    flood = replace(story, differences=story.differences[1:2] * 1000)
    verdict = replace(ANN, checks=(*ANN.checks[:2], replace(ANN.checks[2], story=flood)))
    for written in (
        report.as_markdown(verdict, HEADING),
        report.as_html(verdict, HEADING),
        gradescope.as_json(verdict),
    ):
        assert written.count("Missing: a packet on port 3") == 4
        assert "And 996 more packets differ." in written


def everything(verdicts, **options) -> dict[str, str]:
    graded = [Graded(verdict, ("a note",)) for verdict in verdicts]
    return layout.files("07-dots", HEADING, graded, formats=layout.FORMATS, **options)


def seen_by_students(files: dict[str, str]) -> str:
    """All that may reach a student, read with the rules of the platforms."""
    seen = []
    for name, content in files.items():
        if name in ("records.json", "grader-errors.txt"):
            continue
        if name.startswith("gradescope/"):
            result = json.loads(content)
            visible = [test for test in result["tests"] if test["visibility"] != "hidden"]
            content = json.dumps({**result, "tests": visible})
        seen.append(content)
    return "\n".join(seen)


def test_no_student_sees_a_hidden_case_before_the_release():
    files = everything([ANN, BOB, CAT])
    assert "QZX" in files["records.json"]
    assert "QZX" not in seen_by_students(files)
    revealed = everything([ANN, BOB, CAT], reveal=True)
    for name in ("students/ann.md", "students/ann.html", "junit.xml"):
        assert all(f"QZX{part}" in revealed[name] for part in range(1, 9)), name


def test_the_files_of_a_class():
    files = everything([CAT, ANN, BOB])
    assert set(files) == {
        "canvas.csv",
        "dolos/given.p4",
        "dolos/info.csv",
        "grades.csv",
        "heatmap.svg",
        "junit.xml",
        "moodle.csv",
        "records.json",
        "statistics.csv",
        "summary.html",
        "summary.md",
        *(f"students/{name}.{kind}" for name in ("ann", "bob", "cat") for kind in ("md", "html")),
        *(f"gradescope/{name}/results.json" for name in ("ann", "bob", "cat")),
        *(f"prairielearn/{name}/results.json" for name in ("ann", "bob", "cat")),
    }
    records = json.loads(files["records.json"])["verdicts"]
    back = [Verdict.from_json({k: v for k, v in r.items() if k != "notes"}) for r in records]
    assert back == [ANN, BOB, CAT]
    assert "grader-errors.txt" in layout.files("x", HEADING, [Graded(ANN, (), "a traceback")])


def test_grades_are_a_table_without_formulas():
    evil = replace(CAT, student="=cmd|'!A1'", trouble="+1\n")
    rows = list(csv.DictReader(io.StringIO(table.as_csv([ANN, BOB, evil]))))
    assert [row["points"] for row in rows] == ["12.5", "0", "25"]
    assert [row["percent"] for row in rows] == ["50", "0", "100"]
    assert [row["dot"] for row in rows] == ["2.5", "0", "5"]
    assert "compiles" not in rows[0]  # it has no points
    assert rows[2]["student"] == "'=cmd|'!A1'"
    assert rows[2]["trouble"] == "'+1\n"


FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", '=HYPERLINK("http://x.example")', "\uff1d1+1")
HIDDEN_BEHIND = ("", ";", "; ", "\t", "a;", "a\t", "\n", "\r", "a,", '"', "a|", " ", "\u00a0")


@pytest.mark.parametrize("before", HIDDEN_BEHIND)
@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_is_a_formula_however_a_spreadsheet_divides_the_lines(before, formula):
    """A name is whatever a student calls a folder; Excel divides at semicolons in half of Europe,
    others at tabs, and some take quotation marks for what they are and some do not."""
    text = table.as_csv(
        [replace(ANN, student=f"{before}{formula};x", trouble=f"{before}{formula}")]
    )
    for separator in (",", ";", "\t", "|"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            for row in csv.reader(io.StringIO(text), delimiter=separator, quoting=quoting):
                for cell in row:
                    bare = cell.lstrip().lstrip('"').lstrip()
                    assert bare[:1] not in tuple("=+-@\uff1d"), (separator, quoting, cell)


def test_statistics_are_what_the_definitions_say():
    """Python's own correlation is the oracle; the class is drawn with seed 7."""
    chance = random.Random(7)
    verdicts = [BOB]  # who could not be graded says nothing about a check
    for number in range(40):
        points = [chance.choice((0, check.max_points)) for check in ANN.checks]
        checks = tuple(
            replace(check, points=got, story=None)
            for check, got in zip(ANN.checks, points, strict=True)
        )
        verdicts.append(replace(ANN, student=str(number), checks=checks))
    rows = {row["check"]: row for row in csv.DictReader(io.StringIO(statistics.as_csv(verdicts)))}
    assert set(rows) == {"line", "dot", "dots", "end"}, "only checks with points"
    for place, check in enumerate(ANN.checks[1:], 1):
        own = [verdict.checks[place].points for verdict in verdicts[1:]]
        rest = [verdict.points - got for verdict, got in zip(verdicts[1:], own, strict=True)]
        wanted = sum(own) / 40 / check.max_points
        assert float(rows[check.id]["difficulty"]) == pytest.approx(wanted, abs=0.006)
        wanted = correlation(own, rest)
        assert float(rows[check.id]["discrimination"]) == pytest.approx(wanted, abs=0.006)
    few = statistics.items(verdicts[:4])
    assert all(item.discrimination is None for item in few)
    alike = statistics.items([CAT] * 9)
    assert all((item.difficulty, item.discrimination) == (1, None) for item in alike)


def test_dolos_gets_a_file_for_each_student_and_says_who_they_are():
    """Its page on metadata: `filename` is the path from where info.csv is."""
    classes = {
        "07-dots": {"ann": {"a.p4": "1", "b.p4": "2"}, "=b/../c": {"a.p4": "3"}},
        "last year": {"ann": {"a.p4": "4"}},
    }
    files = dolos.files(classes, {"a.p4": "given"})
    rows = list(csv.DictReader(io.StringIO(files["info.csv"])))
    assert {row["filename"] for row in rows} == set(files) - {"info.csv", "given.p4"}
    assert not [name for name in files if ".." in name.split("/") or name.startswith("/")]
    assert {(row["full_name"], row["label"]) for row in rows} == {
        ("ann", "07-dots"),
        ("'=b/../c", "07-dots"),
        ("ann", "last year"),
    }
    assert "1" in files["07-dots/ann.p4"] and "2" in files["07-dots/ann.p4"]


# ---- Platforms, read by the rules that they publish ---------------------------------------------

VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
GRADESCOPE = {
    "score": (int, float),
    "execution_time": (int, float),
    "output": str,
    "output_format": str,
    "test_output_format": str,
    "test_name_format": str,
    "visibility": str,
    "stdout_visibility": str,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
GRADESCOPE_TEST = {
    "score": (int, float),
    "max_score": (int, float),
    "status": str,
    "name": str,
    "name_format": str,
    "number": str,
    "output": str,
    "output_format": str,
    "tags": list,
    "visibility": str,
    "extra_data": dict,
}
TEXT_FORMATS = {"text", "html", "simple_format", "md", "ansi"}


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("verdict", [ANN, BOB, CAT], ids=lambda verdict: verdict.student)
def test_gradescope_takes_it(verdict, reveal):
    result = json.loads(gradescope.as_json(verdict, ("a note",), reveal=reveal))
    assert all(isinstance(value, GRADESCOPE[key]) for key, value in result.items())
    assert {result["visibility"], result["stdout_visibility"]} <= VISIBILITY
    assert result["stdout_visibility"] == "hidden"
    for test in result["tests"]:
        assert all(isinstance(value, GRADESCOPE_TEST[key]) for key, value in test.items())
        assert test["visibility"] in VISIBILITY
        assert test["status"] in ("passed", "failed")
        assert {test["name_format"], test["output_format"]} <= TEXT_FORMATS
    # A hidden test with points would hide the total from students.
    hidden = [test for test in result["tests"] if test["visibility"] == "hidden"]
    assert all("score" not in test and "max_score" not in test for test in hidden)
    assert bool(hidden) == (verdict is ANN and not reveal)
    shown = [test for test in result["tests"] if test["visibility"] == "visible"]
    assert sum(test["score"] for test in shown) == result["score"] == verdict.points
    assert [test["status"] == "passed" for test in shown] == [
        check.status == "passed" for check in verdict.checks
    ]
    assert verdict.trouble in result["output"]


@pytest.mark.parametrize("verdict", [ANN, BOB, CAT], ids=lambda verdict: verdict.student)
def test_prairielearn_takes_it(verdict):
    long = replace(verdict, checks=tuple(_long(check) for check in verdict.checks))
    for one in (for_student(verdict), for_student(long)):
        written = prairielearn.as_json(one, ("a note",))
        assert len(written.encode()) <= 1_000_000
        result = json.loads(written)
        assert 0.0 <= result["score"] <= 1.0
        assert result["score"] == one.points / one.max_points
        assert result["gradable"] is (not one.trouble)
        assert result["format_errors"] == ([one.trouble] if one.trouble else [])
        assert isinstance(result["message"], str) and isinstance(result["output"], str)
        for test in result["tests"]:
            assert test["points"] <= test["max_points"]
            assert {type(test[key]) for key in ("name", "description", "message", "output")} == {
                str
            }


def _long(check):
    if check.story is None:
        return check
    return replace(check, story=replace(check.story, steps=("é" * 4000,) * 200))


def test_junit_readers_take_it():
    root = ElementTree.fromstring(junit.as_xml("07-dots", [for_student(ANN), BOB, CAT]))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        cases = list(suite)
        outcomes = [child.tag for case in cases for child in case]
        assert set(outcomes) <= {"failure", "skipped", "error"}
        assert int(suite.get("tests")) == len(cases)
        for tag, key in (("failure", "failures"), ("skipped", "skipped"), ("error", "errors")):
            assert int(suite.get(key)) == outcomes.count(tag)
        assert all(case.get("name") and case.get("classname") for case in cases)
        assert all(len(case) <= 1 for case in cases)
    assert [suite.get("name") for suite in root] == ["ann", "bob", "cat"]
    assert [suite.get("failures") for suite in root] == ["2", "0", "0"]
    assert root[0][2][0].get("message") == "The packet on port 2 still has the header dot."
    assert root[1][0][0].tag == "error"


# ---- The class ----------------------------------------------------------------------------------


def test_the_heat_map_has_a_cell_for_each_student_and_check():
    verdicts = [replace(ANN, student=f"student {n}") for n in range(298)] + [BOB, CAT]
    image = heatmap.draw("07-dots", verdicts)
    root = ElementTree.fromstring(image)
    ns = "{http://www.w3.org/2000/svg}"
    cells = {
        path.get("fill"): path.get("d").count("M")
        for path in root.iter(f"{ns}path")
        if path.get("fill") != "none" and path.get("d").count("M") > 1
    }
    colour = {name: fill for name, (fill, _) in heatmap.STATES.items()}
    assert cells == {
        colour["passed"]: 298 * 2 + 5,
        colour["failed"]: 298,
        colour["hidden"]: 298,
        colour["skipped"]: 298,
        colour["trouble"]: 5,
    }
    words = [item.text for item in root.iter(f"{ns}text")]
    for wanted in ("07-dots: 300 submissions, check by check", "check", "points",
                   "student, most points first", "A line is straight",
                   "Source: records.json of p4lab grade 07-dots",
                   *(label for _, label in heatmap.STATES.values())):  # fmt: skip
        assert wanted in words
    sizes = {float(item.get("font-size")) for item in root.iter(f"{ns}text")}
    assert min(sizes) >= 9
    width, height = float(root.get("width")), float(root.get("height"))
    for item in root.iter(f"{ns}text"):
        assert 0 <= float(item.get("x")) <= width
        assert 0 <= float(item.get("y")) <= height
    assert height / 300 > 10  # a row is as high as its name
    assert len(image) < 200_000


def test_the_summary_counts_and_links():
    verdicts = [for_student(ANN), BOB, CAT]
    files = {"ann": "ann", "bob": "b%20b", "cat": "cat"}
    written = summary.as_markdown("07-dots", verdicts, HEADING, files)
    assert (
        "3 submissions, median 12.5 of 25 points, 1 with every check passed, "
        "1 that could not be graded." in written
    )
    assert "| A dot goes away | 1 | 1 | 0 | 0 | 1 |" in written
    assert "| Dots \\| stay \\*apart\\* | 1 | 0 | 1 | 0 | 1 |" in written
    assert "| A dot goes away | header not removed | 1 |" in written
    assert "[report](students/b%2520b.md) The submission is a &lt;pipe>;" in written
    page = Reader(summary.as_html("07-dots", verdicts, HEADING, files))
    assert "3 submissions, median 12.5 of 25 points" in page.text
    assert "svg" in page.tags


def test_who_handed_in_nothing_is_no_submission():
    """A no-show counted, so the median was 0."""
    aside = summary.Aside(frozenset({"bob"}), ("1 on the roster handed in <nothing>.",))
    verdicts = [for_student(ANN), BOB, CAT]
    files = {one.student: one.student for one in verdicts}
    written = summary.as_markdown("07-dots", verdicts, HEADING, files, aside=aside)
    assert "2 submissions, median 18.75 of 25 points, 1 with every" in written
    assert "handed in &lt;nothing>" in written and "students/bob.md" in written
    page = Reader(summary.as_html("07-dots", verdicts, HEADING, files, aside=aside))
    assert "2 submissions, median 18.75" in page.text and "handed in <nothing>" in page.text
    assert "1 submission, median" in summary.as_markdown("07-dots", [ANN], HEADING, files)


def test_only_proofs_that_were_tried_are_told():
    """Why a lab has none is the instructor's business, and wrong programs have none anyway."""
    unpromised, fails = (Proof("sampled", why) for why in (UNPROMISED, FAILS))
    tried = [Proof("proven", "bounds"), Proof("sampled", "the time is up"), fails]
    rows = [replace(one, proof=proof) for one, proof in zip((ANN, BOB, CAT), tried, strict=True)]
    files = everything(rows)
    told = [files[f"students/{one.student}.md"] for one in (ANN, BOB, CAT)]
    assert "Proven equal to the reference" in told[0] and "the time is up" in told[1]
    assert "Sampled" not in told[2] and FAILS not in told[2]
    assert "1 proven within bounds, 0 refuted by a proof, 1 sampled only" in files["summary.md"]
    rows = [replace(ANN, proof=unpromised), replace(BOB, proof=fails)]
    files = everything(rows)
    assert "prove" not in files[f"students/{ANN.student}.md"]
    assert "sampled" not in files["summary.md"]
    assert f"nothing proven: {UNPROMISED}" in files["summary.md"].replace("\\", "")
    assert summary.proofs([rows[1]]) == ""


def test_students_are_called_by_the_names_of_the_roster_too():
    """An instructor who defends the marks knows names, and not the addresses of a platform."""
    aside = summary.Aside(names={"ann": "Ann <An> Arbor", "bob": "bob", "cat": ""})
    verdicts = [for_student(ANN), BOB, CAT]
    files = {one.student: one.student for one in verdicts}
    written = summary.as_markdown("07-dots", verdicts, HEADING, files, aside=aside)
    assert "| `ann (Ann <An> Arbor)` |" in written
    assert "| `bob` |" in written and "| `cat` |" in written
    page = Reader(summary.as_html("07-dots", verdicts, HEADING, files, aside=aside))
    assert "ann (Ann <An> Arbor)" in page.text and "bob (" not in page.text


# ---- Text of unknown origin ---------------------------------------------------------------------

NASTY = st.text(
    st.one_of(st.characters(), st.sampled_from("<>&\"'`|*_[]()!#=+-@\\{}~\x00\x1b\n\r\t\u202e]]>")),
    max_size=60,
)


def poisoned(word: str) -> Verdict:
    """A verdict in which everything that a student has a say in is `word`."""
    story = ANN.checks[2].story
    field = replace(story.differences[0].fields[0], field=word, expected=word, got=word)
    difference = replace(story.differences[0], got_headers=(word,), fields=(field,))
    bad = replace(
        story,
        steps=(word,),
        summary=word,
        why=word,
        hint=word,
        differences=(difference,),
        place=replace(story.place, file=word, text=word),
    )
    checks = (*ANN.checks[:2], replace(ANN.checks[2], story=bad))
    made = Verdict("07-dots", "x", checks, word)
    return replace(Verdict.from_json(text.tidied(made.to_json())), student=word)


TAGS = set(
    "html head meta title style body h1 h2 h3 p ul ol li table tr th td code pre strong a "
    "svg path rect text".split()
)
ATTRIBUTES = set(
    "lang charset http-equiv content name class href xmlns width height viewbox role font-family "
    "font-size text-anchor transform fill stroke d x y".split()
)


@given(NASTY.filter(lambda word: word != "another"))
@example("=")
@example("=1")
def test_no_word_of_a_student_becomes_a_tag_or_breaks_a_file(word):
    files = everything([poisoned(word), poisoned("another")])
    for name, content in files.items():
        if name.endswith(".html"):
            page = Reader(content)
            assert page.tags <= TAGS and page.attributes <= ATTRIBUTES
    for name, content in files.items():
        content.encode()
        if name.endswith((".xml", ".svg")):
            ElementTree.fromstring(content)
        elif name.endswith(".json"):
            json.loads(content)
        kinds = {unicodedata.category(char) for char in content} - {"Cc"}
        assert name.endswith(".json") or not kinds & {"Cf", "Cs"}
        assert not set(content) & (set(map(chr, range(32))) - set("\n\t"))
    cells = {row["student"] for row in csv.DictReader(io.StringIO(files["grades.csv"]))}
    # A sign alone is not a formula, and Moodle's worksheets hold such cells.
    assert not any(cell.startswith(("=", "+", "-", "@")) and cell[1:].strip() for cell in cells)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("[x](javascript:y) ![i](u)", "\\[x\\](javascript:y) \\!\\[i\\](u)"),
        ("<b>&amp;</b>", "&lt;b>&amp;amp;&lt;/b>"),
        ("see http://x.example or www.y.example", "see http:\\// x"),
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("> a\n# b", "\\> a \\# b"),
        ("bift_id=0x1 _em_ __main__", "bift_id=0x1 \\_em\\_ \\_\\_main\\_\\_"),
        ("a | b ~c~ @d", "a \\| b \\~c\\~ \\@d"),
    ],
)
def test_markdown_stays_words(words, written):
    if "http" in words:
        assert "http://" not in text.markdown(words) and "www." not in text.markdown(words)
    else:
        assert text.markdown(words) == written


def test_a_code_span_holds_back_ticks():
    assert text.markdown_code("a `b` ``c``") == "``` a `b` ``c`` ```"
    assert text.markdown_code("") == "`  `"


@given(st.lists(st.text(max_size=300), unique=True, max_size=20))
def test_every_student_has_a_file_of_their_own(students):
    names = text.file_names(students)
    assert set(names) == set(students)
    assert len({name.casefold() for name in names.values()}) == len(students)
    for name in names.values():
        assert name.isascii() and 0 < len(name) <= 80
        assert not set(name) & set("/\\<>:\"|?*' \n") and name[0] not in ".-"


def test_names_stay_readable_and_do_not_depend_on_others():
    assert text.file_names(["Ann Lee", "zoë", "..", "x.y-z_1"]) == {
        "..": "_",
        "Ann Lee": "Ann_Lee",
        "x.y-z_1": "x.y-z_1",
        "zoë": "zo%C3%AB",
    }


def test_records_have_bounded_size():
    data = text.tidied({"a": ["x" * 10_000] * 1_000, "b": {"c": "\x1b[2J\u202e\ud800ok"}})
    assert len(data["a"]) == text.LIST_ITEMS
    assert len(data["a"][0]) == text.STRING_CHARACTERS
    assert data["b"]["c"] == "\ufffd[2J\ufffd\ufffdok"


def test_canvas_gets_no_stranger_and_the_points_of_its_own_column():
    """It would give a stranger's points to whom it knows by that name, and 25 of 50 to others."""
    people = {ANN.student: Person(ANN.student, row={"Student": "Ann"}), "bob": Person("bob")}
    possible = {"Student": "    Points Possible", "Lab 1 (7)": "50", "Lab 2 (8)": "0"}
    bob = replace(ANN, student="bob")
    for title, most in (("Lab 1", 50), ("Lab 1 (7)", 50), ("Lab 2", 25), ("Lab 3", 25)):
        book = gradebook.canvas([ANN, bob], people, frozenset(), title, possible)
        _, top, *lines = csv.reader(io.StringIO(book))
        assert (top[-1], len(lines)) == (str(most), 1), title
        assert float(lines[0][-1]) == ANN.points * most / ANN.max_points


def test_what_a_team_hands_in_is_one_submission():
    """More would be counted than were handed in."""
    teams = {"ann": ("ann", "dan"), "dan": ("ann", "dan")}
    three = [replace(ANN, student=name) for name in ("ann", "bob", "dan")]
    assert summary.Aside(teams=teams).handed_in(three) == "2 submissions of 3 students"
    assert summary.Aside().handed_in(three) == "3 submissions"


def test_the_next_grading_knows_which_lists_there_were(tmp_path):
    """Without --rules the late days of the last results are lost, and nobody would say so."""
    for lists in (("--roster", "--rules"), ()):
        found = layout.files("01-bier", HEADING, [Graded(ANN)], beside=Beside(lists=lists))
        (tmp_path / "records.json").write_text(found["records.json"])
        assert results.lists(tmp_path) == list(lists)
    assert results.lists(tmp_path / "none") == []
