"""What `recrawl demo` shows: one screen that is drawn again and again, or plain lines where nobody watches."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recrawl.demo.crowd import Queue
    from recrawl.demo.show import Show

__all__ = ["Screen", "print_figures", "screen_of"]

_EVERY = 0.5  # seconds between two drawings
_BAR = 30
_CURVE = 24  # seconds
_LEVELS = "▁▂▃▄▅▆▇█"
_COLOURS = {
    "bound": "cyan",
    "optimal": "green",
    "uniform": "yellow",
    "thresholds": "green",
    "always_on": "yellow",
}


class Screen:
    """A terminal that is drawn while the show runs; other streams get a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self.live = stream.isatty()
        self._console = Console(file=stream, highlight=False)
        self._aside = self._console if self.live else Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, line: str) -> None:
        """One line."""
        self._aside.print(line, style="dim")

    def begin(self, show: Show) -> None:
        """The engines start."""
        if self.live:
            return
        if show.address:
            self.say(f"web pages: {show.address}")
        lasting = "" if show.options.seconds is None else f", ends after {show.options.seconds:g} s"
        self.say(f"running: measured from {show.since - show.started:.0f} s on{lasting}")

    async def watch(self, show: Show) -> None:
        """Draw the show until cancelled, and once more at its end."""
        if not self.live:
            return
        with Live(console=self._console, auto_refresh=False, vertical_overflow="crop") as live:
            try:
                while True:
                    if not math.isnan(show.started) and show.contenders:
                        live.update(screen_of(show), refresh=True)
                    await asyncio.sleep(_EVERY)
            finally:
                if show.contenders:
                    live.update(screen_of(show), refresh=True)


def print_figures(show: Show) -> None:
    """The last screen, on stdout."""
    if show.contenders:
        Console(highlight=False, width=100).print(screen_of(show))


def screen_of(show: Show) -> RenderableType:
    """Everything, what matters first."""
    parts: list[RenderableType] = [_title(show), Text(), *_freshness(show), Text(), *_crowd(show)]
    return Group(*parts)


def _percent(value: float, digits: int = 1) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def _line(*parts: str | tuple[str, str]) -> Text:
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _title(show: Show) -> RenderableType:
    truth, seconds = show.truth, int(show.now - show.started)
    web = f"{len(truth.urls)} pages on {len(show.web.ports)} local sites, {truth.rates.sum():.0f} changes a second"
    first = _line(("recrawl demo", "bold"), f"  {seconds // 60}:{seconds % 60:02d}", (f"   {web}", "dim"))
    if not show.address:
        return first
    enter = f"   to act there: login?token={show.token}"
    return Group(first, _line((show.address, "bold underline"), (enter, "dim")))


# The first scene.


def _freshness(show: Show) -> list[RenderableType]:
    scores, bound = show.scores(), show.bound()
    head = _line(
        ("How much of the copy is out of date?", "bold"),
        (f"   two engines, {show.budget:g} accesses a second each", "dim"),
    )
    values = {"bound": bound, **{name: score.obsolescence for name, score in scores.items()}}
    top = max(values.values())
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=11)
    table.add_column(min_width=6, justify="right")
    table.add_column(min_width=_BAR)
    table.add_column()
    table.add_row("", "", "", Text(f"the last {_CURVE} s", "dim"))
    labels = {"bound": "lower bound", "optimal": "optimal", "uniform": "uniform"}
    for name, label in labels.items():
        value = values.get(name, math.nan)
        width = 0 if math.isnan(value) else round(_BAR * value / top)
        contender = show.contenders.get(name)
        curve = Text("for independent pages", "dim")
        if contender is not None:
            curve = Text(_curve(list(contender.recent)[-_CURVE:], 2.0 * bound), _COLOURS[name])
        table.add_row(label, _percent(value), Text("█" * width, _COLOURS[name]), curve)
    return [head, table, _verdict(show, bound), *_engine_lines(show)]


def _curve(values: list[float], top: float) -> str:
    last = len(_LEVELS) - 1
    return "".join(_LEVELS[min(last, int(value / top * last + 0.5))] for value in values)


def _verdict(show: Show, bound: float) -> Text:
    scores = show.scores()
    if len(scores) < 2:
        left = max(0.0, show.since - show.now)
        return _line((f"The engines learn how often pages change; measuring begins in {left:.0f} s.", "dim"))
    optimal, uniform = scores["optimal"].obsolescence, scores["uniform"].obsolescence
    less, possible = 1.0 - optimal / uniform, 1.0 - bound / uniform
    return _line(
        (f"{100 * less:.0f} % less", f"bold {_COLOURS['optimal']}"),
        f" than uniform; {100 * possible:.0f} % less is possible",
        (f"   measured over {show.now - show.since:.0f} s", "dim"),
    )


def _engine_lines(show: Show) -> list[RenderableType]:
    engine, score = show.contenders["optimal"].engine, show.scores().get("optimal")
    measures, robots, level = engine.measures, engine.robots, engine.queue.level()
    first = f"{sum(measures.outcomes.values()):,} accesses, {measures.findings['changed']:,} found a change"
    if score is not None and not math.isnan(score.believed):
        first += f"   believes {_percent(score.believed)}"
    second = f"robots {max(0, len(robots.in_flight) - level)} of {robots.number}   buffer {level} of "
    second += f"{engine.world.buffer.capacity}"
    delay = measures.index_delay.document()["p50"]
    second += "" if math.isnan(delay) else f"   searchable after {delay:.1f} s"
    return [_line((f"optimal: {first}", "dim")), _line((f"         {second}", "dim"))]


# The second scene.


def _crowd(show: Show) -> list[RenderableType]:
    queues = show.queues_now()
    head = _line(
        ("An indexer that is too slow", "bold"), ("   no budget, robots bring twice what it can take", "dim")
    )
    if not queues:
        return [head, _line(("Begins soon." if math.isnan(show.ended) else "Not reached.", "dim"))]
    table = Table.grid(padding=(0, 2))
    words = ("", "queue", "robots", "lost", "model", "idle", "model", "accesses/page")
    table.add_row(*(Text(word, "dim") for word in words))
    for name, queue in queues.items():
        table.add_row(
            name.replace("_", " "),
            Text("█" * queue.level, _COLOURS[name])
            + Text("░" * (len(queue.robots) - 1 - queue.level), "dim"),
            f"{queue.active} of {max(queue.robots)}",
            _percent(queue.loss),
            Text(_percent(queue.loss_predicted), "dim"),
            _percent(queue.starvation),
            Text(_percent(queue.starvation_predicted), "dim"),
            f"{queue.accesses / queue.indexed:.2f}",
        )
    return [head, table, _line((_rule(queues["thresholds"]), "dim"))]


def _rule(queue: Queue) -> str:
    """What the thresholds say, in words."""
    most, fewest = max(queue.robots), min(queue.robots)
    return f"thresholds: {most} robots up to {queue.robots.count(most) - 1} pages in the queue, then {fewest}"
