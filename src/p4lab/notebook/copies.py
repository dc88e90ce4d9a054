"""A student's own copy of a notebook, and what happens to it when the notebook changes."""

from __future__ import annotations

import json
from pathlib import Path

from p4lab.course.renewal import begun_with, remember


def own(original: Path, folder: Path) -> tuple[Path, str]:
    """The copy of a notebook in a student's folder, made if it is not there, and a sentence if a
    newer notebook has got there, else nothing.

    The newer one takes the place of a copy whose cells are as they were handed out, which may have
    been run. A copy that was written in stays, and the newer one is laid beside it, once. Raises
    OSError.
    """
    copy = folder / original.name
    text = original.read_text(encoding="utf-8")
    if not copy.exists():
        folder.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    begun = begun_with(folder)
    older = begun.get(original.name)
    mine = _cells(copy.read_text(encoding="utf-8", errors="replace"))
    said = ""
    if older == text:
        return copy, said
    if mine != _cells(text):
        if older is None:  # nobody knows what it was copied from
            return copy, said
        if mine == _cells(older):
            copy.write_text(text, encoding="utf-8")
            said = f"The lab has a newer notebook, which is {copy.name} now: yours was as given."
        else:
            said = _beside(copy, text)
    remember(folder, {**begun, original.name: text})
    return copy, said


def _beside(copy: Path, text: str) -> str:
    """Lays a newer notebook beside a copy that stays."""
    newer = copy.with_name(f"{copy.stem}.new.ipynb")
    try:
        with newer.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return ""
    return f"The lab has a newer notebook: {newer.name}. Yours stays as it is."


def _cells(text: str | None) -> object:
    """What a notebook's author or its student has written, without what running has added; the text
    itself where it is not a notebook."""
    try:
        cells = json.loads(text or "")["cells"]
        return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        return text
