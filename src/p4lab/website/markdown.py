"""Markdown as HTML, with the anchors that GitHub gives to headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

Lead = Callable[[str], str | None]
"""Where a link or picture of a page leads in the site, by what the page has; None: nowhere"""
Block = Callable[[str, str], str | None]
"""The HTML of a block of P4, by the comment before it and its text; None: like any other block"""

_TARGET = re.compile(r'(?P<head><(?:a|img)\b[^>]*? (?:href|src)=")(?P<target>[^"]*)(?P<tail>")')
_NOWHERE = re.compile(r'<a href="">(.*?)</a>', re.DOTALL)
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A heading, the anchor that leads to it (empty before the first), and the text below it."""

    anchor: str
    level: int
    title: str
    text: str


@dataclass(frozen=True)
class Rendered:
    """A page: its HTML, and its text by sections."""

    html: str
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        """The first heading; empty if there is none."""
        return next((one.title for one in self.sections if one.level), "")


def rendered(text: str, lead: Lead, p4: Block) -> Rendered:
    """A page as HTML. Links that lead nowhere are left as text."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = reader.parse(text)
    _anchored(tokens)
    _live(tokens, p4)
    _readable(tokens)
    html = reader.renderer.render(tokens, reader.options, {})
    return Rendered(_led(html, lead), tuple(_sections(tokens)))


def anchor(title: str) -> str:
    """The anchor of a heading that is the first of its name on a page."""
    return re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")


def _plain(inline: Token) -> str:
    """The text of a heading, a paragraph or a cell."""
    kept = {"text", "code_inline", "softbreak"}
    parts = (one.content or " " for one in inline.children or () if one.type in kept)
    return "".join(parts)


def _anchored(tokens: list[Token]) -> None:
    seen: Counter[str] = Counter()
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            name = anchor(_plain(inline))
            heading.attrSet("id", f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1


def _live(tokens: list[Token], p4: Block) -> None:
    """Replaces blocks of P4 by what `p4` makes of them."""
    comment = ""
    for token in tokens:
        if token.type == "fence" and token.info.split()[:1] == ["p4"]:
            html = p4(comment, token.content)
            if html is not None:
                token.type, token.content = "html_block", html
        elif token.type == "html_block" and (found := _COMMENT.fullmatch(token.content.strip())):
            comment = found[1]
            continue
        comment = ""


def _readable(tokens: list[Token]) -> None:
    """What may be wider than the page can be scrolled by keys."""
    for token in tokens:
        if token.type in ("table_open", "fence", "code_block"):
            token.attrSet("tabindex", "0")


def _led(html: str, lead: Lead) -> str:
    def place(found: re.Match[str]) -> str:
        return f"{found['head']}{escape(lead(found['target']) or '')}{found['tail']}"

    return _NOWHERE.sub(r"\1", _TARGET.sub(place, html))


def _sections(tokens: list[Token]) -> Iterator[Section]:
    name, level, title = "", 0, ""
    words: list[str] = []
    heading: Token | None = None
    for token in tokens:
        if token.type == "heading_open":
            if words or level:
                yield Section(name, level, title, " ".join(words))
            heading, words = token, []
            name, level = _id(token), int(token.tag[1])
        elif token.type == "inline" and heading is not None:
            title, heading = _plain(token), None
        elif token.type == "inline":
            words.append(_plain(token))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    yield Section(name, level, title, " ".join(words))


def _id(token: Token) -> str:
    found: Any = token.attrGet("id")
    return str(found or "")
