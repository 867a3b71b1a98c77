"""`recrawl plan`."""

from __future__ import annotations

import typer

app = typer.Typer(help="(being built)", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Hang the command into the command line."""
    root.add_typer(app, name="plan")
