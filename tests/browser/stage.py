"""One view on a page of its own, without JupyterLab: its script, its style, and a theme's colours.

What the script sends goes to the view when the test says so (`settle`), and what the view then has
goes back, as a kernel would do it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, sync_playwright

THEMES = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    # Each place that a rule passes would be described, too, which takes most of the time.
    "resultTypes": ["violations"],
}
WIDE, NARROW = 900, 270  # pixels: a cell, and the narrowest pane

_BASE = {"layout", "tabbable", "tooltip", "comm"}

_SCRIPT = """
async ([esm, state]) => {
  const listeners = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; window.changed[name] = value; },
    save_changes: () => {},
    send: (content) => window.sent.push(content),
    on: (names, call) => names.split(" ").forEach((name) => (listeners[name] ??= []).push(call)),
    off: () => {},
  };
  window.sent = [];
  window.changed = {};
  window.restarted = () => (listeners.comm_live_update ?? []).forEach((call) => call());
  window.update = (fresh) => {
    for (const [name, value] of Object.entries(fresh)) {
      const old = JSON.stringify(state[name]);
      state[name] = value;
      if (JSON.stringify(value) === old) continue;
      for (const call of listeners[`change:${name}`] ?? []) call();
    }
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const view = (await import(url)).default;
  view.render({ model, el: document.getElementById("view") });
}
"""


class Stage:
    """A view on a page. `errors` are what its script threw."""

    def __init__(self, page: Page, view: Any, *, dark: bool = False, width: int = WIDE) -> None:
        self.page = page
        self.view = view
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        theme = THEMES / f"theme-{'dark' if dark else 'light'}-extension" / "index.css"
        page.set_content(
            '<!doctype html><html lang="en"><title>A view</title>'
            f"<style>{theme.read_text()}</style>"
            "<style>body { margin: 0; background: var(--jp-layout-color0) }</style>"
            f'<body data-jp-theme-light="{str(not dark).lower()}"><style>{view._css}</style>'
            '<main id="view" class="jp-RenderedHTMLCommon"></main>'
        )
        page.evaluate(_SCRIPT, [view._esm, self._state()])

    def _state(self) -> dict[str, Any]:
        names = [name for name in self.view.traits(sync=True) if not name.startswith("_")]
        return {name: getattr(self.view, name) for name in names if name not in _BASE}

    def settle(self) -> None:
        """What was sent and changed goes to the view, and what it has to the page."""
        self.page.wait_for_timeout(50)  # a frame, for what is sent once a frame
        for name, value in self.page.evaluate("() => window.changed").items():
            setattr(self.view, name, value)
        for content in self.page.evaluate("() => window.sent.splice(0)"):
            self.view._message(None, content, None)
        self.page.evaluate("state => window.update(state)", self._state())

    def click(self, what: Locator) -> None:
        """A click and all that comes of it."""
        what.click()
        self.settle()

    def complaints(self) -> list[str]:
        """What axe-core finds wrong with it: contrast, names, roles; and what sticks out of the
        page to the right."""
        found = [
            f"{one['id']}: {node['html'][:120]} {node['failureSummary'].splitlines()[-1].strip()}"
            for one in Axe().run(self.page, options=RULES).response["violations"]
            for node in one["nodes"]
        ]
        wide = self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        return [*found, *([f"{wide} pixels too wide"] if wide > 0 else []), *self.errors]


@contextmanager
def opened(browser_path: str) -> Iterator[Browser]:
    """A browser for stages."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        yield browser
        browser.close()
