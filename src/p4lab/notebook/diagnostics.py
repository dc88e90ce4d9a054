"""The compiler's diagnostics in the output of a cell: place, line, caret, hint and the why."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from p4lab import _engine

STYLE = """
.p4d { font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif);
  color: var(--jp-ui-font-color1, currentColor); max-width: 60em }
.p4d-one { border-left: 4px solid #d9480f; padding: 4px 12px; margin: 8px 0 }
.p4d-one.warning { border-color: #c28a00 }
.p4d-one.ok { border-color: #2b8a3e }
.p4d .p4d-one pre { margin: 4px 0; padding: 4px 0; background: none; color: inherit;
  font: 13px/1.4 var(--jp-code-font-family, monospace); white-space: pre; word-break: normal;
  overflow-wrap: normal; overflow-x: auto }
.p4d-no { opacity: .55; user-select: none }
.p4d-caret { color: #d9480f; font-weight: 700 }
.warning .p4d-caret { color: #c28a00 }
.p4d-place { font-family: var(--jp-code-font-family, monospace); opacity: .75 }
.p4d-hint { margin: 2px 0 }
.p4d details { margin-top: 4px } .p4d summary { cursor: pointer }
"""


class Diagnostics:
    """What the compiler said about a program. Texts of sources that are not files, as a `%%p4`
    cell, are given by name in `sources`."""

    def __init__(
        self,
        compilation: _engine.Compilation,
        folder: Path | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self.compilation = compilation
        self.folder = folder
        self.sources = sources or {}

    def __repr__(self) -> str:
        return self.compilation.render() or "no errors and no warnings"

    def _repr_html_(self) -> str:
        found = self.compilation.diagnostics
        body = "".join(self._one(diagnostic) for diagnostic in found)
        if not found and self.compilation.program is None:
            body = '<div class="p4d-one">There is no package instance called <b>main</b>.</div>'
        return f'<div class="p4d"><style>{STYLE}</style>{body}</div>' if body else ""

    def _one(self, diagnostic: Mapping[str, Any]) -> str:
        code, severity = diagnostic["code"] or "", diagnostic["severity"]
        parts = [
            f'<div class="p4d-one {escape(severity)}" role="group" '
            f'aria-label="{escape(severity)} in line {diagnostic["line"]}">',
            f"<b>{escape(severity)} {escape(code)}</b>: {_marked(diagnostic['message'])} ",
            self._excerpt(diagnostic),
        ]
        for label in diagnostic["labels"]:
            text = label.get("message") or label.get("text") or ""
            if text and label.get("line"):
                place = f"{_name(label['file'], self.folder)}:{label['line']}"
                parts.append(f'<div class="p4d-hint">{escape(place)}: {escape(text)}</div>')
        if diagnostic["hint"]:
            parts.append(f'<div class="p4d-hint">hint: {_marked(diagnostic["hint"])}</div>')
        parts.append(_explanation(code))
        return "".join(parts) + "</div>"

    def _excerpt(self, diagnostic: Mapping[str, Any]) -> str:
        """The line and a caret under what is meant."""
        file, line, column = diagnostic["file"], diagnostic["line"], diagnostic["column"]
        if not file or not line:
            return ""
        place = f'<span class="p4d-place">{escape(_name(file, self.folder))}:{line}:{column}</span>'
        text = self._line(file, line)
        if text is None:
            return place
        end = diagnostic["end_column"] if diagnostic["end_line"] == line else len(text) + 1
        width = max(1, min(end, len(text) + 1) - column)
        before = "".join("\t" if char == "\t" else " " for char in text[: column - 1])
        number = f"{line:5} | "
        return (
            f'{place}<pre><span class="p4d-no">{number}</span>{escape(text)}\n'
            f'<span class="p4d-no">{" " * 5} | </span>{before}'
            f'<span class="p4d-caret">{"^" * width}</span></pre>'
        )

    def _line(self, file: str, line: int) -> str | None:
        text = self.sources.get(file)
        if text is None:
            try:
                text = Path(file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                return None  # a built-in file: the place alone has to do
        lines = text.splitlines()
        return lines[line - 1] if line <= len(lines) else None


def _name(file: str, folder: Path | None) -> str:
    """A file as a student knows it: below the folder, without detours."""
    path = os.path.normpath(file)
    if folder is not None and Path(path).is_relative_to(folder):
        return str(Path(path).relative_to(folder))
    return path


def _marked(text: str) -> str:
    """A sentence with its `names` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _unfenced(text: str) -> str:
    """A block of Markdown code without its fences."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("```"))


def _explanation(code: str) -> str:
    page = _engine.explain(code) if code else None
    if page is None:
        return ""
    blocks = [
        ("Wrong", page["wrong"], "pre"),
        ("Why", page["why"], "p"),
        ("Right", page["right"], "pre"),
    ]
    body = "".join(
        f"<b>{name}</b><{tag}>{_marked(_unfenced(text))}</{tag}>"
        for name, text, tag in blocks
        if text
    )
    return f"<details><summary>{escape(code)}: {escape(page['title'])}</summary>{body}</details>"
