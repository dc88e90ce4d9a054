"""What real switches did is the truth that the engine's tests build on: `tests/recorded`.

If these fail, a recording was lost or lies where no test looks for it, and the engine may depart
from the real switch without anybody hearing of it. That each recording is also run is the business
of crates/p4-stf/tests/all/programs.rs and tofino.rs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[1] / "recorded"
PAGES = {"v1model": ["README-paths.md", "README-state.md"], "tna": ["README.md"]}
# What the column "here" of a page's tables may say, and the files in the probe's folder then.
ALWAYS = {"prog.p4", "note.txt"}
HERE = {
    "test.stf": ALWAYS | {"test.stf"},
    "session.txt": ALWAYS | {"session.txt", "cli.txt", "in.txt", "out.txt"},
    "only prog.p4": ALWAYS,
    "kept elsewhere": set(),
}
ROW = re.compile(r"^\| (?!(?:name|probe) \|)(\w+) \| ([^|]+) \|", re.MULTILINE)


def rows(architecture: str) -> list[tuple[str, str]]:
    """Probe and column "here" of each row of the architecture's tables."""
    pages = [(RECORDED / architecture / page).read_text("utf-8") for page in PAGES[architecture]]
    return [row for page in pages for row in ROW.findall(page)]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_no_recording_lies_where_nobody_looks() -> None:
    assert names(RECORDED) == {"README.md", *PAGES}


@pytest.mark.parametrize("architecture", PAGES)
def test_every_row_has_what_it_names_and_every_folder_a_row(architecture: str) -> None:
    folder, listed = RECORDED / architecture, rows(architecture)
    assert len({name for name, _ in listed}) == len(listed), "a probe has two rows"
    wrong = [
        f"{architecture}/{name}: the table says {here!r}, the folder has {sorted(there)}"
        for name, here in listed
        if (there := names(folder / name)) != HERE[here]
    ]
    unlisted = names(folder) - {name for name, _ in listed} - set(PAGES[architecture])
    wrong += [f"{architecture}/{name}: no table names it" for name in sorted(unlisted)]
    assert not wrong, "\n".join(wrong)


def test_the_parts_of_a_session_are_those_of_its_record() -> None:
    sessions = sorted(RECORDED.glob("*/*/session.txt"))
    assert sessions, f"no session.txt in {RECORDED}"
    for session in sessions:
        record = session.read_text("utf-8").splitlines()
        for word, part in (("cli ", "cli.txt"), ("packet ", "in.txt"), ("out ", "out.txt")):
            told = [line.removeprefix(word) for line in record if line.startswith(word)]
            lines = (session.parent / part).read_text("utf-8").splitlines()
            assert [line for line in lines if line] == told, session.parent / part
