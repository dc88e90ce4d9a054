"""What a system adds to an object of a notebook: methods of which it gives the places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from p4lab.errors import MissingError


def offered(owner: object, places: Mapping[str, str], name: str) -> Callable[..., Any]:
    """The method `name` of `owner`: the object at its place, "module:object", which is called with
    the owner first, and imported now. Raises AttributeError with all that there is."""
    if name not in places:
        known = ", ".join(one for one in sorted(dir(owner)) if not one.startswith("_"))
        raise MissingError(f"there is no {name} here; choose from {known}.", name=name, obj=owner)
    return partial(resolve_name(places[name]), owner)
