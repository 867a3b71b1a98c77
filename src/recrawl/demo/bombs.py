"""Little bodies that become 200 MB when they are decompressed."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from importlib import import_module

__all__ = ["bomb"]

_BLOCK = b"<p>boom " * 125_000
_BLOCKS = 200


@cache
def bomb(encoding: str) -> bytes:
    """A bomb in gzip or Brotli (``br``)."""
    return _gzip() if encoding == "gzip" else _brotli()


def _gzip() -> bytes:
    engine = zlib.compressobj(9, wbits=-15)
    # After a full flush nothing refers back, so the same bytes may be written again and again.
    piece = engine.compress(_BLOCK) + engine.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(_BLOCKS):
        check = zlib.crc32(_BLOCK, check)
    tail = engine.flush() + struct.pack("<II", check, _BLOCKS * len(_BLOCK))
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" + piece * _BLOCKS + tail


def _brotli() -> bytes:
    engine = import_module("brotli").Compressor(quality=5)  # comes with aiohttp; has no types
    pieces = [engine.process(_BLOCK) for _ in range(_BLOCKS)]
    return b"".join([*pieces, engine.finish()])
