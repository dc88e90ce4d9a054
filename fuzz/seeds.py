#!/usr/bin/env python3
"""Makes a folder of seeds: seeds.py front|script OUT FOLDER...

front: every .p4 file below the folders, with the files that it includes by "..." written in.
script: every .stf file, behind a first line with the name of its program.
Files of the same text are one seed.
"""

import hashlib
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)".*$', re.MULTILINE)
LARGEST = 32_768  # bytes; larger inputs only make the fuzzer slow


def flat(path: Path, depth: int = 0) -> str:
    """The text of a file and of those that it includes and that lie beside it."""

    def included(match: re.Match[str]) -> str:
        other = path.parent / match.group(1)
        if depth < 8 and other.is_file():
            return flat(other, depth + 1)
        return f"#include <{Path(match.group(1)).name}>"

    return INCLUDE.sub(included, path.read_text(errors="replace"))


def script(path: Path) -> str:
    """The script, behind the end of the path of the program that it is for."""
    program = path.with_suffix(".p4").name
    if (path.parent / "prog.p4").is_file():
        program = f"{path.parent.name}/prog.p4"
    elif path.parent.name == "tests":
        program = f"{path.parent.parent.name}/v1model.p4"
    return f"# {program}\n{path.read_text(errors='replace')}"


def main() -> None:
    kind, out, *folders = sys.argv[1:]
    Path(out).mkdir(parents=True, exist_ok=True)
    count = 0
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.p4" if kind == "front" else "*.stf")):
            text = flat(path) if kind == "front" else script(path)
            if len(text) <= LARGEST:
                name = hashlib.sha1(text.encode()).hexdigest()
                (Path(out) / name).write_text(text)
                count += 1
    print(f"{count} seeds in {out}")


if __name__ == "__main__":
    main()
