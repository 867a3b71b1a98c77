"""Everything recrawl raises on purpose.

::

    RecrawlError
    ├── InvalidModel (also a ValueError)   a rate, law, matrix or table that makes no sense
    ├── ConfigError (also a ValueError)    a setting or an option that makes no sense
    ├── NotConverged                       a numerical method that did not reach its accuracy
    ├── StoreError                         the store of pages failed
    │   └── IndexDamaged                   the index cannot be read; it is rebuilt from the store
    ├── AccessError                        a page could not be accessed
    └── MissingExtra (also an ImportError) an optional dependency is not installed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "AccessError",
    "ConfigError",
    "IndexDamaged",
    "InvalidModel",
    "MissingExtra",
    "NotConverged",
    "RecrawlError",
    "StoreError",
    "require_extra",
]


class RecrawlError(Exception):
    """Base of every error that recrawl raises on purpose."""


class InvalidModel(RecrawlError, ValueError):
    """An input of the theory is impossible; the message names the field and the value."""


class ConfigError(RecrawlError, ValueError):
    """A setting is impossible; the message names it and what is allowed."""


class NotConverged(RecrawlError):
    """A numerical method did not reach its accuracy; no number is returned instead."""


class StoreError(RecrawlError):
    """The store of pages could not be read or written."""


class IndexDamaged(StoreError):
    """The files of an index are damaged; the store has every text to build it anew."""


class AccessError(RecrawlError):
    """A page could not be accessed."""


class MissingExtra(RecrawlError, ImportError):
    """An optional dependency is missing; the message says how to install it."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed; run: pip install 'recrawl[{extra}]'")
        self.extra = extra


def require_extra(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    >>> require_extra("json", "plot").__name__
    'json'
    >>> require_extra("no_such_module", "plot")
    Traceback (most recent call last):
    ...
    recrawl.errors.MissingExtra: no_such_module is not installed; run: pip install 'recrawl[plot]'
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(module, extra) from error
