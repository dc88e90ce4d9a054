"""The lab as a page, from a plain file server and in a browser that reaches nothing else."""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from stage import RULES

PATIENCE = 60_000  # milliseconds


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which a folder is served."""
    handler = functools.partial(_Silent, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=arguments)
        yield found
        found.close()


class Site:
    """The page, open. `strangers` are requests to others than the file server, `errors` what
    scripts threw."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.strangers: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: self._asked(request.url, address))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())

    def _asked(self, url: str, address: str) -> None:
        if not url.startswith((address, "data:", "blob:")):
            self.strangers.append(url)

    def open(self, address: str, lab: str = "") -> None:
        self.page.goto(address)
        self.page.locator(".cm-content").wait_for()
        if lab:
            self.page.select_option("#lab", lab)
            self.page.locator(f"html[data-lab='{lab}']").wait_for(state="attached")

    def write(self, text: str) -> None:
        """Puts a text into the editor, as a paste does."""
        self.page.locator(".cm-content").focus()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def send(self) -> list[str]:
        """Sends the packet; what the page says of it, switch by switch or as an error."""
        self.page.evaluate("() => document.getElementById('trace').replaceChildren()")
        self.page.locator("#sending button").click()
        self.page.locator("#trace > *").first.wait_for()
        return self.page.locator("#trace summary, #trace pre.trouble").all_inner_texts()

    def complaints(self) -> list[str]:
        """What axe-core finds wrong, and what sticks out of the page to the right."""
        found = [
            f"{one['id']}: {node['html'][:120]} {node['failureSummary'].splitlines()[-1].strip()}"
            for one in Axe().run(self.page, options=RULES).response["violations"]
            for node in one["nodes"]
        ]
        wide = self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        return [*found, *([f"{wide} pixels too wide"] if wide > 0 else [])]

    def bring(self, lab: str, files: Mapping[str, str]) -> None:
        """Puts files where the page keeps a student's work, and opens the lab with them."""
        kept = {f"p4lab/{lab}/{path}": text for path, text in files.items()}
        self.page.evaluate(
            "kept => {"
            "  localStorage.clear();"
            "  Object.assign(localStorage, kept);"
            "  delete document.documentElement.dataset.lab;"
            "}",
            kept,
        )
        self.page.select_option("#lab", lab)
        self.page.locator(f"html[data-lab='{lab}']").wait_for(state="attached")

    def check(self) -> dict[str, Any]:
        """The verdict of the page, as data."""
        self.page.locator("#check").click()
        verdict = self.page.locator("#verdict[data-verdict]")
        verdict.wait_for(timeout=4 * PATIENCE)  # with Python's start
        found: dict[str, Any] = json.loads(verdict.get_attribute("data-verdict") or "")
        return found
