"""The pages for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from recrawl.web.options import WebOptions
    from recrawl.web.source import Source

__all__ = ["routes"]


def routes(_source: Source, _options: WebOptions) -> list[BaseRoute]:
    """None here."""
    return []
