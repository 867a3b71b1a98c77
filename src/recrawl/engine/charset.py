"""From bytes to text: byte-order mark, the server's word, the page's own word, then what fits."""

from __future__ import annotations

import codecs
import re

__all__ = ["decode"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_PRESCAN_BYTES = 1024
# What pages say and what they mean (WHATWG Encoding Standard).
_MEANT = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "windows-1252": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "iso-8859-9": "cp1254",
    "x-sjis": "cp932",
}


def _codec(name: str | None) -> str | None:
    if not name:
        return None
    try:
        info = codecs.lookup(_MEANT.get(name.strip().lower(), name.strip()))
    except (LookupError, ValueError):
        return None
    return info.name if getattr(info, "_is_text_encoding", True) else None


def decode(body: bytes, declared: str | None, *, look_inside: bool) -> tuple[str, str]:
    """Text, and the name of the encoding that was taken. Bytes that do not fit become U+FFFD; never raises.

    `look_inside`: a page may declare its own encoding. A declaration that does not fit where UTF-8 fits is ignored.

    >>> decode("é".encode("latin-1"), None, look_inside=False)
    ('é', 'cp1252')
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name if name != "utf-8" else "utf-8-sig"
    wanted = _codec(declared)
    if wanted is None and look_inside and (match := _META.search(body, 0, _PRESCAN_BYTES)):
        wanted = _codec(match[1].decode("ascii"))
        if wanted is not None and wanted.startswith("utf-16"):  # it could be read, so it is not
            wanted = "utf-8"
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        # Nearly nothing else is valid UTF-8 by accident, apart from codes that use seven bits only.
        if wanted is None or wanted == "utf-8" or not _seven_bits(wanted):
            return text, "utf-8"
    if wanted is None:
        wanted = "cp1252"
    try:
        return body.decode(wanted, "replace"), wanted
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace"), "utf-8"


def _seven_bits(name: str) -> bool:
    return name.startswith(("iso2022", "iso-2022", "hz", "utf-7", "utf-16", "utf-32", "utf_16", "utf_32"))
