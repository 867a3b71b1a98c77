"""`recrawl fit model`: fitted arrivals and service become a model file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli._fit import Json, whole_numbers
from recrawl.errors import ConfigError, InvalidModel

if TYPE_CHECKING:
    from recrawl.control.model import Costs, Mode
    from recrawl.laws import PhaseType

__all__ = ["model"]

_COSTS = ("loss", "obsolete", "response", "robot", "starvation")


def model(
    arrivals: Annotated[
        Path,
        typer.Option(metavar="FILE", help="What `recrawl fit arrivals --out` wrote.", show_default=False),
    ],
    service: Annotated[
        str,
        typer.Option(
            metavar="FILE|LAW", help="What `recrawl fit service --out` wrote, or a law.", show_default=False
        ),
    ],
    capacity: Annotated[
        int,
        typer.Option(min=1, help="Pages in the system, the one being indexed included.", show_default=False),
    ],
    costs: Annotated[
        str,
        typer.Option(
            metavar="loss=..,obsolete=..,response=..,robot=..,starvation=..",
            help="Prices of the five troubles.",
            show_default=False,
        ),
    ],
    robots: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of robots; the arrivals are those of one robot.")
    ] = "1",
    obsolescence: Annotated[
        str | None, typer.Option(metavar="LAW", help="How long a waiting page keeps, e.g. exponential:2000.")
    ] = None,
    admission: Annotated[str, typer.Option(metavar="partial|reject|admit")] = "partial",
    order: Annotated[str, typer.Option(metavar="fifo|random")] = "fifo",
    out: Annotated[Path | None, typer.Option(metavar="MODEL.toml", help="Write the model file.")] = None,
    as_json: Json = False,
) -> None:
    """Write a model of the crawl queue that `recrawl control` accepts.

    Example: recrawl fit model --arrivals arrivals.json --service service.json --capacity 20 --robots 1,2,3,4
    --costs loss=200,obsolete=250,response=3,robot=20,starvation=600 --out model.toml
    """
    from recrawl.cli._output import print_json
    from recrawl.control import Model
    from recrawl.tables.models import write_model

    queue = Model(
        capacity=capacity,
        service=_law(service, "--service"),
        modes=_modes(arrivals, whole_numbers(robots, "--robots")),
        costs=_costs(costs),
        obsolescence=_law(obsolescence, "--obsolescence") if obsolescence else None,
        admission=admission,  # type: ignore[arg-type]  # checked by Model
        order=order,  # type: ignore[arg-type]
    )
    text = write_model(queue)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    if as_json:
        rates = {str(mode.robots): mode.arrivals.rate for mode in queue.modes}
        loads = {robots: rate * queue.service.mean for robots, rate in rates.items()}
        print_json({"out": str(out) if out else None, "arrival_rates": rates, "loads": loads, "model": text})
    elif not out:
        typer.echo(text, nl=False)
    else:
        for mode in queue.modes:
            load = mode.arrivals.rate * queue.service.mean
            typer.echo(
                f"{mode.robots} robots: {mode.arrivals.rate:.5g} pages per unit of time, load {load:.4g}"
            )
        typer.echo(f"wrote {out}; next: recrawl control {out}")


def _document(path: Path, needed: str, maker: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidModel(f"{path}: not a JSON document ({error})") from None
    if not isinstance(document, dict) or needed not in document:
        raise InvalidModel(f"{path} holds no {needed}: it should be what `recrawl fit {maker} --out` wrote")
    return document


def _law(text: str, option: str) -> PhaseType:
    from recrawl.control.model import phase_type_of
    from recrawl.laws import PhaseType, parse_law

    path = Path(text)
    if path.suffix == ".json" or path.is_file():
        document = _document(path, "alpha", "service")
        return PhaseType(document["alpha"], document["S"])
    try:
        return phase_type_of(parse_law(text))
    except InvalidModel as error:
        raise InvalidModel(f"{option}: {error}") from None


def _modes(path: Path, robots: list[int]) -> tuple[Mode, ...]:
    """A mode for each number of robots: those the log had, or multiples of one robot's arrivals."""
    from recrawl.control.model import Mode
    from recrawl.laws.arrivals import Bmap

    document = _document(path, "D", "arrivals")
    measured = document.get("modes")
    if measured:
        return tuple(Mode(int(entry["robots"]), Bmap(entry["D"])) for entry in measured)
    base = Bmap(document["D"])
    brought = int(document.get("robots") or 1)
    return tuple(Mode(number, base.scaled(number / brought)) for number in robots)


def _costs(text: str) -> Costs:
    from recrawl.control.model import Costs

    given: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        if name not in _COSTS or not equals or name in given:
            raise ConfigError(
                f"--costs must name each of {', '.join(_COSTS)} once, as in loss=5; not {part!r}"
            )
        try:
            given[name] = float(value)
        except ValueError:
            raise ConfigError(f"--costs: {value!r} is not a number (of {name})") from None
    missing = [name for name in _COSTS if name not in given]
    if missing:
        raise ConfigError(f"--costs has no {missing[0]}; write {missing[0]}=0 if it costs nothing")
    return Costs(**given)
