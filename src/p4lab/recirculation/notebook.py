"""An experiment in a notebook cell."""

from __future__ import annotations

from p4lab.recirculation.simulation import Outcome, Setup, simulate


def simulate_with_bar(setup: Setup) -> Outcome:
    """As `simulate`, with a progress bar below the cell while it runs."""
    import ipywidgets
    from IPython.display import display

    bar = ipywidgets.FloatProgress(
        min=0.0,
        max=1.0,
        description=f"n = {setup.next_hops}, k = {setup.loops}",
        style={"description_width": "8em"},
    )
    display(bar)

    def told(share: float) -> None:
        bar.value = share

    try:
        return simulate(setup, told)
    finally:
        bar.close()
