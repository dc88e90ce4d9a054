"""Without these, somebody's work would not be found in what a platform exports, or be graded as
somebody else's."""

from __future__ import annotations

import stat
import time
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from p4lab.grading import handins
from p4lab.grading.handins import Entry, entries
from p4lab.grading.roster import Person, Roster
from p4lab.grading.standing import _people
from p4lab.grading.submission import Wanted, read
from p4lab.grading.workers import GradingError


def made(folder: Path, *names: str) -> Path:
    """A folder with files of these names; one that ends in a slash is a folder with bier.p4."""
    for name in names:
        path = folder / (f"{name}bier.p4" if name.endswith("/") else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder


def told(found: list[Entry]) -> dict[str, list[str]]:
    """The names of the files, by student."""
    students: dict[str, list[str]] = {}
    for entry in found:
        students.setdefault(entry.student, []).extend(name for name, _ in entry.source)
    return students


CANVAS = (
    "doejohn_2001_900_bier.p4",
    "doejohn_2001_901_ports-1.toml",
    "lovelaceada_LATE_2002_902_work.zip",
    "o_neill_2003_903_my_1_2_x.p4",
    "anon_aB3x_904_bier.p4",
)


@pytest.mark.parametrize("packed", [False, True])
def test_the_uploads_of_canvas_are_one_submission_for_each_student(tmp_path, packed):
    folder = made(tmp_path / "class", *CANVAS)
    found = entries([zipped(folder) if packed else folder], tmp_path / "scratch")
    assert told(found) == {
        "doejohn": ["bier.p4", "ports-1.toml"],
        "lovelaceada": ["work.zip"],
        "o_neill": ["my_1_2_x.p4"],
        "anonymous": ["bier.p4"],
    }
    by_name = {entry.student: entry for entry in found}
    assert by_name["doejohn"].user == "2001" and not by_name["doejohn"].late
    assert by_name["lovelaceada"].late
    (path,) = (path for _, path in by_name["o_neill"].source)
    assert path.read_text() == CANVAS[3]


@pytest.mark.parametrize("packed", [False, True])
def test_moodles_folders_and_files_are_named_by_student(tmp_path, packed):
    folder = made(
        tmp_path / "class",
        "Ada Lovelace_71_assignsubmission_file/",
        "Ada Lovelace_71_assignsubmission_onlinetext/onlinetext.html",
        "Zoë O'Neil_72_assignsubmission_file_/bier/bier.p4",
        "Team 7_73_assignsubmission_file_bier.p4",
        "Team 7_73_assignsubmission_file_ports.toml",
        "Participant_74_assignsubmission_file/",
        "Participant_75_assignsubmission_file/",
    )
    found = entries([zipped(folder) if packed else folder], tmp_path / "scratch")
    assert told(found) == {
        "Ada Lovelace": ["Ada Lovelace_71_assignsubmission_file"],
        "Zoë O'Neil": ["Zoë O'Neil_72_assignsubmission_file_"],
        "Team 7": ["bier.p4", "ports.toml"],
        "Participant 74": ["Participant_74_assignsubmission_file"],
        "Participant 75": ["Participant_75_assignsubmission_file"],
    }


GRADESCOPE = """\
submission_409194023:
  :submitters:
  - :name: Ada Lovelace
    :sid: '4711'
    :email: ada@uni.edu
  :created_at: 2026-11-20 17:34:00.861687000 Z
  :score: 2.0
  :status: processed
  :results:
    score: 2.0
    output: |-
      submission_666:
        :submitters:
        - :name: Mallory
    :name: Mallory
  :history:
  - :id: 1
    :created_at: 2026-11-19 17:34:00.861687000 Z
submission_500000001:
  :submitters:
  - :name: 'Zoë O''Neil'
    :sid: '4712'
    :email: zoe@uni.edu
  - :name: Bob Byte
    :email: bob@uni.edu
  :created_at: 2026-11-20 18:00:00.000000000 Z
submission_600000002:
  :submitters:
  - :name: Ada Lovelace
    :sid: 4713
submission_700000003:
  :submitters: []
"""


def gradescope(folder: Path) -> Path:
    """An export in a folder."""
    inner = folder / "assignment_77_export"
    numbers = (409194023, 500000001, 600000002, 700000003)
    made(inner, *(f"submission_{number}/" for number in numbers))
    (inner / "submission_metadata.yml").write_text(GRADESCOPE)
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_gradescope_says_whose_its_numbered_folders_are(tmp_path, packed):
    folder = gradescope(tmp_path / "class")
    found = entries([zipped(folder) if packed else folder], tmp_path / "scratch")
    assert told(found) == {
        "Ada Lovelace 4711": ["submission_409194023"],
        "Zoë O'Neil and Bob Byte": ["submission_500000001"],
        "Ada Lovelace 4713": ["submission_600000002"],
        "submission_700000003": ["submission_700000003"],
    }
    ada = found[0]
    assert ada.members == (("4711", "ada@uni.edu", "Ada Lovelace"),)
    assert ada.when == datetime(2026, 11, 20, 17, 34, tzinfo=timezone.utc)
    (path,) = (path for _, path in ada.source)
    assert (path / "bier.p4").read_text() == "submission_409194023/"


@pytest.mark.parametrize("text", ["", "\0\0", "a: [b\n- c", ":submitters:\n  - :name: x\n"])
def test_a_damaged_list_of_gradescope_leaves_the_folders(tmp_path, text):
    folder = gradescope(tmp_path / "class")
    (folder / "assignment_77_export" / "submission_metadata.yml").write_text(text)
    assert len(told(entries([folder], tmp_path / "scratch"))) == 4


def test_two_of_one_name_stay_two(tmp_path):
    folder = made(
        tmp_path / "class", "doejohn_1_2_bier.p4", "doejohn_3_4_bier.p4", "eve/", "eve.p4"
    )
    assert sorted(told(entries([folder], tmp_path))) == ["doejohn 1", "doejohn 3", "eve", "eve.p4"]


@pytest.mark.parametrize("export", [CANVAS[0], "Ada Lovelace_71_assignsubmission_file/"])
def test_what_lies_beside_an_export_is_nobodys(tmp_path, export):
    beside = ("Thumbs.db", "desktop.ini", "readme.txt", "grades.csv")
    folder = made(tmp_path / "class", export, *beside, "eve.p4", "mia.P4.txt", "tom.zip", "una/")
    found = entries([folder], tmp_path / "scratch")
    assert [one.source[0][0] for one in found if one.loose] == ["grades.csv", "readme.txt"]
    assert {"eve", "tom", "una"} < {one.student for one in found if not one.loose}
    assert len(found) == 7


def test_without_an_export_every_file_is_somebodys(tmp_path):
    """A student whose file has the wrong name must hear of it."""
    found = entries([made(tmp_path / "class", "ada.docx", "bob/", "Thumbs.db")], tmp_path)
    assert [(one.student, one.loose) for one in found] == [("ada", False), ("bob", False)]


def test_notes_and_lists_are_nobodys_anywhere(tmp_path):
    """No student is called `readme`; a folder of that name may be one's."""
    beside = ("README.txt", "bob.md", "grades.csv", "rules.toml")
    found = entries([made(tmp_path / "class", *beside, "ada.txt", "readme.p4", "zoe/")], tmp_path)
    assert tuple(one.source[0][0] for one in found if one.loose) == beside
    assert [one.student for one in found if not one.loose] == ["ada", "readme", "zoe"]


def test_a_text_typed_into_moodle_is_named_unless_there_are_files(tmp_path):
    typed = "_assignsubmission_onlinetext/onlinetext.html"
    names = (f"Ada_1{typed}", f"Bob_2{typed}", "Bob_2_assignsubmission_file/")
    found = entries([made(tmp_path / "class", *names)], tmp_path)
    assert [(one.student, one.loose) for one in found] == [
        ("Ada_1_assignsubmission_onlinetext", True),
        ("Bob", False),
    ]


def test_a_link_is_whose_name_it_has(tmp_path):
    """Its student hears that it is refused, and no student is called like an upload."""
    folder = made(tmp_path / "class", CANVAS[0])
    (folder / "evelink_2009_905_bier.p4").symlink_to("/etc/passwd")
    assert told(entries([folder], tmp_path))["evelink"] == ["bier.p4"]


def test_of_a_zip_nobody_is_lost(tmp_path):
    """Empty folders and links, which a reader refuses, are handed in as well."""
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr("ada/", "")
        archive.writestr("bob/bier.p4", "mine")
        link = zipfile.ZipInfo("eve.p4")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    found = {one.student: one for one in entries([tmp_path / "class.zip"], tmp_path / "scratch")}
    assert set(found) == {"ada", "bob", "eve"}
    why = {name: read(one.source, Wanted(("bier.p4",))).trouble for name, one in found.items()}
    assert "is empty" in why["ada"] and "symbolic link" in why["eve"] and not why["bob"]


def test_attempts_come_in_the_order_of_their_times(tmp_path):
    folder = made(
        tmp_path / "class",
        "ada@2026-11-21T09:30/",
        "ada@2026-11-20_2315Z.p4",
        "ada@2026-11-20T23:15:30+0100.p4",
        "bob@2/",
        "bob@10/",
        "me@uni.edu/",
        "cat@2026-13-45/",
    )
    found = entries([folder], tmp_path / "scratch")
    assert told(found)["bob"] == ["bob@2", "bob@10"]
    assert "me@uni.edu" in told(found) and "cat@2026-13-45" in told(found)
    times = [entry.when for entry in found if entry.student == "ada"]
    assert times[0] == datetime(2026, 11, 20, 22, 15, 30, tzinfo=timezone.utc)
    assert times[1] == datetime(2026, 11, 20, 23, 15, tzinfo=timezone.utc)
    assert times == sorted(times)


def test_exports_of_several_days_are_attempts(tmp_path):
    first = made(tmp_path / "monday", "ada/", "bob/")
    second = made(tmp_path / "friday", "ada/")
    found = entries([first, second], tmp_path / "scratch")
    assert [(entry.student, entry.turn[0]) for entry in found] == [
        ("ada", 0),
        ("ada", 1),
        ("bob", 0),
    ]


def test_a_hostile_export_writes_nothing_elsewhere(tmp_path):
    archive = tmp_path / "class.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for name in ("../up.p4", "/abs.p4", "..\\..\\back.p4", "good/bier.p4", "good//bier.p4"):
            members.writestr(name, name)
        link = zipfile.ZipInfo("link.p4")
        link.external_attr = 0o120777 << 16
        members.writestr(link, "/etc/passwd")
        members.writestr("bomb.p4", b"\0" * (40 << 20))
    (tmp_path / "scratch").mkdir()
    found = entries([archive], tmp_path / "scratch")
    assert sorted(told(found)) == ["bomb", "good", "link"]
    assert not (tmp_path / "scratch" / "0" / "link.p4").exists(), "it leads nowhere"
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert all(path.parts[0] in ("scratch", "class.zip") for path in written)
    assert (tmp_path / "scratch/0/bomb.p4").stat().st_size <= handins.ZIP_BYTES + 1


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04junk", b"no zip at all"])
def test_what_is_no_zip_is_a_sentence(tmp_path, data):
    (tmp_path / "class.zip").write_bytes(data)
    with pytest.raises(GradingError, match="the zip cannot be read"):
        entries([tmp_path / "class.zip"], tmp_path / "scratch")


def zipped(folder: Path) -> Path:
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as members:
        for path in sorted(folder.rglob("*")):
            members.write(path, path.relative_to(folder))
    return archive


def test_a_time_without_a_zone_is_that_of_the_deadline(tmp_path, monkeypatch):
    """Otherwise points would differ by the machine that grades."""
    berlin = timezone(timedelta(hours=1))
    folder = made(tmp_path / "class", "ada@2026-11-21T00:30.p4", "bob@2026-11-25.p4")
    for number, machine in enumerate(("UTC", "Asia/Tokyo")):
        monkeypatch.setenv("TZ", machine)
        time.tzset()
        ada, bob = entries([folder], tmp_path / str(number), zone=berlin)
        assert ada.when == datetime(2026, 11, 20, 23, 30, tzinfo=timezone.utc)
        assert bob.when == datetime(2026, 11, 25, tzinfo=berlin)
    monkeypatch.undo()
    time.tzset()


def test_what_is_no_time_and_who_may_be_one_student_is_said(tmp_path):
    """Otherwise an attempt would become another student without a word."""
    names = ("eve@gestern.p4", "eve@uni.de.p4", "tim@2.p4", "double/", "double.zip")
    found = entries([made(tmp_path / "class", *names)], tmp_path)
    untimed, double = handins.remarks(found)
    assert untimed.endswith("this is a name: eve@gestern.")
    assert double == "double and double.zip may be of one student."


def test_whatever_a_file_ends_with_it_is_its_students(tmp_path):
    """A roster would not know `ada.p4.txt`, and ada would get nothing."""
    names = ("ada.docx", "bob.tar.gz", "cat.p4.txt", "dan.zip.zip", "eve.p4", "eve.docx")
    found = entries([made(tmp_path / "class", *names)], tmp_path)
    assert [one.student for one in found] == ["ada", "bob", "cat", "dan", "eve", "eve.docx"]


@pytest.mark.parametrize("names", [("ada/", "bob/"), ("ada.p4", "bob.zip")])
def test_a_class_may_be_in_one_folder_of_its_zip(tmp_path, names):
    """It would be one student called `submissions`, with the points of somebody."""
    archive = zipped(made(tmp_path / "class", *(f"submissions/{name}" for name in names)))
    found = entries([archive], tmp_path / "scratch", lab=["bier/bier.p4", "include/x.p4"])
    assert [one.student for one in found] == ["ada", "bob"]


def test_one_student_in_the_zip_of_a_class_stays_one(tmp_path):
    """The folders of the lab are nobody's names."""
    archive = zipped(made(tmp_path / "class", "ada/bier/", "ada/include/"))
    found = entries([archive], tmp_path / "scratch", lab=["bier/bier.p4", "include/x.p4"])
    assert [one.student for one in found] == ["ada"]


def test_a_folder_of_ilias_is_that_of_the_login(tmp_path):
    """No roster knows the whole name of the folder."""
    names = ("Abgaben/Lovelace_Ada_ada_1234/", "Abgaben/Byte_Bob_bob_1235/")
    found = entries([zipped(made(tmp_path / "class", *names))], tmp_path / "scratch")
    people = Roster("own", ("id",), (Person("ada"), Person("bob")))
    assert [[one.id for one in _people(entry, people)] for entry in found] == [["bob"], ["ada"]]


def test_one_file_in_place_of_the_class_is_told_what_to_give(tmp_path):
    with pytest.raises(GradingError, match="give the folder of submissions, or --one"):
        entries([made(tmp_path, "bob.p4") / "bob.p4"], tmp_path / "scratch")
