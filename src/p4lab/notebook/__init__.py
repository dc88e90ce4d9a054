"""What notebooks use: a running lab, views of it, questions and checks.

Importing this package is cheap; what draws imports anywidget and ipywidgets where used.
"""

from p4lab.notebook.folder import Folder, lab_folder
from p4lab.notebook.lab import Lab, open_lab
from p4lab.notebook.running import Sent

__all__ = ["Folder", "Lab", "Sent", "lab_folder", "open_lab"]
