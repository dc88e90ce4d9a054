"""1+1 protection (P4-Protect): every packet twice, over two paths; the program in `p4/protect`."""

from __future__ import annotations

from typing import Any, ClassVar

from p4lab.model.system import Settings, System
from p4lab.systems.protect.settings import ProtectSettings


class Protect(System):
    """Protection on v1model."""

    name: ClassVar[str] = "protect"
    settings: ClassVar[type[Settings]] = ProtectSettings

    def defines(self, settings: Any) -> tuple[tuple[str, str], ...]:
        return settings.macros()
