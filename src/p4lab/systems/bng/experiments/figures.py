"""What all figures of these experiments share: the paper that they are from."""

from __future__ import annotations

from functools import partial

from p4lab.experiment import panels
from p4lab.systems.bng.experiments.bench import SOURCE

save = partial(panels.save, source=SOURCE)
