"""Without these, a student could get somebody else's points, or lose some that a rule gives."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from grade_verdicts import ANN, BOB, CAT
from p4lab.grading import roster, rules, standing
from p4lab.grading.course import load
from p4lab.grading.handins import Entry
from p4lab.grading.roster import Roster
from p4lab.grading.rules import Adjust, Rules
from p4lab.grading.workers import GradingError
from p4lab.grading.writers import changes, gradebook, table
from p4lab.grading.writers.layout import Graded

DUE = datetime(2026, 11, 20, 23, 59, tzinfo=timezone.utc)
COURSE = load("01-bier")
NO_RULES = Rules()

OWN = "id,name,email,team,user,days\nal7,Ada Lovelace,ada@uni.edu,,71,4\nbb8,Bob Byte,,t1,,\n"
OWN += "cc9,Cat Cable,,t1,,\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 0 (7),Current Score\n"
    "    Points Possible,,,,,10,(read only)\n"
    '"Lovelace, Ada",2001,s1,al7,A,3,30\n'
    '"Doe, John",2002,s2,jd8,A,4,40\n'
    '"Doe, Jane",2003,s3,jd9,B,5,50\n'
    '"Student, Test",2999,,x,A,,\n'
)
MOODLE = (
    "\ufeffIdentifier,Full name,ID number,Email address,Status,Grade,Maximum grade,"
    '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
    '"Feedback comments"\n'
    "Participant 71,Ada Lovelace,al7,ada@uni.edu,Submitted,,20.00,Yes,"
    '"Saturday, 21 November 2026, 2:14 PM",-,\n'
    "Participant 72,Zoë O'Neil,zo8,zoe@uni.edu,No submission,,20.00,Yes,-,-,\n"
)


def people(tmp_path: Path, text: str) -> Roster:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return roster.read(tmp_path / "roster.csv")


# ---- Rosters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "label", "user", "ids"),
    [
        (OWN, "al7", "", ["al7"]),
        (OWN, "Lovelace, Ada", "", ["al7"]),
        (OWN, "lovelaceada", "", ["al7"]),
        (OWN, "ADA", "", ["al7"]),
        (OWN, "whoever", "71", ["al7"]),
        (OWN, "T1", "", ["bb8", "cc9"]),
        (OWN, "Cat Cable", "", ["bb8", "cc9"]),
        (OWN, "nobody", "", []),
        (CANVAS, "lovelaceada", "2001", ["al7"]),
        (CANVAS, "doejohn", "2002", ["jd8"]),
        (CANVAS, "s3", "", ["jd9"]),
        (CANVAS, "Test Student", "", []),
        (MOODLE, "Zoë O'Neil", "72", ["zo8"]),
        (MOODLE, "Zoe ONeil", "", ["zo8"]),
    ],
)
def test_an_entry_is_found_on_the_roster(tmp_path, text, label, user, ids):
    found = people(tmp_path, text).owners(label, user)
    assert [person.id for person in found] == ids


def test_two_who_could_be_meant_are_not_guessed_between(tmp_path):
    both = people(tmp_path, "id,name\na1,John Doe\na2,John Doe\n")
    assert both.owners("doejohn") == () and [one.id for one in both.owners("a2")] == ["a2"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "neither Canvas' grade book"),
        ("name\nx\n", "neither Canvas' grade book"),
        ("ID,Vollständiger Name,Bewertung\nx,y,z\n", "with Moodle set to English, or give a list"),
        ("id,tem\na,t1\n", r"roster.csv:1: unknown column tem; did you mean team\?"),
        ("id,E-Mail\na,t1\n", r"roster.csv:1: unknown column E-Mail; did you mean email\?"),
        ("ID,Id,name\na,b,c\n", "roster.csv:1: the column id is there twice"),
        ("id\n", "there is nobody in it"),
        ("id\na\na\n", r"roster.csv:3: 'a' is there twice"),
        ("id,name\n,x\n", r"roster.csv:2: the column id is empty"),
        ("id,days\na,many\n", r"roster.csv:2: days is a number of days, not 'many'"),
        ('id\n"a\n', "it cannot be read as CSV"),
    ],
)
def test_a_roster_that_is_none_is_a_sentence(tmp_path, text, wrong):
    with pytest.raises(GradingError, match=wrong):
        people(tmp_path, text)


def test_semicolons_and_empty_lines_are_what_spreadsheets_make(tmp_path):
    found = people(tmp_path, "id;name\r\na1;Doe, John\r\n;\r\n")
    assert [one.name for one in found.people] == ["Doe, John"]


def test_columns_of_a_class_list_are_left_alone_and_named(tmp_path):
    """A class list that has more columns could not be used, or a column would be lost unseen."""
    found = people(tmp_path, "ID,Name,Team,surname,term,uid,\na1,Ada,t1,x,y,z,\n")
    assert [(one.id, one.name, one.team) for one in found.people] == [("a1", "Ada", "t1")]
    told, _ = settled([entry("a1")], [ANN], roster=found)
    assert told.remarks() == ("Columns of the roster that are not read: surname, term, uid.",)


def test_ids_that_differ_in_capitals_are_two_students(tmp_path):
    """One of them would lose the hand-in that bears exactly their id, or get the other's."""
    both = people(tmp_path, "id\nAnn\nann\n")
    assert [one.id for one in both.owners("Ann")] == ["Ann"]
    assert [one.id for one in both.owners("ann")] == ["ann"]
    found, _ = settled([entry("ANN")], [ANN], roster=both)
    assert "Not on the roster: ANN (fits Ann and ann)." in found.remarks()


def test_a_typing_mistake_in_a_name_is_seen(tmp_path):
    """An instructor of two hundred would have to look for whose hand-in it is."""
    list_ = people(tmp_path, "id\nadda\nbert\n")
    found, _ = settled([entry("ada"), entry("bert")], [ANN, BOB], roster=list_)
    assert "Not on the roster: ada (did you mean adda?)." in found.remarks()
    found, _ = settled([entry("ada"), entry("adda")], [ANN, BOB], roster=list_)
    assert "Not on the roster: ada." in found.remarks(), "adda has handed in what is hers"


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Saturday, 21 November 2026, 2:14 PM", 14),
        ("Saturday, 21 November 2026, 14:14", 14),
        ("Sat, 21 Nov 2026, 12:14 am", 0),
        ("Saturday, November 21, 2026, 12:14 PM", 12),
        ("2026-11-21 14:14:09", 14),
    ],
)
def test_an_english_time_is_read_whatever_the_locale_is(tmp_path, monkeypatch, text, hour):
    """On a machine in German all of a class would count as in time."""

    class Local(datetime):
        strptime = None  # it reads months as the locale spells them

    monkeypatch.setattr(roster, "datetime", Local)
    sheet = people(tmp_path, MOODLE.replace("Saturday, 21 November 2026, 2:14 PM", text))
    assert sheet.people[0].when == datetime(2026, 11, 21, hour, 14) and not sheet.unread


@pytest.mark.parametrize(
    "text",
    [
        "Samstag, 21. November 2026, 22:00",
        "sábado, 21 de noviembre de 2026, 22:00",
        "Saturday, 31 November 2026, 2:14 PM",
        "Saturday, 21 November 2026, 13:14 PM",
    ],
)
def test_a_time_that_is_not_understood_is_not_taken_for_in_time(tmp_path, text):
    """Who was late would lose nothing, and nobody would know."""
    sheet = people(tmp_path, MOODLE.replace("Saturday, 21 November 2026, 2:14 PM", text))
    with pytest.raises(GradingError, match=rf"roster.csv:2: the time '{text}' is not .* English"):
        standing.agree(COURSE, Rules(due=DUE), sheet)
    standing.agree(COURSE, NO_RULES, sheet)


# ---- Rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "days"), [(-1, 0), (10, 0), (16, 1), (24 * 60 + 10, 1), (24 * 60 + 16, 2)]
)
def test_a_day_that_has_begun_counts_and_grace_does_not(after, days):
    assert Rules(due=DUE, grace=15).days_late(DUE + timedelta(minutes=after)) == days


def settled(entries, rows, given=NO_RULES, roster=None):
    found = standing.settle(COURSE, entries, [Graded(row) for row in rows], given, roster)
    return found, {row.verdict.student: row for row in found.rows}


def entry(student: str, hours: float = -1, turn: int = 0, **more) -> Entry:
    return Entry(student, ((student, Path(student)),), when=DUE + timedelta(hours=hours),
                 turn=(0, turn), **more)  # fmt: skip


def test_late_days_cost_what_the_rules_say(tmp_path):
    given = Rules(due=DUE, free_days=1, per_day=10, most_days=5)
    three, six = entry("ann", 50), entry("cat", 130)
    _, rows = settled([three, six], [ANN, CAT], given)
    assert rows["ann"].verdict.points == ANN.points - 0.2 * ANN.max_points
    assert rows["cat"].verdict.points == 0
    assert "3 days late, 1 of them free." in " ".join(rows["ann"].notes)
    assert "nothing counts after 5 days" in " ".join(rows["cat"].notes)
    _, rows = settled([three], [ANN], given.model_copy(update={"days": {"ann": 3}}))
    assert rows["ann"].verdict.points == ANN.points
    _, rows = settled([replace(three, student="al7")], [ANN], given, people(tmp_path, OWN))
    assert rows["al7"].verdict.points == ANN.points, "the roster gives four days"


@pytest.mark.parametrize(
    ("attempt", "late", "points"),
    [("last", -1, ANN.points), ("best", -1, CAT.points), ("best", 24 * 9, ANN.points)],
)
def test_the_attempt_that_counts(attempt, late, points):
    """The best one is the one that is best after what lateness costs."""
    given = Rules(attempt=attempt, due=DUE, per_day=10)
    tried = [entry("ann", late, 1), entry("ann", -2, 2)]
    _, rows = settled(tried, [CAT, ANN], given)
    assert rows["ann"].verdict.points == points
    assert f"the {attempt} one" in rows["ann"].notes[0]


@pytest.mark.parametrize("rows", [(CAT, ANN), (ANN, CAT)])
def test_the_alphabet_does_not_say_which_is_the_last(tmp_path, rows):
    """A team would lose points because of the name of the one who handed in the worse."""
    tried = [entry("bob"), entry("dan")]
    list_ = people(tmp_path, "id,team\nbob,blue\ndan,blue\n")
    graded = [Graded(row, files={"x.p4": row.student}) for row in rows]
    found = standing.settle(COURSE, tried, graded, NO_RULES, list_)
    assert [row.verdict.points for row in found.rows] == [CAT.points] * 2
    tied = "2 hand-ins of the same time or number: the best counts."
    assert all(tied in row.notes for row in found.rows)
    (told,) = found.remarks()
    assert "best counts: blue; name hand-ins in their order, such as bob@1 and dan@2." in told
    timeless = [replace(one, when=None) for one in tried]
    found = standing.settle(COURSE, timeless, graded, NO_RULES, list_)
    tied = "2 hand-ins without a time or a number: the best counts."
    assert all(tied in row.notes for row in found.rows)
    found = standing.settle(COURSE, timeless, graded, Rules(attempt="best"), list_)
    assert all("The best of 2 hand-ins counts." in row.notes for row in found.rows)
    assert not found.remarks()


def test_times_of_a_platform_say_which_is_the_last(tmp_path):
    """Gradescope's folders have no order, and its file has the times."""
    tried = [entry("bob", -1), entry("dan", -3)]
    list_ = people(tmp_path, "id,team\nbob,blue\ndan,blue\n")
    found, rows = settled(tried, [ANN, CAT], roster=list_)
    assert rows["bob"].verdict.points == ANN.points and not found.remarks()
    assert "Attempt 2 of 2 counts, the last one." in rows["bob"].notes


def test_members_who_hand_in_the_same_are_no_trouble(tmp_path):
    """A summary that lists every team hides what an instructor has to decide."""
    list_ = people(tmp_path, "id,team\nbob,blue\ndan,blue\n")
    found, _ = settled([entry("bob"), entry("dan")], [ANN, ANN], roster=list_)
    assert not found.remarks()


def test_reasons_are_joined_as_one_writes_them():
    """A student would read "0 of them free.; By hand" and "-0 points"."""
    given = Rules(due=DUE, per_day=10, adjust=[Adjust(student="cat", points=1, reason="Fair.")])
    _, rows = settled([entry("cat", 1)], [CAT], given)
    lost = f"-{CAT.max_points / 10:g} points: 1 day late."
    assert rows["cat"].notes == (lost, "1 point: By hand: Fair.")
    text = table.as_csv([rows["cat"].verdict])
    assert "1 day late; By hand: Fair." in text and "free" not in text
    _, rows = settled([entry("cat", 1)], [CAT], Rules(due=DUE, per_day=10, free_days=2))
    assert "0 points: 1 day late, 1 of them free." in rows["cat"].notes


def test_changes_by_hand_are_made_in_their_order():
    """docs/grading.md: `to = 5` and then `points = 5` make 10."""
    given = [Adjust(student="ann", to=5, reason="x"), Adjust(student="ann", points=5, reason="y")]
    for adjust, points in ((given, 10), (given[::-1], 5)):
        _, rows = settled([entry("ann")], [ANN], Rules(adjust=adjust))
        assert rows["ann"].verdict.points == points


def test_nobody_gets_more_than_the_lab_has_by_a_typing_mistake():
    """250 in place of 25 would be in the grade book."""
    rule = Adjust(student="ann", to=101, reason="x")
    with pytest.raises(GradingError, match="set 'ann' to 101 points, but the lab has 100"):
        standing.agree(COURSE, Rules(adjust=[rule]), None)
    standing.agree(COURSE, Rules(adjust=[rule.model_copy(update={"to": 100})]), None)


def test_late_by_nobody_knows_how_much_is_said(tmp_path):
    unknown = Entry("ann", (("x", Path("x")),), late=True)
    found, rows = settled([unknown], [ANN], Rules(due=DUE, per_day=10))
    assert found.doubtful == ("ann",) and rows["ann"].verdict.points == ANN.points
    assert standing.LATE in rows["ann"].notes
    assert "Late, but by an unknown time: ann." in found.remarks()
    without_due, _ = settled([unknown], [ANN])
    assert without_due.doubtful == ("ann",)
    verdicts = [row.verdict for row in rows.values()]
    (cells,) = csv.DictReader(
        io.StringIO(table.as_csv(verdicts, found.people, frozenset(found.doubtful)))
    )
    assert cells["late"] == "by an unknown time"
    sheet = people(tmp_path, MOODLE)
    found, rows = settled(
        [replace(unknown, student="al7")], [ANN], Rules(due=DUE, per_day=10), sheet
    )
    assert found.doubtful == () and rows["al7"].verdict.points == ANN.points - 0.1 * ANN.max_points


def test_what_was_changed_by_hand_is_changed_again_in_every_grading(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        '[[adjust]]\nstudent = "ann"\npoints = 3\nreason = "The handout was wrong."\n'
        '[[adjust]]\nstudent = "bob"\nto = 7.5\nreason = "Shown in class."\n'
        '[[adjust]]\nstudent = "cat"\npoints = -1000\nreason = "Copied."\n'
    )
    given = rules.read(path)
    tried = [entry("ann"), entry("bob"), entry("cat")]
    _, rows = settled(tried, [ANN, BOB, CAT], given)
    points = {name: row.verdict.points for name, row in rows.items()}
    assert points == {"ann": ANN.points + 3, "bob": 7.5, "cat": 0}
    cells = {row["student"]: row for row in csv.DictReader(io.StringIO(
        table.as_csv([row.verdict for row in rows.values()])))}  # fmt: skip
    assert cells["ann"]["adjusted"] == "3" and "handout was wrong" in cells["ann"]["why"]


def test_a_rule_about_nobody_is_a_mistake():
    given = Rules(adjust=[Adjust(student="anne", points=1, reason="x")])
    with pytest.raises(GradingError, match="'anne', who is not in the class"):
        settled([entry("ann")], [ANN], given)


@pytest.mark.parametrize(
    "name", ["al7", "AL7", "71", "ada@uni.edu", "Ada Lovelace", "lovelace ada"]
)
def test_a_rule_may_call_a_student_whatever_is_clear(tmp_path, name):
    given = Rules(days={name: 3}, adjust=[Adjust(student=name, points=1, reason="x")])
    found = standing.named(given, [entry("eve")], people(tmp_path, OWN))
    assert found.days == {"al7": 3} and [one.student for one in found.adjust] == ["al7"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Ada Lovelase", r"did you mean al7 \(Ada Lovelace\)\?"),
        ("xyz", r"such as al7 \(Ada Lovelace\), bb8 \(Bob Byte\), cc9 \(Cat Cable\)"),
        ("John Doe", "who may be jd8, jd9"),
        ("", "who is not in the class"),
    ],
)
def test_a_rule_that_is_not_clear_says_who_could_be_meant(tmp_path, name, told):
    text = OWN + "jd8,John Doe,,,,\njd9,John Doe,,,,\n"
    with pytest.raises(GradingError, match=told):
        standing.named(Rules(days={name: 3}), [entry("readme.txt")], people(tmp_path, text))


def test_free_days_that_are_said_twice_are_not_guessed_between(tmp_path):
    with pytest.raises(GradingError, match="free days of 'al7' twice"):
        standing.named(Rules(days={"al7": 3, "71": 4}), [], people(tmp_path, OWN))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("due = 'tomorrow'", "due: "),
        ("attempt = 'first'", "attempt: "),
        ("deadline = 2026-01-01", "rules.toml:1: unknown key deadline"),
        ("dues = 2026-01-01", r"unknown key dues; did you mean due\?$"),
        ("\nper_day = 10", "rules.toml:2: per_day: without `due` nothing is late"),
        ("most_days = 0", "rules.toml:1: most_days: without `due` nothing is late"),
        ("[[adjust]]\nstudent = 'a'\nreason = 'x'", "either `points` or `to`"),
        ("x = ", "this is not TOML"),
        ("x = " + "[" * 5000, "this is not TOML"),
        (
            "# Anything\ndue = 2026-11-20 23:59",
            r"\(at line 2.*; a deadline is written 2026-11-20T23",
        ),
        ("due = 20.11.2026", "a deadline is written 2026-11-20T23:59:00"),
        ("\ndue = 2026-11-20", "rules.toml:2: due: write day and time without quotes, such as"),
        ('due = "Friday"', "rules.toml:1: due: write day and time without quotes, such as"),
        ("due = 1763679540", "rules.toml:1: due: write day and time without quotes, such as"),
        ("grace = inf", "rules.toml:1: grace: must be at most"),
        ("# Bl\udcfcte", "rules.toml: line 1 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_rules_that_are_wrong_are_a_sentence(tmp_path, text, wrong):
    (tmp_path / "rules.toml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(GradingError, match=wrong):
        rules.read(tmp_path / "rules.toml")


# ---- Classes ------------------------------------------------------------------------------------


def test_a_team_gets_what_one_of_it_handed_in_last(tmp_path):
    tried = [entry("Bob Byte", turn=2), entry("t1", turn=1), entry("stranger")]
    found, rows = settled(tried, [CAT, ANN, BOB], roster=people(tmp_path, OWN))
    assert set(rows) == {"al7", "bb8", "cc9", "stranger"}
    assert rows["bb8"].verdict.points == rows["cc9"].verdict.points == CAT.points
    assert found.teams == {"bb8": ("bb8", "cc9"), "cc9": ("bb8", "cc9")}
    assert found.strangers == ("stranger",) and found.absent == {"al7"}
    assert "Not on the roster: stranger." in found.remarks()
    assert "1 on the roster handed in nothing." in found.remarks()
    assert rows["al7"].verdict.trouble == standing.NOTHING


def test_a_stranger_never_takes_the_place_of_somebody_on_the_roster(tmp_path):
    """Whoever calls their folder as two students are called could get the points of one."""
    both = people(tmp_path, "id,name\nx1,eve\nx2,eve\n")
    _, rows = settled([entry("eve")], [CAT], roster=both)
    assert rows["x1"].verdict.points == rows["x2"].verdict.points == 0
    assert rows["eve"].verdict.points == CAT.points


# ---- Grade books --------------------------------------------------------------------------------


def graded(tmp_path, text: str, *labels: str):
    list_ = people(tmp_path, text)
    found, _ = settled([entry(label) for label in labels], [CAT, ANN][: len(labels)], roster=list_)
    verdicts = [row.verdict for row in found.rows]
    absent = frozenset(one.student for one in verdicts if one.trouble == standing.NOTHING)
    return verdicts, found.people, absent


def test_canvas_finds_its_students_and_its_assignment(tmp_path):
    text = gradebook.canvas(*graded(tmp_path, CANVAS, "lovelaceada", "jd8"), "Lab 1 (4711)")
    head, possible, *rows = csv.reader(io.StringIO(text))
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 1 (4711)"]
    assert "Points Possible" in possible[0] and possible[-1] == str(int(CAT.max_points))
    assert ["Lovelace, Ada", "2001", "s1", "al7", "A", str(int(CAT.points))] in rows
    assert ["Doe, Jane", "2003", "s3", "jd9", "B", ""] in rows, "who was absent is not changed"
    assert len(rows) == 3, "Canvas' own lines are not students"


def test_moodles_worksheet_comes_back_as_it_was_with_grades_in_it(tmp_path):
    text = gradebook.moodle(*graded(tmp_path, MOODLE, "Ada Lovelace"))
    rows = list(csv.DictReader(io.StringIO(text)))
    before = list(csv.DictReader(io.StringIO(MOODLE.removeprefix("\ufeff"))))
    assert list(rows[0]) == list(before[0])
    assert rows[0]["Identifier"] == "Participant 71" and rows[0]["Last modified (grade)"] == "-"
    assert float(rows[0]["Grade"]) == 20, "full points, to the worksheet's scale"
    assert rows[1] == before[1]


def test_moodles_worksheet_gets_no_line_that_moodle_does_not_know(tmp_path):
    text = gradebook.moodle(*graded(tmp_path, MOODLE, "Ada Lovelace", "eve"))
    assert [row["Identifier"] for row in csv.DictReader(io.StringIO(text))] == [
        "Participant 71",
        "Participant 72",
    ]


def test_canvas_number_is_kept_where_the_roster_has_none(tmp_path):
    tried = [replace(entry("bytebob"), user="7001"), replace(entry("team"), user="7002")]
    list_ = people(tmp_path, "id,name,team\nbb8,Bob Byte,\nx1,,team\nx2,,team\n")
    found, rows = settled(tried, [CAT, ANN], roster=list_)
    verdicts = [row.verdict for row in rows.values()]
    text = gradebook.canvas(verdicts, found.people, frozenset(), "Lab 1")
    ids = {row["Student"]: row["ID"] for row in csv.DictReader(io.StringIO(text))}
    assert ids["Bob Byte"] == "7001"
    assert ids["x1"] == ids["x2"] == "", "a team's number is nobody's own"


# ---- A regrade ----------------------------------------------------------------------------------


def test_a_regrade_says_whose_points_changed_and_why():
    earlier = [ANN.to_json(), BOB.to_json(), {**CAT.to_json(), "student": "gone"}]
    better = tuple(replace(check, points=check.max_points) for check in ANN.checks)
    now = [replace(ANN, checks=better), BOB, CAT]
    found = {one.student: one for one in changes.changes(earlier, now)}
    assert set(found) == {"ann", "gone", "cat"}
    assert found["ann"].before == ANN.points and found["ann"].after == ANN.max_points
    assert "dot 2.5 to 5" in found["ann"].checks
    assert found["gone"].after is None and found["cat"].before is None
    assert changes.changes([], now) == [] == changes.changes([one.to_json() for one in now], now)


# ---- Who handed in together, as Gradescope says it --------------------------------------------


TWO = (("al7", "other@uni.edu", "A. L."), ("9", "bob@uni.edu", "Bob Byte"))
"""al7 by her number, and Bob by his name; his number and address are not on the roster"""


def together(known: Roster | None, *members: tuple[str, ...]) -> standing.Class:
    entry = Entry("A. L. and Bob Byte", (("submission_1", Path("submission_1")),), members=members)
    return standing.settle(COURSE, [entry], [Graded(ANN)], NO_RULES, known)


def test_everybody_who_handed_in_together_gets_the_points(tmp_path):
    known = people(tmp_path, "id,name\nal7,Ada Lovelace\nbb8,Bob Byte\ncc9,Cat Cable\n")
    found = together(known, *TWO)
    points = {row.verdict.student: row.verdict.points for row in found.rows}
    assert points == {"al7": ANN.points, "bb8": ANN.points, "cc9": 0}
    assert found.teams == {"al7": ("al7", "bb8"), "bb8": ("al7", "bb8")}
    assert not found.strangers


def test_without_a_roster_they_are_called_as_the_platform_calls_them():
    assert [row.verdict.student for row in together(None, *TWO).rows] == ["A. L.", "Bob Byte"]


def test_who_is_on_no_roster_is_not_forgotten(tmp_path):
    known = people(tmp_path, "id,name\nal7,Ada Lovelace\n")
    assert [row.verdict.student for row in together(known, *TWO).rows] == ["Bob Byte", "al7"]
    alone = together(known, TWO[1])
    assert alone.strangers == ("A. L. and Bob Byte",)
