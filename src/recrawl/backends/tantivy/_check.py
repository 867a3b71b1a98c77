"""Reads the files of an index as they are on disk, and compares each with the checksum that tantivy wrote behind it."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["damaged_file"]

_CHUNK = 1 << 20
_TAIL = 8  # bytes: the length of the footer, and a number that marks its end
_MARK = 1337


def damaged_file(path: Path) -> str | None:
    """The name of the first file that is not as it was written, or None. Files that no commit names do not count."""
    meta = (path / "meta.json").read_bytes()
    for file in _files(path, json.loads(meta)):
        try:
            good = _is_whole(file)
        except FileNotFoundError:
            if (path / "meta.json").read_bytes() != meta:  # merged away by a commit meanwhile
                return damaged_file(path)
            return file.name
        if not good:
            return file.name
    return None


def _files(path: Path, meta: dict[str, list[dict[str, str | dict[str, int] | None]]]) -> Iterator[Path]:
    for segment in meta["segments"]:
        name = str(segment["segment_id"]).replace("-", "")
        deletes = segment["deletes"]
        for kind in ("idx", "pos", "term", "store", "fast", "fieldnorm"):
            yield path / f"{name}.{kind}"
        if isinstance(deletes, dict):
            yield path / f"{name}.{deletes['opstamp']}.del"


def _is_whole(file: Path) -> bool:
    """A file is its data, a footer in JSON with the checksum of the data, the footer's length, and a mark."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _TAIL, 0))
        tail = stream.read()
        length, mark = int.from_bytes(tail[:4], "little"), int.from_bytes(tail[4:], "little")
        left = size - _TAIL - length
        if mark != _MARK or left < 0:
            return False
        stream.seek(left)
        try:
            wanted = json.loads(stream.read(length))["crc"]
        except (ValueError, KeyError):
            return False
        stream.seek(0)
        checksum = 0
        while left and (data := stream.read(min(left, _CHUNK))):
            checksum = zlib.crc32(data, checksum)
            left -= len(data)
        return bool(checksum == wanted)
