"""The command line: parsing and printing only.

Each command lives in a module of its own, whose heavy imports happen when the command runs, so that
``recrawl --help`` answers at once.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from recrawl._version import __version__
from recrawl.cli import (
    changes,
    control,
    demo,
    explain,
    fit,
    fleet,
    pages,
    papers,
    plan,
    replay,
    run,
    search,
    serve,
    simulate,
    simulate_control,
    simulate_fleet,
    status,
)
from recrawl.errors import ConfigError, InvalidModel, RecrawlError

__all__ = ["app", "main"]

app = typer.Typer(
    name="recrawl",
    help="Keeps a copy of web pages fresh: which page next, how many robots, when to switch them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recrawl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version  # answered by its callback


for command in (run, demo, serve, search, status, pages, changes, explain):
    command.register(app)
plan.register(app)
fleet.register(app)
control.register(app)
fit.register(app)
simulate.register(app)
simulate_fleet.register(simulate.app)
simulate_control.register(simulate.app)
replay.register(app)
papers.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 bad input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its number instead of a failure.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        result = command.main(arguments, prog_name="recrawl", standalone_mode=False)
    except typer.Abort:
        return 130
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough; leave quietly, and keep the interpreter's own flush quiet.
        sys.stdout = None
        return 0
    except (InvalidModel, ConfigError) as error:
        _complain(str(error))
        return 2
    except RecrawlError as error:
        _complain(str(error))
        return 1
    except OSError as error:
        _complain(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
        return 1
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # a usage error of the parser
            error.show()
            return int(error.exit_code)
        raise
    return int(result) if isinstance(result, int) else 0


def _complain(message: str) -> None:
    sys.stderr.write(f"recrawl: {message}\n")
