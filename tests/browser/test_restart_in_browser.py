"""A notebook on another day, or after a restart: without these a student sees "model not found" and
does not know what to do."""

from __future__ import annotations

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

from first_notebook import BROWSER, running  # noqa: E402

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium (Debian: chromium)")


def test_after_a_restart_a_cell_says_what_to_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On another day a student finds the notebook like this."""
    with running(tmp_path_factory.mktemp("restarted")) as book:
        page = book.page
        page.keyboard.press("Control+s")
        page.get_by_title("Restart the kernel", exact=True).click()
        page.locator(".jp-Dialog-button.jp-mod-accept").click()
        page.reload()
        cell = book.cell("lab.link_buttons()")
        cell.scroll_into_view_if_needed()
        again = "Run this cell again, after those above it (Run > Run All Above Selected Cell)."
        expect(cell.locator(".jp-OutputArea-output").first).to_have_text(again)
        expect(page.get_by_text("model not found")).to_have_count(0)
