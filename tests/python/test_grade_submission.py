"""Without these, a student's file could be missed, or a bad one could stop the grader."""

import io
import os
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p4lab.grading import submission
from p4lab.grading.submission import Wanted

EDIT = ("bier/bier.p4",)


def zipped(members: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def folder(top, files):
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ({"bier/bier.p4": "mine"}, ()),
        ({"bier.p4": "mine"}, ("bier/bier.p4 is taken from bier.p4.",)),
        (
            {"Lab 1/bier/bier.p4": "mine", "Lab 1/bier/v1model.p4": "x"},
            ("bier/bier.p4 is taken from Lab 1/bier/bier.p4.", "1 other file was not looked at."),
        ),
        ({"bier/bier.p4": "mine", "old/bier.p4": "not"}, ("old/bier.p4 was left out.",)),
        ({"ann_bier.p4": "mine"}, ("bier/bier.p4 is taken from ann_bier.p4.",)),
        (
            {"x/bier.p4": "mine", "__MACOSX/x/bier.p4": "not", ".git/bier.p4": "not"},
            ("bier/bier.p4 is taken from x/bier.p4.",),
        ),
    ],
)
def test_a_file_is_found_wherever_students_put_it(tmp_path, files, note):
    plain = submission.read(folder(tmp_path / "ann", files), Wanted(EDIT))
    (tmp_path / "ann.zip").write_bytes(zipped({k: v.encode() for k, v in files.items()}))
    packed = submission.read(tmp_path / "ann.zip", Wanted(EDIT))
    assert plain == packed
    assert plain.files == {"bier/bier.p4": "mine"} and plain.told() == note


@pytest.mark.parametrize(("name", "handed_in"), [("bier/bier.p4", "."), ("ann.p4", "ann.p4")])
def test_the_line_ends_of_an_old_mac_lose_nothing(tmp_path, name, handed_in):
    """CR alone is a space to P4: the first comment would swallow the rest."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"// Mine\rparser P();\r")
    found = submission.read(tmp_path / handed_in, Wanted(EDIT))
    assert found.files == {"bier/bier.p4": "// Mine\nparser P();\n"}
    assert found.told() == ("bier/bier.p4 has the line ends of old Macs (CR), read as new lines.",)


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\rb\nc\n"])
def test_other_line_ends_stay(tmp_path, text):
    (tmp_path / "ann.p4").write_bytes(text.encode())
    found = submission.read(tmp_path / "ann.p4", Wanted(EDIT))
    assert found == submission.Submission({"bier/bier.p4": text})


@pytest.mark.parametrize("name", ["Two.P4", "two.p4.txt", "two (1).p4", "TWO-1.p4.txt"])
def test_what_systems_do_to_a_name_does_not_lose_points(tmp_path, name):
    edit = ("a/one.p4", "a/two.p4")
    found = submission.read(folder(tmp_path / "ann", {"one.p4": "1", name: "2"}), Wanted(edit))
    assert found.files == {"a/one.p4": "1", "a/two.p4": "2"}


@pytest.mark.parametrize("name", ["Two.P4", "bier.p4.txt", "Ann_bier-1.P4.TXT"])
def test_a_single_file_is_taken_under_such_a_name_too(tmp_path, name):
    (tmp_path / name).write_text("mine")
    found = submission.read(tmp_path / name, Wanted(EDIT))
    assert (found.files, found.trouble) == ({"bier/bier.p4": "mine"}, "")
    (tmp_path / "notes.txt").write_text("see the other file")
    assert not submission.read(tmp_path / "notes.txt", Wanted(EDIT)).files


def test_a_zip_in_a_folder_is_opened_where_nothing_else_is_asked_for(tmp_path):
    """Moodle makes a folder for each student, and students upload a zip."""
    mine = zipped({"mylab/bier/bier.p4": b"mine"})
    ann = folder(tmp_path / "ann", {"notes.txt": "see the zip"})
    (ann / "mylab.zip").write_bytes(mine)
    assert submission.read(ann, Wanted(EDIT)).files == {"bier/bier.p4": "mine"}
    (ann / "again.zip").write_bytes(mine)
    trouble = "2 zips may hold bier/bier.p4 (again.zip, mylab.zip); hand in one."
    assert submission.read(ann, Wanted(EDIT)).trouble == trouble
    folder(ann, {"bier.p4": "newer"})
    assert submission.read(ann, Wanted(EDIT)).files == {"bier/bier.p4": "newer"}
    (tmp_path / "bob.zip").write_bytes(zipped({"mylab.zip": mine}))
    trouble = "The submission has no bier/bier.p4; a zip inside of a zip is not opened."
    assert submission.read(tmp_path / "bob.zip", Wanted(EDIT)).trouble == trouble


def test_a_zip_in_a_folder_is_no_way_out_of_it(tmp_path):
    (tmp_path / "others.zip").write_bytes(zipped({"bier/bier.p4": b"not mine"}))
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "mine.zip").symlink_to(tmp_path / "others.zip")
    assert "symbolic link" in submission.read(tmp_path / "ann", Wanted(EDIT)).trouble


def test_a_folder_that_is_a_link_is_said_to_be_one(tmp_path):
    folder(tmp_path / "elsewhere", {"bier.p4": "not mine"})
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "bier").symlink_to(tmp_path / "elsewhere")
    found = submission.read(tmp_path / "ann", Wanted(EDIT))
    assert found.trouble == "bier is a symbolic link; hand in the files themselves."


def test_a_single_file_may_have_any_name(tmp_path):
    (tmp_path / "smith_12_bier(2).p4").write_text("mine")
    found = submission.read(tmp_path / "smith_12_bier(2).p4", Wanted(EDIT))
    assert found.files == {"bier/bier.p4": "mine"}


def test_a_lab_with_two_files_knows_them_by_their_names(tmp_path):
    edit = ("a/one.p4", "a/two.p4")
    both = folder(tmp_path / "both", {"x/a/one.p4": "1", "x/a/two.p4": "2"})
    assert submission.read(both, Wanted(edit)).files == {"a/one.p4": "1", "a/two.p4": "2"}
    (tmp_path / "one.p4").write_text("1")
    alone = submission.read(tmp_path / "one.p4", Wanted(edit))
    assert alone.files == {"a/one.p4": "1"}
    assert alone.told()[-1] == "a/two.p4 was not handed in: the starter's is used."
    blank = submission.read(
        folder(tmp_path / "blank", {"one.p4": "1", "two.p4": " "}), Wanted(edit)
    )
    assert blank.files["a/one.p4"] == "1"
    assert blank.told()[-1] == "a/two.p4 is empty: the starter's is used."
    (tmp_path / "three.p4").write_text("3")
    assert (
        submission.read(tmp_path / "three.p4", Wanted(edit)).trouble
        == "The submission has no a/one.p4 or a/two.p4, only three.p4."
    )


def test_files_that_were_uploaded_one_by_one_are_one_submission(tmp_path):
    """Names as Canvas changes them when a student uploads a file again."""
    edit = ("a/one.p4", "a/two.toml")
    top = folder(tmp_path, {"x1": "1", "x2": "2", "x3": "3"})
    found = submission.read(
        [("one-2.p4", top / "x1"), ("two.toml", top / "x2"), ("notes.txt", top / "x3")],
        Wanted(edit),
    )
    assert found.files == {"a/one.p4": "1", "a/two.toml": "2"} and found.left == 1
    (top / "x4").write_bytes(zipped({"a/one.p4": b"z"}))
    packed = submission.read([("work.zip", top / "x4"), ("notes.txt", top / "x3")], Wanted(edit))
    assert packed.files == {"a/one.p4": "z"}


CHECKOUT = {
    "labs/01-bier/lab.toml": "",
    "labs/01-bier/starter/bier/bier.p4": "starter",
    "solutions/01-bier/variants/x/bier/bier.p4": "variant",
    "p4/bier/bier.p4": "solution",
    "target/CACHEDIR.TAG": "",
    "target/bier/bier.p4": "made",
}
KNOWN = frozenset(map(submission.digest, ("starter", "variant", "solution")))


@pytest.mark.parametrize("root", ["", "p4lab-main/"])
@pytest.mark.parametrize(
    ("work", "text"),
    [
        ({"mylab/bier/bier.p4": "mine"}, "mine"),
        ({"p4/bier/bier.p4": "mine"}, "mine"),
        ({"work/01-bier/bier/bier.p4": "starter", "p4/bier/bier.p4": "mine"}, "mine"),
        ({"mylab/bier/bier.p4": "starter"}, "starter"),
        ({"mylab/bier/bier.p4": "mine", "copy/bier/bier.p4": "mine\r\n"}, "mine"),
    ],
)
def test_in_a_checkout_the_students_own_file_is_found(tmp_path, root, work, text):
    files = {root + name: content for name, content in {**CHECKOUT, **work}.items()}
    found = submission.read(folder(tmp_path / "ann", files), Wanted(EDIT, KNOWN))
    assert {name: one.strip() for name, one in found.files.items()} == {"bier/bier.p4": text}


def test_a_checkout_without_work_is_said_to_be_one(tmp_path):
    found = submission.read(folder(tmp_path / "ann", CHECKOUT), Wanted(EDIT, KNOWN))
    assert found.trouble == (
        "The submission is a checkout of the course without a bier/bier.p4 of your own."
    )
    few = {name: CHECKOUT[name] for name in ("labs/01-bier/lab.toml", "p4/bier/bier.p4")}
    found = submission.read(folder(tmp_path / "cid", few), Wanted(EDIT, KNOWN))
    assert found.trouble.startswith("The submission is a checkout of the course without")
    two = {**CHECKOUT, "a/bier/bier.p4": "one", "b/bier/bier.p4": "two"}
    found = submission.read(folder(tmp_path / "bob", two), Wanted(EDIT, KNOWN))
    assert found.trouble.startswith("2 files may be bier/bier.p4 (a/bier/bier.p4, b/bier/bier.p4)")


def test_a_file_is_called_what_its_student_calls_it(tmp_path):
    """Not what the platform stores it as, nor what a zip that is empty to us says."""
    stored = tmp_path / "ada_101_9001_bier.p4"
    stored.write_bytes(b"")
    os.truncate(stored, submission.FILE_BYTES + 1)
    found = submission.read([("bier.p4", stored)], Wanted(EDIT))
    assert found.trouble == "bier.p4 is larger than 1 MiB, the most that is graded."
    (tmp_path / "bob.zip").write_bytes(zipped({"../bier.p4": b"mine", "/bier.p4": b"mine"}))
    found = submission.read(tmp_path / "bob.zip", Wanted(EDIT))
    assert found.trouble.startswith("All files of the zip have paths that lead out of it")


def test_two_candidates_are_not_guessed_between(tmp_path):
    found = submission.read(
        folder(tmp_path / "ann", {"a/bier.p4": "1", "b/bier.p4": "2"}), Wanted(EDIT)
    )
    assert found.trouble == "2 files may be bier/bier.p4 (a/bier.p4, b/bier.p4); hand in one."


def test_names_from_a_submission_cannot_write_on_a_terminal(tmp_path):
    name = "x\x1b[2J" + "y" * 200
    found = submission.read(folder(tmp_path / "ann", {f"{name}/bier.p4": "mine"}), Wanted(EDIT))
    assert "\x1b" not in found.notes[0]
    assert len(found.notes[0]) < 150


def test_what_the_system_refuses_is_a_sentence(tmp_path):
    assert submission.read(tmp_path / "gone", Wanted(EDIT)).trouble == (
        "The submission cannot be read: No such file or directory."
    )


@given(st.binary(max_size=2000), st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_no_zip_however_damaged_raises(noise, place, patch):
    """The reader's promise, for noise and for a good zip with some bytes changed."""
    data = bytearray(zipped({"bier/bier.p4": b"program " * 50, "x": noise}))
    place %= len(data)
    data[place : place + len(patch)] = patch
    for content in (bytes(data), b"PK\x03\x04" + noise):
        with placed(content) as path:
            found = submission.read(path, Wanted(EDIT))
        assert found.trouble or found.files


@given(st.binary(max_size=300))
def test_no_bytes_in_a_program_raise(data):
    with placed(data, ".p4") as path:
        found = submission.read(path, Wanted(EDIT))
    if not found.trouble:
        as_it_is = data.removeprefix(b"\xef\xbb\xbf")
        if found.notes:  # about the line ends of old Macs
            as_it_is = as_it_is.replace(b"\r", b"\n")
        assert found.files["bier/bier.p4"].encode() == as_it_is


@contextmanager
def placed(content: bytes, suffix: str = ".zip"):
    """A file for as long as it is needed: a property has no fixture for every example."""
    handle, name = tempfile.mkstemp(suffix=suffix)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    try:
        yield Path(name)
    finally:
        os.unlink(name)


PARSER = "include/parser.p4"


@pytest.mark.parametrize(
    "names",
    [
        ("bier/bier.p4", PARSER),
        ("ann/mylab/bier/bier.p4", "ann/mylab/include/parser.p4"),
        ("bier.p4", "parser.p4"),
    ],
)
def test_a_given_file_that_differs_is_reported(tmp_path, names):
    """The verdict is then about another program than the one that the student sees running."""
    asked = Wanted(EDIT, given={PARSER: frozenset({submission.digest("as given\n")})})
    mine, given_file = names
    same = folder(tmp_path / "same", {mine: "mine", given_file: "as given\r\n"})
    other = folder(tmp_path / "other", {mine: "mine", given_file: "as given, nearly\n"})
    assert submission.read(same, asked).changed == ()
    found = submission.read(other, asked)
    assert found.changed == (PARSER,) and found.left == 0
    assert found.told()[0].startswith(f"{PARSER} differs from the starter's and is not judged")
    assert submission.Submission.from_json(found.to_json()) == found


def test_a_parser_beside_other_work_is_nobodys(tmp_path):
    """A second folder with an own parser says nothing about this one."""
    asked = Wanted(EDIT, given={PARSER: frozenset({submission.digest("as given")})})
    files = {"lab/bier/bier.p4": "mine", "old/include/parser.p4": "changed"}
    assert submission.read(folder(tmp_path / "ann", files), asked).changed == ()


@pytest.mark.parametrize(
    "names",
    [
        ("bier.p4", "bier (1).p4"),
        ("bier.p4", "bier-2.p4"),
        ("deep/bier/bier.p4", "deep/bier.p4"),
    ],
)
def test_the_newer_of_two_files_is_not_guessed(tmp_path, names):
    """The older would be graded, and nobody would hear of the other."""
    older, newer = names
    two = folder(tmp_path / "two", {older: "old", newer: "new"})
    assert submission.read(two, Wanted(EDIT)).trouble.startswith("2 files may be bier/bier.p4 (")
    same = folder(tmp_path / "same", {older: "same", newer: "same\r\n"})
    assert submission.read(same, Wanted(EDIT)).files["bier/bier.p4"].strip() == "same"


@pytest.mark.parametrize("data", [b"// \xfc\n", "two".encode("utf-16")])
def test_a_file_that_cannot_be_read_costs_its_own_points_only(tmp_path, data):
    """One letter in a comment would cost those of all other files."""
    top = folder(tmp_path / "ann", {"a/one.p4": "1"})
    (top / "a/two.p4").write_bytes(data)
    found = submission.read(top, Wanted(("a/one.p4", "a/two.p4")))
    assert found.files == {"a/one.p4": "1"}
    assert found.told()[-1].endswith("The starter's is used in its place.")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ann.docx", "is a .docx document; hand in bier/bier.p4 as plain text"),
        ("ann.tar.gz", "is a .gz file, which is not opened; make a zip of it"),
    ],
)
def test_of_what_kind_a_file_is_and_what_to_do_is_said(tmp_path, name, told):
    (tmp_path / name).write_bytes(b"PK\x03\x04damaged" if "docx" in name else b"\x1f\x8b")
    assert told in submission.read(tmp_path / name, Wanted(EDIT)).trouble
