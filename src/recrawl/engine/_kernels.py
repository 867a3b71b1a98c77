"""The text of serialised HTML, by one walk over its bytes.

A parser wrote the HTML: names are in small letters, every element that can end does, and ``<`` and ``>`` of texts and
attributes are escaped. A Python loop over the tags costs ten times as much, and holds the interpreter while it runs.
"""

from __future__ import annotations

import numpy as np

from recrawl._compiled import compiled

__all__ = ["text_of_html"]

_BLOCK, _INLINE, _NEVER, _RAW, _AROUND, _PRE, _HEADING = range(7)

_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike "
    "strong sub sup time tt u var wbr"
)
_KINDS = {
    **dict.fromkeys(_INLINE_NAMES.split(), _INLINE),
    **dict.fromkeys(("template", "noscript", "svg", "math", "object", "canvas", "select", "button"), _NEVER),
    **dict.fromkeys(("script", "style", "iframe"), _RAW),  # what is inside is no markup
    **dict.fromkeys(("nav", "aside", "footer"), _AROUND),
    "pre": _PRE,
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _HEADING),
}
_SLOTS = 256
_LT, _GT, _SLASH, _AND, _SPACE, _NEWLINE = (ord(c) for c in "<>/& \n")


def _packed(name: str) -> int:
    return int.from_bytes(name.encode(), "big")


def _table() -> tuple[np.ndarray, np.ndarray]:
    """Names, as numbers, to kinds: the place is the number's remainder, or the next free one."""
    names, kinds = np.zeros(_SLOTS, dtype=np.int64), np.zeros(_SLOTS, dtype=np.int64)
    for name, kind in _KINDS.items():
        place = _packed(name) % 251
        while names[place]:
            place = (place + 1) % _SLOTS
        names[place], kinds[place] = _packed(name), kind
    return names, kinds


_NAMES, _KIND_OF = _table()
# Bytes that are neither markup nor the beginning of white space.
_PLAIN = np.ones(256, dtype=np.bool_)
_PLAIN[[*range(33), _LT, _AND, 0xC2, 0xE1, 0xE2, 0xE3]] = False


@compiled
def _kind_of(name: int) -> int:
    place = name % 251
    while _NAMES[place] != 0:
        if _NAMES[place] == name:
            return int(_KIND_OF[place])
        place = (place + 1) % _SLOTS
    return _BLOCK


@compiled
def _white(data: np.ndarray, at: int, end: int) -> int:
    """How many bytes of white space begin here, as `str.split` sees it (one character at most)."""
    c = data[at]
    if c <= 32:
        return 1 if c == 32 or 9 <= c <= 13 or 28 <= c <= 31 else 0
    if c == 0xC2 and at + 1 < end:
        return 2 if data[at + 1] == 0xA0 or data[at + 1] == 0x85 else 0
    if 0xE1 <= c <= 0xE3 and at + 2 < end:
        d, e = data[at + 1], data[at + 2]
        if c == 0xE1:
            return 3 if d == 0x9A and e == 0x80 else 0
        if c == 0xE3:
            return 3 if d == 0x80 and e == 0x80 else 0
        if d == 0x80:
            return 3 if 0x80 <= e <= 0x8A or e in (0xA8, 0xA9, 0xAF) else 0
        return 3 if d == 0x81 and e == 0x9F else 0
    return 0


@compiled
def _breaks(data: np.ndarray, at: int) -> bool:
    """Whether the white space here ends a line, as `str.splitlines` sees it."""
    c = data[at]
    if c <= 32:
        return bool(10 <= c <= 13 or 28 <= c <= 30)
    return bool((c == 0xC2 and data[at + 1] == 0x85) or (c == 0xE2 and data[at + 2] in (0xA8, 0xA9)))


@compiled
def _entity(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """The character and the length of the entity here; a serialiser writes no others than these."""
    if at + 3 < end and data[at + 2] == 116 and data[at + 3] == 59:  # t;
        if data[at + 1] == 108:
            return _LT, 4
        if data[at + 1] == 103:
            return _GT, 4
    if at + 4 < end and data[at + 1] == 97 and data[at + 2] == 109 and data[at + 4] == 59:  # am.;
        return _AND, 5
    if at + 5 < end and data[at + 5] == 59:
        if data[at + 1] == 110 and data[at + 2] == 98:  # nb...;
            return 0xA0, 6
        if data[at + 1] == 113 and data[at + 2] == 117:  # qu...;
            return 34, 6
    return _AND, 1


@compiled
def _after(data: np.ndarray, at: int, end: int, character: int) -> int:
    """The place behind the next such character."""
    while at < end and data[at] != character:
        at += 1
    return min(at + 1, end)


@compiled
def _behind_tag(data: np.ndarray, at: int, end: int) -> tuple[int, bool]:
    """The place behind a tag, and whether it has a role or is hidden from readers."""
    told = False
    while at < end and data[at] != _GT:
        if data[at] == _SPACE and at + 13 < end:
            told |= (
                data[at + 1] == 114 and data[at + 2] == 111 and data[at + 3] == 108 and data[at + 5] == 61
            )  # rol.=
            told |= (
                data[at + 1] == 97 and data[at + 5] == 45 and data[at + 6] == 104 and data[at + 12] == 61
            )  # a...-h.....=
        at += 1
    return min(at + 1, end), told


@compiled
def _name_at(data: np.ndarray, at: int, end: int) -> tuple[int, int]:
    """The name that begins here as a number, and its length; 0 for names of more than seven letters but two."""
    name, length = 0, 0
    while at + length < end:
        c = data[at + length]
        if c in (_GT, _SPACE, _SLASH):
            break
        if length < 8:
            name = (name << 8) | int(c)
        length += 1
    return (name if length <= 8 else 0), length


@compiled
def _skipped(data: np.ndarray, at: int, end: int, name: int, raw: bool) -> int:
    """The place behind the end of an element whose start tag ends here."""
    depth = 1
    while at < end:
        if data[at] != _LT:
            at += 1
            continue
        closes = at + 1 < end and data[at + 1] == _SLASH
        found, length = _name_at(data, at + (2 if closes else 1), end)
        if found == name and length <= 8 and (closes or not raw):
            depth += -1 if closes else 1
            if depth == 0:
                return _after(data, at, end, _GT)
        at += 1
    return end


@compiled
def _end_of_comment(data: np.ndarray, at: int, end: int) -> int:
    while at + 2 < end:
        if data[at] == 45 and data[at + 1] == 45 and data[at + 2] == _GT:
            return at + 3
        at += 1
    return end


@compiled
def _without_end(out: np.ndarray, start: int, size: int) -> int:
    """The size of the text without the white space at its end, down to `start`."""
    while size > start:
        back = 1
        while back < 3 and size - back > start and (out[size - back] & 0xC0) == 0x80:
            back += 1
        if _white(out, size - back, size) != back:
            return size
        size -= back
    return size


@compiled
def _character(data: np.ndarray, at: int, length: int, entity: int, out: np.ndarray, size: int) -> int:
    """Write one character, or the one that an entity stands for; how many bytes."""
    if data[at] != _AND:
        for place in range(length):
            out[size + place] = data[at + place]
        return length
    if entity == 0xA0:
        out[size], out[size + 1] = 0xC2, 0xA0
        return 2
    out[size] = entity
    return 1


@compiled
def _words(data: np.ndarray, at: int, end: int, out: np.ndarray, size: int) -> int:
    """Copy words with single spaces between them, as far as they go; how many bytes."""
    begun = at
    while at < end:
        if not _PLAIN[data[at]] and (data[at] != _SPACE or at + 1 == end or not _PLAIN[data[at + 1]]):
            break
        out[size + at - begun] = data[at]
        at += 1
    return at - begun


@compiled
def _separated(out: np.ndarray, line: int, size: int, broken: bool, spaced: bool) -> tuple[int, int]:
    """Write what comes before the next character; where the present line begins, and the size of the text."""
    if size > line and (broken or spaced):
        out[size] = _NEWLINE if broken else _SPACE
        size += 1
        if broken:
            line = size
    return line, size


@compiled
def text_of_html(
    data: np.ndarray, around: bool, out: np.ndarray, headings: np.ndarray
) -> tuple[int, int, bool]:
    """Write the text of serialised HTML to `out`; its length, the number of headings, whether inner tags have roles.

    A line for each block, without white space that a browser would not show; preformatted text keeps its lines.
    `around`: leave out navigation, asides and footers. `headings` takes the places where headings begin and end. `out`
    must be as long as `data`.
    """
    end, at, size, found = data.size, 0, 0, 0
    line = 0  # where the present line begins in `out`
    broken, spaced = False, False  # a new line, or a space, comes before the next character
    pre, in_heading, roles = False, False, False
    while at < end:
        c = data[at]
        if _PLAIN[c]:
            line, size = _separated(out, line, size, broken, spaced)
            length = _words(data, at, end, out, size)
            broken = spaced = False
            at += length
            size += length
        elif c == _LT:
            if at + 3 < end and data[at + 1] == 33 and data[at + 2] == 45:  # <!-
                at = _end_of_comment(data, at + 4, end)
                continue
            closes = at + 1 < end and data[at + 1] == _SLASH
            name, length = _name_at(data, at + (2 if closes else 1), end)
            kind = _kind_of(name)
            outer = at == 0
            at, told = _behind_tag(data, at + length, end)
            roles |= told and not outer
            if kind == _INLINE:
                continue
            if pre:
                size = _without_end(out, line, size)
            pre, spaced, broken = kind == _PRE and not closes, False, True
            if not closes and (kind in (_NEVER, _RAW) or (kind == _AROUND and around)):
                at = _skipped(data, at, end, name, kind == _RAW)
            elif kind == _HEADING:
                if in_heading:
                    headings[2 * found + 1] = size
                    found += 1
                in_heading = not closes and 2 * found + 1 < headings.size
                if in_heading:
                    headings[2 * found] = size
        else:
            white = _white(data, at, end)
            entity, length = _entity(data, at, end) if c == _AND else (int(c), max(white, 1))
            if not pre and (white or entity == 0xA0):
                spaced = True
            elif pre and white and _breaks(data, at):
                size = _without_end(out, line, size)
                broken = True
            else:
                line, size = _separated(out, line, size, broken, spaced)
                broken = spaced = False
                size += _character(data, at, length, entity, out, size)
            at += length
    if in_heading:
        headings[2 * found + 1] = size
        found += 1
    return _without_end(out, 0, size), found, roles
