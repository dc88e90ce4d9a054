"""Builds the site: every step leaves files in one folder, which any web server can serve."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path

from packaging.requirements import Requirement

from p4lab.paths import ROOT, STATE
from p4lab.website import notebooks, toolchain
from p4lab.website.material import write_labs, write_wheel
from p4lab.website.toolchain import BuildError, ran

WEB = ROOT / "web"
TARGET = ROOT / "target" / "page"  # apart, so that neither waits for a build of the command line
DRAFT = "draft"  # the profile in Cargo.toml
VIEWS = ROOT / "src" / "p4lab" / "widgets" / "js"
PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
ABI, PYTHON = "pyemscripten_2026_0_wasm32", "3.14"
"""What wheels must be made for to be loaded by the Pyodide of web/package-lock.json"""
WHEELS = (
    *("annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection"),
    *("networkx", "pyrad", "netaddr", "six", "rich", "traitlets"),
)
"""What checks and views import besides p4lab; versions are those of requirements.lock"""
KERNEL = (
    *("anywidget", "asttokens", "comm", "executing", "ipython", "ipython-pygments-lexers"),
    *("ipywidgets", "jedi", "markdown-it-py", "matplotlib-inline", "mdurl", "micropip", "parso"),
    *("prompt-toolkit", "psygnal", "pure-eval", "pygments", "stack-data", "wcwidth"),
)
"""What a notebook's kernel needs besides"""
LEFT_OUT = {"jedi": ("jedi/third_party/typeshed/stubs/", "jedi/third_party/django-stubs/")}
"""Folders of wheels that nothing in the page reads, and each kernel would unpack: of 5,600 files to
complete words, 4,800 are about packages that are not there"""
FETCH = (
    *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"),
    *("--implementation", "cp", "--python-version", PYTHON, "--platform", ABI),
    *("--abi", "cp314", "--abi", "none"),
)

OWN = ("index.html", "style.css", "book.css")

Say = Callable[[str], None]


def build(site: Path, say: Say, *, draft: bool = False) -> None:
    """Makes or renews the site in a folder; a draft's p4.wasm is large and slow, and compiled in
    half the time. Raises BuildError, BookError, LabError, OSError."""
    site.mkdir(parents=True, exist_ok=True)
    tools = toolchain.find(STATE, say)
    say(f"compiling with {tools.told}")
    _engine(site, tools, draft)
    say("compiling the same for Python in the page")
    engine = _python_engine(tools)
    say("the page")
    _scripts(site)
    say("Python, the labs and the documentation")
    found = _python(site / "python", engine)
    write_labs(site)
    say("the notebooks")
    notebooks.write(site, found)


def _engine(site: Path, tools: toolchain.Toolchain, draft: bool) -> None:
    """p4.wasm: the engine by itself."""
    profile = DRAFT if draft else "web"
    tools.cargo(
        *("build", "--locked", "-p", "p4-wasm", "--lib", "--profile", profile),
        *("--target", toolchain.PAGE, "--target-dir", str(TARGET)),
    )
    module, to = TARGET / toolchain.PAGE / profile / "p4_wasm.wasm", site / "p4.wasm"
    if not draft and (wasm_opt := shutil.which("wasm-opt")):
        ran([wasm_opt, "-Os", "--all-features", str(module), "-o", str(to)], dict(os.environ))
    else:
        shutil.copyfile(module, to)


def _python_engine(tools: toolchain.Toolchain) -> Path:
    """p4lab._engine for Pyodide, as a file. Emscripten's own linker would only be needed for what
    is written in C: Pyodide itself has all that a module of Rust asks for."""
    tools.cargo(
        *("rustc", "--locked", "-p", "p4-py", "--lib", "--crate-type", "staticlib"),
        *("--no-default-features", "--features", "fabric", "--release"),
        *("--target", toolchain.PYTHON, "--target-dir", str(TARGET)),
        flags="-C relocation-model=pic -C panic=abort",
    )
    library = TARGET / toolchain.PYTHON / "release" / "libp4_py.a"
    link(tools, library, library.with_suffix(".so"))
    return library.with_suffix(".so")


def link(tools: toolchain.Toolchain, library: Path, module: Path) -> None:
    """Makes a library a module that Pyodide loads."""
    options = ("-shared", "--experimental-pic", "--no-entry", "--allow-undefined", "--gc-sections")
    command = [*tools.linker, *options, "--export=PyInit__engine", "--strip-all", str(library)]
    ran([*command, "-o", str(module)], {**os.environ, **tools.environment})


def _python(folder: Path, engine: Path) -> list[Path]:
    """Pyodide, p4lab, and wheels that are made for it; gives all wheels, those of notebooks too."""
    shutil.rmtree(folder, ignore_errors=True)  # of a build before, with other versions
    shutil.copytree(WEB / "node_modules" / "pyodide", folder, dirs_exist_ok=True, ignore=_not_run)
    pins = {one: _file(one) for one in _pins((*WHEELS, *KERNEL))}
    wheels = STATE / "wheels"
    if wanted := [pin for pin, file in pins.items() if not list(wheels.glob(file))]:
        ran([*FETCH, "--dest", str(wheels), *wanted], dict(os.environ))
    names = {pin: next(wheels.glob(file)).name for pin, file in pins.items()}
    for name in names.values():
        copy_wheel(wheels / name, folder / name, LEFT_OUT.get(name.partition("-")[0], ()))
    own = write_wheel(folder, engine)
    page = [*(names[pin] for pin in _pins(WHEELS)), own]
    (folder / "wheels.json").write_text(json.dumps(page), "utf-8")
    return [folder / name for name in (*names.values(), own)]


def copy_wheel(wheel: Path, to: Path, left_out: tuple[str, ...]) -> None:
    """A wheel without some of its folders."""
    if not left_out:
        shutil.copyfile(wheel, to)
        return
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(to, "w") as part:
        for item in whole.infolist():
            if not item.filename.startswith(left_out):
                part.writestr(item, whole.read(item), zipfile.ZIP_DEFLATED)


def _file(pin: str) -> str:
    """The wheel of a pin, as a pattern."""
    return f"{pin.replace('-', '_').replace('==', '-')}-*"


def _not_run(_: object, names: list[str]) -> list[str]:
    """What Pyodide's package has for other purposes."""
    return [name for name in names if name not in PYODIDE]


def _pins(names: Collection[str]) -> list[str]:
    """NAME==VERSION of each of these wheels, for the page's Python."""
    page = {
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.0",
        "sys_platform": "emscripten",
    }
    locks = (ROOT / "requirements.lock", notebooks.LOCK)
    lines = [line for lock in locks for line in lock.read_text("utf-8").splitlines()]
    pins = [Requirement(line) for line in lines if line and line[0].isalpha()]
    fits = (one for one in pins if one.marker is None or one.marker.evaluate(page))
    return [f"{one.name}{one.specifier}" for one in fits if one.name in names]


def _scripts(site: Path) -> None:
    """The page's own files, and the packages that package-lock.json names, in few files."""
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError("npm is missing, which fetches the editor (Debian, Ubuntu: npm).")
    modules, lock = WEB / "node_modules", WEB / "package-lock.json"
    installed = modules / ".locked"
    if not installed.is_file() or installed.read_bytes() != lock.read_bytes():
        ran([npm, "ci", "--ignore-scripts"], dict(os.environ), WEB)
        shutil.copyfile(lock, installed)
    for shared in site.glob("*-????????.js"):  # of a build before, by its hash
        shared.unlink()
    ran([npm, "run", "build", "--", f"--outdir={site}"], dict(os.environ), WEB)
    for file in (*(WEB / name for name in OWN), VIEWS / "views.css"):
        shutil.copyfile(file, site / file.name)
