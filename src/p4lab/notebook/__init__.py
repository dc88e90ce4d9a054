"""What notebooks use: a running lab, views of it, questions and checks.

Importing this package is cheap; what draws imports anywidget and ipywidgets where used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.lab import Lab, open_lab
from p4lab.notebook.running import Sent

if TYPE_CHECKING:
    from p4lab.notebook.questions import Question, predict

__all__ = ["Folder", "Lab", "Question", "Sent", "lab_folder", "open_lab", "predict"]


def __getattr__(name: str) -> Any:
    if name in ("Question", "predict"):
        from p4lab.notebook import questions

        return getattr(questions, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
