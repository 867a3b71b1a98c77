"""Keeps a copy of web pages fresh: which page next, how many robots, when to switch them.

Names are loaded when they are first used, so that ``import recrawl`` costs nothing.
"""

from __future__ import annotations

from recrawl._version import __version__

__all__ = ["__version__"]
