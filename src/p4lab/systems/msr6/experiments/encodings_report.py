"""All that is shown of a comparison of encodings: figures, tables, and one record of everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from p4lab.systems.msr6.experiments.comparison import Observation, Scope, panels
from p4lab.systems.msr6.experiments.crossovers import Crossover, crossovers, measures, shortest
from p4lab.systems.msr6.experiments.encodings_figures import draw_grid, draw_state
from p4lab.systems.msr6.experiments.encodings_tables import crossover_table, stage_table, table
from p4lab.systems.msr6.experiments.networks import (
    BarabasiAlbert,
    Given,
    RandomRegular,
    Waxman,
)
from p4lab.systems.msr6.experiments.stages import Stages
from p4lab.systems.msr6.experiments.summary import refused, summary

if TYPE_CHECKING:
    from rich.table import Table

BYTES = ("tree_bytes", "root_bytes", "link_bytes_per_link", "wire_bytes_per_link")
WORK = ("packets", "copies_per_link", "busiest")
GROWTH = ("root_bytes", "link_bytes_per_link", "wire_bytes_per_link")
"""What the columns of the figures are"""


@dataclass(frozen=True)
class Report:
    """What was found. `payload` are the bytes of a packet behind its headers."""

    scope: Scope
    found: Sequence[Observation]
    stages: Sequence[Stages]
    payload: int

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        return summary(self.found, self.payload)

    @cached_property
    def crossovers(self) -> list[Crossover]:
        return crossovers(self.found, self.payload)

    @cached_property
    def refused(self) -> list[dict[str, Any]]:
        return refused(self.found)

    @property
    def seeds(self) -> str:
        first, last = self.scope.seed, self.scope.seed + self.scope.draws - 1
        return f"seed {first}" if first == last else f"seeds {first} to {last}"

    def _of(self, part: str) -> list[dict[str, Any]]:
        return [cell for cell in self.cells if cell["part"] == part]

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below every figure."""
        scope = self.scope
        many = f"Means of {scope.draws} draws ({self.seeds}) with 95 % confidence"
        drawn = f"One draw ({self.seeds})" if scope.draws == 1 else many
        lists = f"lists of up to {scope.segments} SIDs, or as many bytes"
        return (
            f"{drawn}; {scope.shape} trees; {lists}.",
            "No curve where a draw cannot be encoded. BIER stands behind Ethernet and has no IPv6 "
            "in front, 40 bytes less than MSR6, RBS and RTS.",
            "RBS and RTS: reference encoders, in a routing header of the profile's form.",
        )

    @property
    def figures(self) -> dict[str, Callable[[Path], None]]:
        """Functions that draw into a file, by its name."""
        networks, sizes = self._of("receivers"), self._of("size")

        def grid(cells: list[dict[str, Any]], keys: Sequence[str]) -> Callable[[Path], None]:
            found = self.crossovers
            return lambda path: draw_grid(cells, found, path, keys, self.notes, self.payload)

        found = {
            "encodings-bytes": grid(networks, BYTES),
            "encodings-work": grid(networks, WORK),
            "encodings-state": lambda path: draw_state(networks, self.stages, path, self.notes),
        }
        return found | ({"encodings-size": grid(sizes, GROWTH)} if sizes else {})

    @property
    def record(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        least = shortest(self.found, self.payload)
        return {
            "cells": self.cells,
            "crossovers": [{**asdict(one), "said": one.said} for one in self.crossovers],
            "shortest": [
                {"panel": panel, "measure": measure, "encodings": spans}
                for (panel, measure), spans in least.items()
            ],
            "refused": self.refused,
            "stages": [asdict(one) for one in self.stages],
            "seeds": self.seeds,
        }

    @property
    def tables(self) -> list[Table]:
        """For a terminal."""
        said = {one.key: one.said.replace("\n", " ") for one in measures(self.payload)}
        networks, sizes = panels(self.found, "receivers"), panels(self.found, "size")
        tables = [table(self.cells, name) for name in networks]
        for names in filter(None, (networks, sizes)):
            tables += [crossover_table(self.crossovers, names, key, said[key]) for key in said]
        return [*tables, stage_table(self.stages)]

    @property
    def parts(self) -> list[str]:
        """Of which networks only the largest connected part is compared."""
        found = []
        for name, source in self.scope.sources.items():
            own = {
                one.routers for one in self.found if one.part == "receivers" and one.network == name
            }
            if isinstance(source, Given):
                all_routers = len(source.network.routers) + source.network.left_out
            elif isinstance(source, RandomRegular | Waxman | BarabasiAlbert):
                all_routers = source.nodes
            else:
                continue
            if own and min(own) < all_routers:
                least, most = min(own), max(own)
                many = f"{least}" if least == most else f"{least} to {most}"
                found.append(
                    f"{name}: only the largest connected part is compared, {many} of "
                    f"{all_routers} routers"
                )
        return found

    @property
    def lines(self) -> list[str]:
        """What was not compared, what could not be encoded, and the seeds."""
        return [
            *self.parts,
            *(
                f"{one['panel']}: {one['encoding']} cannot encode {one['refused']} of {one['of']} "
                f"trees, from {one['from']} on: {one['why']}"
                for one in self.refused
            ),
            self.seeds,
        ]
