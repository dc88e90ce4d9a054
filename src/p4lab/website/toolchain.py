"""Rust for a browser: by rustup where that has the libraries, else with Debian's packages, from
which Rust's library is built together with the engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE, PYTHON = "wasm32-unknown-unknown", "wasm32-unknown-emscripten"
"""The targets: the engine by itself, and as a module of Python in a page"""
PATIENCE = 60  # seconds for rustup, which waits long for a network that is not there
DEBIAN = ("rustc-web", "rust-web-src")


class BuildError(Exception):
    """What keeps the site from being built, and what to do."""


@dataclass(frozen=True)
class Toolchain:
    """What compiles for a page. `told` is a sentence on where it is from; `more` are arguments for
    cargo, `linker` is the command of a linker for WebAssembly."""

    told: str
    linker: Sequence[str]
    environment: dict[str, str]
    more: Sequence[str] = ()

    def cargo(self, *arguments: str, flags: str = "") -> list[str]:
        """Runs cargo, with more flags for rustc; raises BuildError with the end of what it said."""
        cargo = shutil.which("cargo")
        if cargo is None:
            raise BuildError("cargo is missing: install Rust with rustup (see rustup.rs).")
        environment = {**os.environ, **self.environment, "RUSTFLAGS": flags}
        return ran([cargo, *arguments, *self.more], environment)


def find(state: Path, say: Callable[[str], None]) -> Toolchain:
    """A toolchain for both targets; what has to be unpacked goes to a folder in `state`. Raises
    BuildError."""
    if _has_libraries() or _fetched(say):
        sysroot = Path(_rustc("--print", "sysroot"))
        linker = next(sysroot.glob("lib/rustlib/*/bin/rust-lld"), None)
        if linker is not None:
            told = "Rust's libraries for WebAssembly, as rustup has them"
            return Toolchain(told, (str(linker), "-flavor", "wasm"), {})
    say("rustup has no libraries for WebAssembly here: they are built from Debian's sources")
    return _debian(state / "rust-web", say)


def _has_libraries() -> bool:
    return all(
        Path(_rustc("--print", "target-libdir", "--target", target)).is_dir()
        for target in (PAGE, PYTHON)
    )


def _fetched(say: Callable[[str], None]) -> bool:
    rustup = shutil.which("rustup")
    if rustup is None:
        return False
    say(f"rustup target add {PAGE} {PYTHON}")
    command = [rustup, "target", "add", PAGE, PYTHON]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _rustc(*arguments: str) -> str:
    rustc = shutil.which("rustc")
    return "".join(ran([rustc, *arguments], dict(os.environ))).strip() if rustc else ""


def _debian(folder: Path, say: Callable[[str], None]) -> Toolchain:
    """Debian's rustc with the sources of its library and a linker, unpacked and not installed: they
    stand in nobody's way, and no root is needed."""
    usr = folder / "usr"
    if not (usr / "bin" / "rustc").exists():
        _unpack(folder, say)
    llvm = next((usr / "lib").glob("llvm-*"))
    linker = llvm / "bin" / "wasm-ld"
    libraries = [*(usr / "lib").glob("*-linux-gnu"), llvm / "lib"]
    return Toolchain(
        "Rust's library, built from the sources of Debian's rust-web-src",
        (str(linker),),
        {
            "RUSTC": str(usr / "bin" / "rustc"),
            "RUSTC_BOOTSTRAP": "1",
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": str(linker),
        },
        ("-Z", "build-std=std,panic_abort"),
    )


def _unpack(folder: Path, say: Callable[[str], None]) -> None:
    if shutil.which("apt-get") is None:
        raise BuildError(
            f"Rust's libraries for WebAssembly are missing: rustup target add {PAGE} {PYTHON}"
        )
    packages = [*DEBIAN, *_needed("rustc-web", r"libstd-rust-web\S*")]
    packages += _needed(packages[-1], r"libstd-rust-web-[0-9.]+")
    llvm = _needed(packages[-1], r"libllvm[0-9]+")
    packages += [*llvm, *(name.replace("libllvm", "lld-") for name in llvm)]
    say(f"Debian packages: {' '.join(packages)}")
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    ran(["apt-get", "download", *packages], dict(os.environ), fresh)
    for package in sorted(fresh.glob("*.deb")):
        ran(["dpkg", "-x", str(package), str(fresh)], dict(os.environ))
        package.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _needed(package: str, pattern: str) -> list[str]:
    """Packages that one depends on, by the shape of their names."""
    told = "".join(ran(["apt-cache", "depends", package], dict(os.environ)))
    found = re.findall(rf"Depends: ({pattern})\n", told)
    if not found:
        raise BuildError(f"{package} is in none of this system's package sources (apt-get update).")
    return found


def ran(
    command: Sequence[str], environment: dict[str, str], folder: Path | None = None
) -> list[str]:
    """The lines that a command prints. Raises BuildError with the last ones if it fails."""
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        end = "\n".join(done.stderr.splitlines()[-25:])
        raise BuildError(f"{Path(command[0]).name} {command[1]} failed:\n{end}")
    return done.stdout.splitlines(keepends=True)
