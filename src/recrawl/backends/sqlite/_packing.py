"""Texts as the store keeps them: compressed, unless they are short.

Zstandard takes half the time of zlib at its fastest, and less space. It comes with the HTTP client's extras, and with
Python from 3.14 on; where it is missing, zlib does.
"""

from __future__ import annotations

import sys
import threading
import zlib
from functools import cache
from importlib import import_module
from typing import Any

from recrawl.errors import StoreError

__all__ = ["pack", "unpack"]

_PLAIN, _ZLIB, _ZSTD = range(3)
_WORTH_PACKING = 200  # bytes; shorter texts do not get shorter
_LEVEL = 1  # of both: the fastest
_local = threading.local()


@cache
def _zstd() -> Any:
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ModuleNotFoundError:
        return None


def pack(text: str) -> tuple[int, bytes]:
    """The way a text is kept, and its bytes."""
    body = text.encode()
    if len(body) <= _WORTH_PACKING:
        return _PLAIN, body
    zstd = _zstd()
    if zstd is None:
        return _ZLIB, zlib.compress(body, _LEVEL)
    if not hasattr(_local, "compressor"):  # one for each thread: to make it costs as much as a page
        _local.compressor = zstd.ZstdCompressor(level=_LEVEL)
    return _ZSTD, _local.compressor.compress(body, _local.compressor.FLUSH_FRAME)


def unpack(way: int, body: bytes) -> str:
    """The text.

    >>> unpack(*pack("a page " * 100)) == "a page " * 100
    True
    """
    if way == _ZLIB:
        return zlib.decompress(body).decode()
    if way == _ZSTD:
        zstd = _zstd()
        if zstd is None:
            raise StoreError(
                "the store's texts are kept by zstd, which is not here: pip install backports.zstd"
            )
        return str(zstd.decompress(body).decode())
    return body.decode()
