"""What the terminal shows is what there is: `:100:` in an address is not a picture of a hundred."""

from __future__ import annotations

from typer.testing import CliRunner

from p4lab.cli import app


def test_addresses_are_shown_as_they_are() -> None:
    shown = CliRunner().invoke(app, ["trace", "04-msr6"])
    assert shown.exit_code == 0, shown.output
    assert ":100:" in shown.output
    assert "\N{HUNDRED POINTS SYMBOL}" not in shown.output
