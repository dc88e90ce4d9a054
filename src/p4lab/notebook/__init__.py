"""What notebooks use: a running lab, views of it, questions and checks.

Importing this package is cheap; what draws imports anywidget and ipywidgets where used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.lab import Lab, open_lab
from p4lab.widgets.sent import Sent

if TYPE_CHECKING:
    from p4lab.notebook.questions import Question
    from p4lab.widgets.column import Column

__all__ = ["Folder", "Lab", "Sent", "column", "lab_folder", "open_lab", "predict"]


def predict(text: str, *choices: object) -> Question:
    """A question to be answered before the next cell runs."""
    from p4lab.notebook.questions import Question  # heavy: ipywidgets

    return Question(text, tuple(str(choice) for choice in choices))


def column(*views: Any) -> Column:
    """Views below each other."""
    from p4lab.widgets.column import Column

    return Column(*views)
