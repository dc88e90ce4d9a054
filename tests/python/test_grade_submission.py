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
        ({"bier/bier.p4": "mine", "old/bier.p4": "not"}, ("1 other file was not looked at.",)),
        ({"ann_bier.p4": "mine"}, ("bier/bier.p4 is taken from ann_bier.p4.",)),
        (
            {"x/bier.p4": "mine", "__MACOSX/x/bier.p4": "not", ".git/bier.p4": "not"},
            ("bier/bier.p4 is taken from x/bier.p4.",),
        ),
    ],
)
def test_a_file_is_found_wherever_students_put_it(tmp_path, files, note):
    plain = submission.read(folder(tmp_path / "ann", files), EDIT)
    (tmp_path / "ann.zip").write_bytes(zipped({k: v.encode() for k, v in files.items()}))
    packed = submission.read(tmp_path / "ann.zip", EDIT)
    assert plain == packed == submission.Submission({"bier/bier.p4": "mine"}, note)


def test_a_single_file_may_have_any_name(tmp_path):
    (tmp_path / "smith_12_bier(2).p4").write_text("mine")
    found = submission.read(tmp_path / "smith_12_bier(2).p4", EDIT)
    assert found.files == {"bier/bier.p4": "mine"}


def test_a_lab_with_two_files_wants_both_under_their_names(tmp_path):
    edit = ("a/one.p4", "a/two.p4")
    both = folder(tmp_path / "both", {"x/a/one.p4": "1", "x/a/two.p4": "2"})
    assert submission.read(both, edit).files == {"a/one.p4": "1", "a/two.p4": "2"}
    (tmp_path / "one.p4").write_text("1")
    assert submission.read(tmp_path / "one.p4", edit).trouble == "The submission has no a/two.p4."


def test_two_candidates_are_not_guessed_between(tmp_path):
    found = submission.read(folder(tmp_path / "ann", {"a/bier.p4": "", "b/bier.p4": ""}), EDIT)
    assert found.trouble == "2 files may be bier/bier.p4 (a/bier.p4, b/bier.p4); hand in one."


def test_names_from_a_submission_cannot_write_on_a_terminal(tmp_path):
    name = "x\x1b[2J" + "y" * 200
    found = submission.read(folder(tmp_path / "ann", {f"{name}/bier.p4": "mine"}), EDIT)
    assert "\x1b" not in found.notes[0]
    assert len(found.notes[0]) < 150


def test_what_the_system_refuses_is_a_sentence(tmp_path):
    assert submission.read(tmp_path / "gone", EDIT).trouble == (
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
            found = submission.read(path, EDIT)
        assert found.trouble or found.files


@given(st.binary(max_size=300))
def test_no_bytes_in_a_program_raise(data):
    with placed(data, ".p4") as path:
        found = submission.read(path, EDIT)
    if not found.trouble:
        assert found.files["bier/bier.p4"].encode() == data.removeprefix(b"\xef\xbb\xbf")


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
