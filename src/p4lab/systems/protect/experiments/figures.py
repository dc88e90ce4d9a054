"""What all figures of these experiments share: colours of modes, and the paper."""

from __future__ import annotations

from functools import partial

from p4lab.experiment import panels
from p4lab.experiment.panels import BLUE, GREY, RED
from p4lab.systems.protect.experiments.setup import SOURCE

MODE_COLOURS = {"plain": GREY, "unprotected": BLUE, "protected": RED}

save = partial(panels.save, source=SOURCE)
