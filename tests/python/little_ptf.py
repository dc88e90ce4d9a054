"""Stands for PTF where it is not installed: its options, as far as p4lab.sde gives them, its order
of methods, its logs and its results."""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
import time
import traceback
import unittest
from pathlib import Path
from xml.sax.saxutils import quoteattr


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--test-dir", type=Path)
    for option in ("--test-params", "--socket-recv-size"):
        parser.add_argument(option)
    parser.add_argument("--interface", action="append", default=[])
    parser.add_argument("--log-dir", type=Path)
    parser.add_argument("--xunit-dir", type=Path)
    parser.add_argument("--test-case-timeout", type=int)
    for option in ("--xunit", "--list-test-names"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("specs", nargs="*")
    asked = parser.parse_args()
    spec = importlib.util.spec_from_file_location("test", asked.test_dir / "test.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # "0-PORT@INTERFACE", and what the ports.json says of the port
    module.PORTS = dict(one.partition(";")[0][2:].split("@") for one in asked.interface)
    cases = {
        f"test.{name}": one
        for name, one in vars(module).items()
        if isinstance(one, type) and issubclass(one, unittest.TestCase)
    }
    everything = "standard" in asked.specs
    left = [
        name
        for name in cases
        if (f"^{name}" not in asked.specs if everything else name in asked.specs)
    ]
    if asked.list_test_names:
        print("\n".join(left))
        return 0
    for folder in (asked.log_dir, asked.xunit_dir):
        folder.mkdir(parents=True)
    suite = [(name, cases[name]()) for name in left]  # all of them, before the first one runs
    return all(run(name, case, asked) for name, case in suite) is False


def run(name: str, case: unittest.TestCase, asked: argparse.Namespace) -> bool:
    (asked.log_dir / f"{name}.log").touch()
    signal.alarm(asked.test_case_timeout)
    began, wrong = time.time(), ""
    try:
        case.runTest()  # type: ignore[attr-defined]
    except Exception:
        wrong = f"<failure>{traceback.format_exc()}</failure>"
    about = f"classname={quoteattr(name)} time='{time.time() - began:.3f}' timestamp='{began}'"
    text = f"<testsuite><testcase {about}>{wrong}</testcase></testsuite>"
    (asked.xunit_dir / f"{name}.xml").write_text(text)
    return not wrong


if __name__ == "__main__":
    sys.exit(main())
