"""`recrawl fit`: from observations to models."""

from __future__ import annotations

import typer

from recrawl.cli import fit_arrivals, fit_changes, fit_model, fit_service

__all__ = ["register"]

app = typer.Typer(help="What do the logs say? Change rates, arrival and service laws.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    """Hang the commands into the command line."""
    root.add_typer(app, name="fit")


app.command("arrivals")(fit_arrivals.arrivals)
app.command("service")(fit_service.service)
app.command("changes")(fit_changes.changes)
app.command("history")(fit_changes.history)
app.command("compare")(fit_changes.compare)
app.command("model")(fit_model.model)
