"""What the tests of views on a page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from p4lab.notebook.pace import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for stages. Tests that ask for it are skipped where there is none."""
    from stage import opened  # not above: playwright may be missing

    program = chromium()
    assert program is not None
    with opened(program) as found:
        yield found
