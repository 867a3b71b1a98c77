"""`recrawl simulate`."""

from __future__ import annotations

import typer

from recrawl.cli import simulate_control

app = typer.Typer(help="(being built)", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Play the models out, beside what theory says."""


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    simulate_control.register(app)
    root.add_typer(app, name="simulate")
