"""Which form an exercise folder has: that of p4lang/tutorials, or that of p4-utils."""

from __future__ import annotations

from pathlib import Path

from p4lab.exercise.files import Exercise, ExerciseError, is_tutorial, read_tutorial
from p4lab.exercise.p4app import files_of, read_p4app


def is_exercise(folder: Path) -> bool:
    """Whether a folder looks like an exercise."""
    return folder.is_dir() and bool(files_of(folder) or is_tutorial(folder))


def read_exercise(
    folder: Path, topology: str | None = None, program: str | None = None
) -> Exercise:
    """Reads a folder. `topology` is a file in it, where there are several; `program` takes the
    place of the one that the folder names. Raises ExerciseError."""
    described = files_of(folder)
    # p4-utils leaves a topology.json in its folders, which is not an exercise of the tutorials.
    if not described or (topology is not None and folder / topology not in described):
        return read_tutorial(folder, topology, program)
    file = folder / topology if topology is not None else described[0]
    if topology is None and len(described) > 1:
        listed = ", ".join(path.name for path in described)
        raise ExerciseError(f"{folder} has {listed}: add --topology with one of them.")
    own = None if program is None else folder / program
    if own is not None and not own.is_file():
        raise ExerciseError(f"there is no program {own}.")
    return read_p4app(file, own)
