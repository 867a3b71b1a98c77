"""Content encodings, undone piece by piece, with a bound on what comes out.

The client library can do this too, but it takes a gzip stream that ends too early for a whole one: half a page would
be indexed, and count as changed.
"""

from __future__ import annotations

import sys
import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ACCEPT_ENCODING", "BadEncoding", "Decoder", "TooLong"]

_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_MAX_MEMBERS = 64  # of a gzip file made of several
_PIECE = 256 * 1024


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


_KNOWN = [
    "gzip",
    "deflate",
    *(["br"] if _installed("brotli") else []),
    *(["zstd"] if _installed(_ZSTD) else []),
]
ACCEPT_ENCODING = ", ".join(_KNOWN)


class BadEncoding(Exception):
    """The body is not what its Content-Encoding says, or that cannot be undone."""


class TooLong(Exception):
    """More came out than allowed."""


class Decoder:
    """Undoes one Content-Encoding.

    >>> import gzip
    >>> decoder = Decoder("gzip", 1000)
    >>> decoder.feed(gzip.compress(b"text")); decoder.finish()
    >>> decoder.body()
    b'text'
    """

    def __init__(self, encoding: str, most: int) -> None:
        name = encoding.strip().lower().removeprefix("x-")
        if name not in ("", "identity", *_KNOWN):
            raise BadEncoding(f"content encoding {encoding[:40]!r}")
        self._name = name
        self._most = most
        self._pieces: list[bytes] = []
        self._length = 0
        self._members = 0
        self._engine: Any = None  # three libraries, one idea
        self._started = False

    def feed(self, data: bytes) -> None:
        """Take what was received."""
        if self._name in ("", "identity"):
            self._keep(data)
            return
        if not data:
            return
        try:
            for piece in self._decode(data):
                self._keep(piece)
        except TooLong:
            raise
        except Exception as error:  # each library has its own
            raise BadEncoding(f"not the {self._name} that it says") from error

    def finish(self) -> None:
        """Everything was received: the stream must be whole."""
        if not self._started:
            return
        engine = self._engine
        whole = engine.is_finished() if self._name == "br" else engine is None or engine.eof
        if not whole:
            raise BadEncoding(f"a {self._name} stream that ends too early")

    def body(self) -> bytes:
        """What came out, at most as much as allowed."""
        return b"".join(self._pieces)[: self._most]

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > self._most:
            raise TooLong(f"a body of more than {self._most} bytes")

    def _decode(self, data: bytes) -> Iterator[bytes]:
        if not self._started:
            self._started = True
            self._engine = self._new_engine(data)
        return self._brotli(data) if self._name == "br" else self._members_of(data)

    def _new_engine(self, data: bytes) -> Any:
        if self._name == "br":
            return import_module("brotli").Decompressor()
        if self._name == "zstd":
            return import_module(_ZSTD).ZstdDecompressor()
        if self._name == "gzip":
            return zlib.decompressobj(wbits=31)
        return zlib.decompressobj(wbits=15 if data[0] & 0x0F == 8 else -15)  # many servers send it bare

    def _brotli(self, data: bytes) -> Iterator[bytes]:
        piece = self._engine.process(data, output_buffer_limit=_PIECE)
        yield piece
        while not self._engine.can_accept_more_data() and not self._engine.is_finished():
            yield self._engine.process(b"", output_buffer_limit=_PIECE)

    def _members_of(self, data: bytes) -> Iterator[bytes]:
        """gzip, deflate and zstd: one or more streams, one behind the other."""
        while data:
            if self._engine.eof:
                self._members += 1
                if self._name == "deflate" or self._members > _MAX_MEMBERS:
                    raise BadEncoding("data behind the end")
                self._engine = self._new_engine(data)
            engine = self._engine
            piece = engine.decompress(data, _PIECE)
            yield piece
            if engine.eof:
                data = engine.unused_data
            elif self._name == "zstd":
                while not engine.needs_input and not engine.eof:
                    yield engine.decompress(b"", _PIECE)
                data = engine.unused_data if engine.eof else b""
            else:
                data = engine.unconsumed_tail
