"""The documentation as a part of the site: handouts, pages, codes of the compiler and the text of
notebooks, from the files of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path, PurePosixPath
from string import Template

from p4lab.course.home import names
from p4lab.paths import ROOT
from p4lab.website.markdown import Rendered, rendered
from p4lab.website.snippets import live

FOLDER = "book"
"""The folder of the site that has the pages"""
PLACES = {
    "Start": ("README.md", "docs/notebook.md", "docs/web.md", "docs/glossary.md"),
    "Handouts": ("labs/*/README.md",),
    "Notebooks": ("notebooks/*.ipynb",),
    "How to, and how it works": ("docs/*.md", "ARCHITECTURE.md"),
    "Programs": ("p4/*/README.md", "wireshark/*.md"),
    "Measured": ("tests/recorded/**/*.md",),
    "What the compiler says": ("docs/errors/*.md",),
}
"""The pages by parts; a page is in the first part that names it"""
SEARCH = '<h1>Search</h1><div id="found"></div>'
LONG = 5
"""Sections of a page that has a list of them"""
PICTURES = {".png", ".svg"}
MOST_SHOWN = 100_000
"""Bytes of a file that is shown as it is"""

Files = Mapping[str, Mapping[str, str]]
"""The files of each lab, by its name: those that its handout may quote"""


class BookError(Exception):
    """A page that cannot be made; the message names it."""


@dataclass(frozen=True)
class Page:
    """A page, by the path of its file in the checkout."""

    path: PurePosixPath
    part: str
    body: Rendered

    @property
    def title(self) -> str:
        return self.body.title or str(self.path)


class Book:
    """All pages, and what they lead to. `files` are those of the labs."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._named = {path: part for part, path in _found()}
        self._shown: set[PurePosixPath] = set()
        self._pictures: set[PurePosixPath] = set()

    @cached_property
    def pages(self) -> list[Page]:
        """Every page. Raises BookError for a link or a quotation that leads nowhere."""
        return [Page(path, part, self.render(path)) for path, part in self._named.items()]

    def render(self, path: PurePosixPath, start: PurePosixPath | None = None) -> Rendered:
        """A page with its links as they are from its own place, or from another folder of the
        site. Raises BookError."""
        files = self._files.get(path.parent.name, {})
        lead = partial(self._lead, path, start or _output(path).parent)
        try:
            return rendered(_text(path), lead, partial(live, path, files))
        except ValueError as error:
            raise BookError(f"{path}: {error}") from error

    def write(self, site: Path) -> None:
        """Writes pages, pictures, files that pages lead to, and the index of the search."""
        template = Template((ROOT / "web" / "book.html").read_text("utf-8"))
        for page in self.pages:
            self._write(site, template, page.path, _output(page.path), page.title, page.body)
        for path in sorted(self._shown):
            body = Rendered(_listing(path) if (ROOT / path).is_dir() else _source(path), ())
            self._write(site, template, path, _output(path), str(path), body)
        for name, title, html in (
            ("index.html", "Documentation", self._contents()),
            ("search.html", "Search", SEARCH),
        ):
            start, body = PurePosixPath(FOLDER, name), Rendered(html, ())
            self._write(site, template, PurePosixPath("."), start, title, body)
        for picture in self._pictures:
            (site / FOLDER / picture).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / picture, site / FOLDER / picture)
        text = json.dumps(list(self._searched()), separators=(",", ":"), ensure_ascii=False)
        (site / FOLDER / "search.json").write_text(text, "utf-8")

    def _write(
        self,
        site: Path,
        template: Template,
        path: PurePosixPath,
        to: PurePosixPath,
        title: str,
        body: Rendered,
    ) -> None:
        top = os.path.relpath(".", to.parent)
        told = template.substitute(
            title=escape(title), top=top, body=body.html, inside=_inside(body), lab=_lab(path, top)
        )
        (site / to).parent.mkdir(parents=True, exist_ok=True)
        (site / to).write_text(told, "utf-8")

    def _lead(self, page: PurePosixPath, start: PurePosixPath, target: str) -> str | None:
        """Where a link of a page leads, as seen from a folder of the site."""
        if re.match(r"[a-z]+:|#", target):
            return target
        path, hash_, place = target.partition("#")
        found = PurePosixPath(os.path.normpath(page.parent / path))
        if found.parts[0] == "solutions":
            return None  # whoever learns from the page is not to meet them
        if not (ROOT / found).exists():
            raise BookError(f"{page}: there is no {target}")
        if found not in self._named and (found / "README.md") in self._named:
            found /= "README.md"
        if found.suffix in PICTURES:
            self._pictures.add(found)
            to = FOLDER / found
        else:
            to = _output(found)
            if found not in self._named:
                self._shown.add(found)
                for inside in _files(found) if (ROOT / found).is_dir() else ():
                    if inside not in self._named:
                        self._shown.add(inside)
        return f"{os.path.relpath(to, start)}{hash_}{place}"

    def _contents(self) -> str:
        parts = ["<h1>Documentation</h1>"]
        for part in PLACES:
            found = ((_output(one.path), one.title) for one in self.pages if one.part == part)
            links = (_item(str(place.relative_to(FOLDER)), title) for place, title in found)
            parts.append(f"<h2>{escape(part)}</h2><ul>{''.join(links)}</ul>")
        return "".join(parts)

    def _searched(self) -> Iterator[list[str]]:
        """Address, page, heading and text of each section."""
        for page in self.pages:
            address = str(_output(page.path).relative_to(FOLDER))
            for one in page.body.sections:
                to = f"{address}#{one.anchor}" if one.level > 1 else address
                yield [to, page.title, one.title, one.text]


def _found() -> Iterator[tuple[str, PurePosixPath]]:
    """Every page with its part."""
    seen = set()
    for part, patterns in PLACES.items():
        for file in (one for pattern in patterns for one in sorted(ROOT.glob(pattern))):
            if file not in seen:
                seen.add(file)
                yield part, PurePosixPath(file.relative_to(ROOT).as_posix())


def _output(path: PurePosixPath) -> PurePosixPath:
    """The file of the site that shows a file or folder of the checkout."""
    if (ROOT / path).is_dir():
        return FOLDER / path / "index.html"
    if path.suffix in (".md", ".ipynb"):
        return FOLDER / path.with_suffix(".html")
    return FOLDER / path.with_name(f"{path.name}.html")


def _text(path: PurePosixPath) -> str:
    text = (ROOT / path).read_text("utf-8")
    return _of_notebook(text) if path.suffix == ".ipynb" else text


def _of_notebook(text: str) -> str:
    """The cells of a notebook as Markdown. What a cell of P4 has is P4."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source.startswith("%%p4"):
            parts.append(f"```p4\n{source.partition(chr(10))[2]}\n```")
        else:
            parts.append(f"```python\n{source}\n```")
    return "\n\n".join(parts)


def _files(folder: PurePosixPath) -> list[PurePosixPath]:
    """The files of a folder that can be shown."""
    shown = (one for one in sorted((ROOT / folder).iterdir()) if one.is_file())
    return [
        folder / one.name
        for one in shown
        if one.suffix not in PICTURES and one.stat().st_size <= MOST_SHOWN
    ]


def _item(href: str, text: str) -> str:
    return f'<li><a href="{escape(href)}">{escape(text)}</a></li>'


def _listing(folder: PurePosixPath) -> str:
    links = (
        f'<li><a href="{_output(file).name}">{escape(file.name)}</a></li>'
        for file in _files(folder)
    )
    return f"<h1>{escape(str(folder))}</h1><ul>{''.join(links)}</ul>"


def _source(path: PurePosixPath) -> str:
    text = (ROOT / path).read_text("utf-8")
    kind = path.suffix.removeprefix(".")
    code = f'<pre><code tabindex="0" class="language-{kind}">{escape(text)}</code></pre>'
    return f"<h1>{escape(str(path))}</h1>{code}"


def _inside(body: Rendered) -> str:
    """The list of a page's sections, where it is long enough for one."""
    found = [one for one in body.sections if one.level == 2]
    if len(found) < LONG:
        return ""
    links = (_item(f"#{one.anchor}", one.title) for one in found)
    return f'<nav class="inside" aria-label="On this page"><ul>{"".join(links)}</ul></nav>'


def _lab(path: PurePosixPath, top: str) -> str:
    """The link that opens the lab of a handout or a notebook."""
    lab = path.parent.name if path.parts[:1] == ("labs",) else path.stem
    if path.parts[:1] not in (("labs",), ("notebooks",)) or lab not in names():
        return ""
    return f'<p class="open-lab"><a href="{top}/index.html#lab={lab}">Open this lab</a></p>'
