"""An experiment in a notebook cell."""

from __future__ import annotations

from p4lab.systems.bier_tna.recirculation.simulation import Outcome, Setup, simulate


def simulate_with_bar(setup: Setup) -> Outcome:
    """As `simulate`, with a progress bar below the cell while it runs, and a line when it is over:
    a closed widget in a saved notebook is of no use to anybody."""
    import ipywidgets  # heavy: a notebook's libraries, which a terminal lacks
    from IPython.display import display

    bar = ipywidgets.FloatProgress(
        min=0.0,
        max=1.0,
        description=f"n = {setup.next_hops}, k = {setup.loops}",
        style={"description_width": "8em"},
    )
    shown = display(bar, display_id=True)

    def told(share: float) -> None:
        bar.value = share

    try:
        outcome = simulate(setup, told)
        said = f"{outcome.packets:,} packets in {outcome.nanoseconds / 1e6:.1f} ms of virtual time"
        return outcome
    except BaseException:
        said = "not finished"
        raise
    finally:
        bar.close()
        if shown is not None:  # outside of a notebook there is nothing to show
            shown.update({"text/plain": said}, raw=True)
