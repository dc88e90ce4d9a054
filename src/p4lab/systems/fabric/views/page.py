"""A view as a page: one file that needs nothing else, and runs in any browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from p4lab.widgets.view import View

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' data: blob:"
"""What is in the page may run; nothing is loaded"""

_STYLE = """
:root { color-scheme: light dark; --jp-layout-color1: #fff; --jp-layout-color2: #f1f3f5;
  --jp-ui-font-color1: #212529; --jp-border-color1: #ced4da; }
[data-jp-theme-light="false"] { --jp-layout-color1: #16181c; --jp-layout-color2: #24272d;
  --jp-ui-font-color1: #e9ecef; --jp-border-color1: #495057; }
body { margin: 1.2rem auto; padding: 0 1rem; max-width: 1120px; background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1); font: 16px/1.5 system-ui, sans-serif; }
"""

# A browser's theme is a notebook's theme; a view's model is what the page has, and nobody answers.
_SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => { document.body.dataset.jpThemeLight = String(!dark.matches); };
dark.addEventListener("change", look);
look();
for (const place of document.querySelectorAll("[data-view]")) {
  const data = JSON.parse(place.querySelector("[type='application/json']").textContent);
  const text = JSON.parse(place.querySelector("[type='text/plain']").textContent);
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const view = (await import(url)).default;
  const model = { get: (name) => ({ data })[name], on: () => {}, off: () => {}, send: () => {} };
  view.render({ model, el: place });
}
// Keys that no one takes are for the first view that is in sight.
document.addEventListener("keydown", (event) => {
  if (event.target !== document.body) return;
  const views = [...document.querySelectorAll(".p4v")];
  const view = views.find((one) => one.getBoundingClientRect().bottom > innerHeight / 4);
  const { key, altKey, ctrlKey, metaKey } = event;
  const passed = new KeyboardEvent("keydown", { key, altKey, ctrlKey, metaKey, cancelable: true });
  if (view && !view.dispatchEvent(passed)) event.preventDefault();
});
"""


def page(title: str, views: Sequence[tuple[str, View]]) -> str:
    """Views below each other, each with a sentence before it. They cannot go on where their film
    ends."""
    parts = "".join(
        f"<p>{escape(words)}</p><div data-view>"
        f'<script type="application/json">{_text({**view.data, "more": 0})}</script>'
        f'<script type="text/plain">{_text(str(view._esm))}</script></div>'
        for words, view in views
    )
    styles = "".join(dict.fromkeys(str(view._css) for _, view in views))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{styles}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{parts}\n</main>\n"
        f'<script type="module">{_SCRIPT}</script>\n</body>\n</html>\n'
    )


def _text(value: object) -> str:
    """JSON that does not end the script that it is in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
