"""Takes the pictures of the views in docs/fabric.md: python tests/browser/pictures_fabric.py

Run it after a change of the views and look at what it made, in docs/pictures/.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "browser")]

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser  # noqa: E402

from book import chromium  # noqa: E402
from p4lab.systems.fabric.exploring import search as searching  # noqa: E402
from p4lab.systems.fabric.exploring.cases import CASES  # noqa: E402
from p4lab.systems.fabric.views.leaf import LeafView, leaf_view  # noqa: E402
from p4lab.systems.fabric.views.rack import rack_view  # noqa: E402
from p4lab.systems.fabric.views.scenes import rack_scene, scenes  # noqa: E402
from stage import Stage, opened  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
COLOURS = 64  # enough for lines and letters, and a fifth of the size


def take(browser: Browser, name: str, view: Any, *keys: str, width: int = 960) -> None:
    """A picture of a view, after some keys, as a small PNG."""
    stage = Stage(browser.new_page(), view, width=width)
    own = stage.page.locator(".p4v")
    own.focus()
    for key in keys:
        stage.page.keyboard.press(key)
    own.blur()
    picture = Image.open(io.BytesIO(own.screenshot())).convert("RGB")
    path = FOLDER / f"{name}.png"
    picture.quantize(COLOURS).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")
    stage.page.close()


def main() -> None:
    program = chromium()
    if program is None:
        sys.exit("pictures need Chromium (Debian: chromium).")
    found = searching.search(CASES["credits"])
    assert found.stuck is not None
    deadlock = LeafView(searching.filmed(CASES["credits"], found.stuck, ""))
    with opened(program) as browser:
        take(browser, "fabric-leaf", leaf_view(scenes()["ahead"].scenario, start=20), "s", "s")
        take(browser, "fabric-deadlock", deadlock, "End")
        take(browser, "fabric-rack", rack_view(rack_scene(128, 8).scenario, every=1), "End")


if __name__ == "__main__":
    main()
