"""Wheels of the page without what nothing there reads. If a folder too many were left out, a
student's cursor in a notebook of the page would find no more words."""

import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from p4lab.website.build import LEFT_OUT, copy_wheel

pytestmark = pytest.mark.beside(seconds=5)

ASKED = """
import jedi
found = jedi.Script("import json\\njson.lo").complete(2, 7)
print(jedi.__file__, *sorted(one.name for one in found))
"""


def test_words_are_completed_with_what_is_left(tmp_path: Path) -> None:
    spec = find_spec("jedi")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    whole, part = tmp_path / "whole.whl", tmp_path / "part.whl"
    with zipfile.ZipFile(whole, "w") as archive:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".pyi", ".txt"):
                archive.write(file, file.relative_to(package.parent))
    copy_wheel(whole, part, LEFT_OUT["jedi"])
    assert len(zipfile.ZipFile(part).namelist()) < len(zipfile.ZipFile(whole).namelist()) / 4
    shutil.unpack_archive(part, tmp_path / "site", "zip")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=tmp_path / "site",
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
    )
    file, *words = done.stdout.split()
    assert Path(file).is_relative_to(tmp_path), done.stderr
    assert words == ["load", "loads"]


def test_a_wheel_with_nothing_to_leave_out_stays_as_it_is(tmp_path: Path) -> None:
    whole, copy = tmp_path / "whole.whl", tmp_path / "copy.whl"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("jedi/third_party/typeshed/stubs/six.pyi", "")
    copy_wheel(whole, copy, ())
    assert copy.read_bytes() == whole.read_bytes()
