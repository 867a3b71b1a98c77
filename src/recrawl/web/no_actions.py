"""The actions of a source without an engine: each is refused, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from recrawl.web.problems import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.web.requests import ControlOrder, Done, SignalItem

__all__ = ["NoActions"]


class NoActions:
    """All actions by name."""

    async def visit(self, _url: str) -> Done:
        """Access a page as soon as its site allows."""
        _refuse()

    async def pause(self, _site: str) -> Done:
        """Access no pages of a site until it is resumed."""
        _refuse()

    async def resume(self, _site: str) -> Done:
        """Access pages of a site again."""
        _refuse()

    async def set_weight(self, _url: str, _weight: float) -> Done:
        """How much a page counts."""
        _refuse()

    async def remove(self, _url: str) -> Done:
        """Forget a page's text and never access it again."""
        _refuse()

    async def signal(self, _items: Sequence[SignalItem]) -> Done:
        """These pages have changed."""
        _refuse()

    async def switch(self, _order: ControlOrder) -> Done:
        """Decide the number of active robots in another way."""
        _refuse()

    async def set_budget(self, _budget: str) -> Done:
        """Access more or less, until the engine ends."""
        _refuse()


def _refuse() -> NoReturn:
    raise refused(
        "this is a read-only view of the data: actions need the engine's own address (`recrawl run`)"
    )
